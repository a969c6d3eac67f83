/** Run of several days: passes of the scenario, interim results, and continuation across restarts of its process. */
import { createHash } from 'node:crypto';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readableDuration } from '../../../harness/common/durations.ts';
import { printableJson } from '../../../harness/common/terminal.ts';
import { decode, difference, ofWhole, summary } from '../measure/metrics.ts';
import { masked, PlatformFailure } from '../platform/client.ts';
import { reportHtml, thresholdValue } from '../report/report.ts';
import { type FleetResult, roundsOf } from '../result/result.ts';
import { OutputError, ResultError, readResult, writeFileIn } from '../result/shards.ts';
import type { Phase } from '../scenario/scenario.ts';
import { scheduleMs } from '../schedule/schedule.ts';
import type { RunOptions, SoakOptions } from './plan.ts';
import { PreflightError, UnreachableError } from './ready.ts';

/** Complete result so far, from which another process continues. */
const STATE_FILE = 'interim.json';
const STATE_REPORT = 'interim.html';
const HISTORY_FILE = 'interim.jsonl';
/** Time between saves, milliseconds: the most that a crash loses. */
const SAVED_EVERY_MS = 60_000;
const AWAY = 'The platform was away';

type Given = Pick<RunOptions, 'out' | 'scenario' | 'robots' | 'seed' | 'platform' | 'screen' | 'signal'> & {
  soak: SoakOptions;
};

export class Soak {
  readonly #given: Given;
  readonly earlier: FleetResult | undefined;
  readonly #gaps: NonNullable<FleetResult['soak']>['gaps'];
  readonly #outages: string[];
  #round: number;
  readonly #ranMs: number;
  #began: number | undefined;
  #savedAt = performance.now();
  #reportedAt = performance.now();
  #saving: Promise<void> | undefined;
  #last: FleetResult | undefined;

  /** Throws PreflightError if the scenario has nothing to repeat, or `out` holds a different soak. */
  constructor(given: Given) {
    const { scenario, out, soak } = given;
    const repeated = scenario.phases.filter(isRepeated);
    // A pass without duration would repeat endlessly.
    if (repeated.reduce((sum, phase) => sum + scheduleMs(phase), 0) < 1000)
      throw new PreflightError('--for: the scenario has nothing to repeat; accepted: one whose phases take a second');
    this.#given = given;
    this.earlier = stateIn(out);
    this.#last = this.earlier;
    const { gaps = [], saved_at: from = '', rounds = 0, ran_ms = 0, of } = this.earlier?.soak ?? {};
    if (this.earlier !== undefined && of !== kindOf(given))
      throw new PreflightError(
        `--out: ${join(out, STATE_FILE)} is of another soak, which has not ended: its scenario, number of robots, ` +
          'seed, platform or time is another; accepted: the same command again, or a folder of its own',
      );
    this.#round = rounds;
    this.#ranMs = ran_ms;
    this.#outages = this.earlier?.notes.filter((note) => note.startsWith(AWAY)) ?? [];
    this.#gaps = this.earlier === undefined ? [] : [...gaps, { from, to: new Date().toISOString() }];
    if (this.earlier === undefined) this.#removeFiles(HISTORY_FILE, STATE_REPORT);
    else
      given.screen.write(
        `goes on with the soak of ${this.earlier.started_at}, with ${readableDuration(soak.forMs - ran_ms)} left; ` +
          'another --out begins a new one\n',
      );
  }

  #removeFiles(...names: string[]): void {
    for (const name of names) rmSync(join(this.#given.out, name), { force: true });
  }

  /** Phases in order: the ramp, then passes of the repeated ones until the time is over, then the stop. */
  *turns(): Generator<{ phase: Phase; index: number; round: number }> {
    const turns = this.#given.scenario.phases.map((phase, index) => ({ phase, index }));
    const round = this.#round;
    for (const turn of turns) if (turn.phase.do === 'ramp') yield { ...turn, round };
    this.#began = performance.now();
    const repeated = turns.filter(({ phase }) => isRepeated(phase));
    while (this.leftMs > 0) {
      for (const turn of repeated) if (this.leftMs > 0) yield { ...turn, round: this.#round };
      // The last pass may have been cut short.
      if (this.leftMs > 0) this.#round += 1;
    }
    for (const turn of turns) if (turn.phase.do === 'stop') yield { ...turn, round };
  }

  get #runMs(): number {
    return this.#ranMs + (this.#began === undefined ? 0 : performance.now() - this.#began);
  }

  /** Milliseconds until no further phase begins; downtime does not count. */
  get leftMs(): number {
    return Math.max(0, this.#given.soak.forMs - this.#runMs);
  }

  /** Retries `work` while the platform is away. Rejects with other failures. */
  async patiently<T>(work: () => Promise<T>): Promise<T> {
    const { signal, screen, platform } = this.#given;
    const since = new Date().toISOString();
    for (let attempt = 1; ; attempt += 1) {
      try {
        const done = await work();
        if (attempt > 1) this.#outages.push(`${AWAY} from ${since} to ${new Date().toISOString()}, and was awaited.`);
        return done;
      } catch (error) {
        if (!(error instanceof PlatformFailure || error instanceof UnreachableError) || this.leftMs === 0) throw error;
        const why = masked(error.message, typeof platform === 'object' ? platform : undefined);
        if (attempt === 1) screen.write(`waits for the platform: ${why}\n`);
        await sleep(5000, undefined, { signal });
      }
    }
  }

  /** Call each second; gets `resultSoFar` at least every minute. */
  look(resultSoFar: () => Promise<FleetResult>): void {
    const { soak, screen } = this.#given;
    const now = performance.now();
    const isDue = now - this.#savedAt >= SAVED_EVERY_MS || now - this.#reportedAt >= soak.everyMs;
    if (this.#began === undefined || this.#saving !== undefined || !isDue) return;
    this.#saving = resultSoFar()
      .then((result) => this.#save(result))
      .catch((error: unknown) => void screen.write(`interim result: ${(error as Error).message}\n`))
      .finally(() => {
        this.#saving = undefined;
        this.#savedAt = performance.now();
      });
  }

  get told(): NonNullable<FleetResult['soak']> {
    const { soak } = this.#given;
    return {
      of: kindOf(this.#given),
      for_ms: soak.forMs,
      ran_ms: Math.round(this.#runMs),
      rounds: this.#round,
      gaps: this.#gaps,
      saved_at: new Date().toISOString(),
    };
  }

  get notes(): string[] {
    const gaps = this.#gaps.map(({ from, to }) => {
      const time = readableDuration(Date.parse(to) - Date.parse(from));
      return `Nothing was measured for ${time} from ${from}: the fleet had ended, and was started again.`;
    });
    return [...gaps, ...this.#outages];
  }

  /** Call with the last result. `goesOn`: another process may continue. */
  async end(result: FleetResult, goesOn: boolean): Promise<void> {
    await this.#saving;
    if (!goesOn) {
      this.#report(result);
      this.#removeFiles(STATE_FILE, STATE_REPORT);
    } else if (this.#began !== undefined) {
      this.#write(STATE_FILE, result);
    }
  }

  #write(name: string, result: FleetResult): void {
    writeFileIn(this.#given.out, name, `${printableJson(result)}\n`);
  }

  #save(result: FleetResult): void {
    const { out, soak, screen } = this.#given;
    this.#write(STATE_FILE, result);
    if (performance.now() - this.#reportedAt < soak.everyMs) return;
    this.#reportedAt = performance.now();
    this.#report(result);
    writeFileIn(out, STATE_REPORT, reportHtml(result));
    const left = readableDuration(this.leftMs);
    screen.write(
      `interim: ${roundsOf(result).join()}, ${left} to go · ${standingText(result.thresholds)} · ` +
        `${result.violations.length} violations · ${join(out, STATE_REPORT)}\n`,
    );
  }

  #report(result: FleetResult): void {
    const { counters, thresholds, verdict, violations, soak } = result;
    const before = this.#last;
    this.#last = result;
    const metrics = Object.entries(ofWhole(result.histograms)).flatMap(([name, text]) => {
      const known = before?.histograms[name];
      const more = difference(decode(text), known === undefined ? undefined : decode(known));
      // Omits figures that a lost worker took along.
      return more === undefined ? [] : [[name, summary(more)]];
    });
    const line = {
      at: soak?.saved_at,
      since: before?.soak?.saved_at ?? result.started_at,
      rounds: soak?.rounds,
      verdict,
      violations: violations.length,
      counters: Object.fromEntries(
        Object.entries(ofWhole(counters)).map(([name, count]) => [name, count - (before?.counters[name] ?? 0)]),
      ),
      metrics: Object.fromEntries(metrics) as FleetResult['metrics'],
      thresholds,
    };
    const file = join(this.#given.out, HISTORY_FILE);
    try {
      writeFileSync(file, `${printableJson(line)}\n`, { flag: 'a' });
    } catch (error) {
      throw new OutputError(`${file} cannot be written: ${(error as Error).message}`);
    }
  }
}

/** Standing of thresholds, for people; one without a measurement may still be met. */
export function standingText(thresholds: FleetResult['thresholds']): string {
  const open = thresholds.filter(({ value }) => value === null).map(({ expr }) => expr);
  const missed = thresholds.flatMap(({ expr, value, ok }) =>
    ok || value === null ? [] : [`${expr} is ${thresholdValue(expr, value)}`],
  );
  const told = [
    ...(missed.length === 0 ? [] : [`missed: ${missed.join(', ')}`]),
    ...(open.length === 0 ? [] : [`not measured yet: ${open.join(', ')}`]),
  ];
  return told.length === 0 ? 'all thresholds met' : told.join(' · ');
}

const isRepeated = ({ do: kind }: Phase): boolean => kind !== 'ramp' && kind !== 'stop';

/** Fingerprint of the options that a process must share to continue the soak. */
function kindOf({ scenario, robots, seed, platform, soak }: Given): string {
  const where = typeof platform === 'object' ? platform.url : platform;
  return createHash('sha256')
    .update(JSON.stringify([scenario, robots, seed, where, soak.forMs]))
    .digest('hex');
}

/** Throws PreflightError. */
function stateIn(out: string): FleetResult | undefined {
  const file = join(out, STATE_FILE);
  try {
    return existsSync(file) ? readResult(file) : undefined;
  } catch (error) {
    if (!(error instanceof ResultError)) throw error;
    throw new PreflightError(`--out: ${error.message}; accepted: a folder of its own`);
  }
}
