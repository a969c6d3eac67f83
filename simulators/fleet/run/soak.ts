/**
 * A run that goes on for days: the scenario again and again, results in between, and one run across ends of its own
 * process.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readableDuration } from '../../../harness/common/durations.ts';
import { printableJson } from '../../../harness/common/terminal.ts';
import { decode, histogram, merge, ofWhole, type Summary, summary } from '../measure/metrics.ts';
import { reportHtml } from '../report/report.ts';
import { type FleetResult, roundsOf } from '../result/result.ts';
import { OutputError, ResultError, readResult, writeFileIn } from '../result/shards.ts';
import type { Phase } from '../scenario/scenario.ts';
import { scheduleMs } from '../schedule/schedule.ts';
import type { RunOptions, SoakOptions } from './plan.ts';
import { PreflightError } from './ready.ts';

/** A whole result, of the time until now. Another process goes on from it. */
const STATE_FILE = 'interim.json';
const STATE_REPORT = 'interim.html';
/** A line for each interval. */
const HISTORY_FILE = 'interim.jsonl';
/** How much of the figures an end of the process may cost. */
const SAVED_EVERY_MS = 60_000;

type Given = Pick<RunOptions, 'out' | 'scenario' | 'robots' | 'seed' | 'screen'> & { soak: SoakOptions };

/** One phase of many rounds. */
interface Turn {
  phase: Phase;
  /** In the scenario. */
  index: number;
  round: number;
}

export class Soak {
  readonly #given: Given;
  /** The newest result of an earlier process. */
  readonly earlier: FleetResult | undefined;
  readonly #gaps: NonNullable<FleetResult['soak']>['gaps'];
  #round: number;
  #ending: number | undefined;
  #savedAt = performance.now();
  #reportedAt = performance.now();
  #saving: Promise<void> = Promise.resolve();
  #isSaving = false;
  #last: FleetResult | undefined;

  /** Throws PreflightError where the scenario has nothing to repeat, and where `out` has a soak of another kind. */
  constructor(given: Given) {
    const { scenario, out } = given;
    const repeated = scenario.phases.filter(({ do: kind }) => kind !== 'ramp' && kind !== 'stop');
    if (repeated.reduce((sum, phase) => sum + scheduleMs(phase), 0) < SHORTEST_ROUND_MS)
      throw new PreflightError('--for: the scenario has nothing to repeat; accepted: one whose phases take a second');
    this.#given = given;
    this.earlier = stateIn(out);
    this.#last = this.earlier;
    const { gaps = [], saved_at = '', rounds = 0 } = this.earlier?.soak ?? {};
    const known = this.#refuseOther();
    this.#round = known ? rounds : 0;
    this.#gaps = known ? [...gaps, { from: saved_at, to: new Date().toISOString() }] : [];
    if (this.earlier !== undefined) given.screen.write(`${this.#greeting(this.earlier)}\n`);
  }

  /** Whether there is an earlier process. */
  #refuseOther(): boolean {
    const { earlier } = this;
    if (earlier === undefined) return false;
    const { scenario, robots, seed, soak, out } = this.#given;
    const wanted = { scenario: scenario.name, robots, seed, 'soak.for_ms': soak.forMs };
    const has = { ...earlier, 'soak.for_ms': earlier.soak?.for_ms };
    for (const [name, value] of Object.entries(wanted)) {
      if (has[name as keyof typeof wanted] === value) continue;
      throw new PreflightError(
        `--out: ${join(out, STATE_FILE)} is of another soak, which has not ended: its ${name} is ` +
          `${String(has[name as keyof typeof wanted])}, not ${value}; accepted: the same again, or a folder of its own`,
      );
    }
    return true;
  }

  #greeting({ started_at, phases_at = started_at }: FleetResult): string {
    const left = readableDuration(Math.max(0, this.#given.soak.forMs - agoMs(phases_at)));
    return `goes on with the soak of ${started_at}, with ${left} left; another --out begins a new one`;
  }

  /** The phases in their order. `phasesAt`: when the first began, ISO 8601; asked after the ramp. */
  *turns(phasesAt: () => string | undefined): Generator<Turn> {
    const { scenario, soak } = this.#given;
    const turns = scenario.phases.map((phase, index) => ({ phase, index }));
    const round = this.#round;
    for (const turn of turns) if (turn.phase.do === 'ramp') yield { ...turn, round };
    this.#ending = Date.parse(phasesAt() ?? '') + soak.forMs;
    const repeated = turns.filter(({ phase }) => phase.do !== 'ramp' && phase.do !== 'stop');
    for (; this.leftMs > 0; this.#round += 1)
      for (const turn of repeated) if (this.leftMs > 0) yield { ...turn, round: this.#round };
    for (const turn of turns) if (turn.phase.do === 'stop') yield { ...turn, round };
  }

  /** Milliseconds until no further phase begins. */
  get leftMs(): number {
    return this.#ending === undefined ? this.#given.soak.forMs : Math.max(0, this.#ending - Date.now());
  }

  /** Call each second. `resultSoFar` is asked every minute. */
  look(resultSoFar: () => Promise<FleetResult>): void {
    const everyMs = Math.min(SAVED_EVERY_MS, this.#given.soak.everyMs);
    if (this.#ending === undefined || this.#isSaving || performance.now() - this.#savedAt < everyMs) return;
    this.#isSaving = true;
    this.#saving = resultSoFar()
      .then((result) => this.#save(result))
      // What could not be asked or written now may be a minute later.
      .catch((error: unknown) => void this.#given.screen.write(`interim result: ${(error as Error).message}\n`))
      .finally(() => {
        this.#isSaving = false;
        this.#savedAt = performance.now();
      });
  }

  /** What a result tells of the soak. */
  get told(): NonNullable<FleetResult['soak']> {
    const { forMs } = this.#given.soak;
    return { for_ms: forMs, rounds: this.#round, gaps: this.#gaps, saved_at: new Date().toISOString() };
  }

  get notes(): string[] {
    return this.#gaps.map(({ from, to }) => {
      const time = readableDuration(Date.parse(to) - Date.parse(from));
      return `Nothing was measured for ${time} from ${from}: the fleet had ended, and was started again.`;
    });
  }

  /** Call with the last result. An interrupted run can go on from it. */
  async end(result: FleetResult, interrupted: boolean): Promise<void> {
    await this.#saving;
    const { out } = this.#given;
    if (interrupted) {
      writeFileIn(out, STATE_FILE, `${printableJson(result)}\n`);
      return;
    }
    this.#report(result);
    for (const name of [STATE_FILE, STATE_REPORT]) rmSync(join(out, name), { force: true });
  }

  #save(result: FleetResult): void {
    const { out, soak, screen } = this.#given;
    writeFileIn(out, STATE_FILE, `${printableJson(result)}\n`);
    if (performance.now() - this.#reportedAt < soak.everyMs) return;
    this.#reportedAt = performance.now();
    this.#report(result);
    writeFileIn(out, STATE_REPORT, reportHtml(result));
    const missed = result.thresholds
      .filter(({ ok }) => !ok)
      .map(({ expr, value }) => `${expr} is ${value ?? 'unknown'}`);
    const standing = missed.length === 0 ? 'all thresholds met' : `missed: ${missed.join(', ')}`;
    const left = readableDuration(this.leftMs);
    screen.write(
      `interim: ${roundsOf(result).join()}, ${left} to go · ${standing} · ${result.violations.length} violations · ` +
        `${join(out, STATE_REPORT)}\n`,
    );
  }

  /** A line with what was measured since the last one. */
  #report(result: FleetResult): void {
    const { out } = this.#given;
    const { counters, thresholds, verdict, violations } = result;
    const before = this.#last;
    this.#last = result;
    const line = {
      at: new Date().toISOString(),
      rounds: result.soak?.rounds,
      verdict,
      violations: violations.length,
      counters: Object.fromEntries(
        Object.entries(ofWhole(counters)).map(([name, count]) => [name, count - (before?.counters[name] ?? 0)]),
      ),
      metrics: since(ofWhole(result.histograms), before?.histograms ?? {}),
      thresholds,
    };
    try {
      writeFileSync(join(out, HISTORY_FILE), `${printableJson(line)}\n`, { flag: 'a' });
    } catch (error) {
      throw new OutputError(`${join(out, HISTORY_FILE)} cannot be written: ${(error as Error).message}`);
    }
  }
}

/** Throws PreflightError. */
function stateIn(out: string): FleetResult | undefined {
  const file = join(out, STATE_FILE);
  if (!existsSync(file)) return undefined;
  try {
    return readResult(file);
  } catch (error) {
    if (!(error instanceof ResultError)) throw error;
    throw new PreflightError(`--out: ${error.message}; accepted: a folder of its own`);
  }
}

/** A round that takes no time would be repeated without end. */
const SHORTEST_ROUND_MS = 1000;

const agoMs = (time: string): number => Date.now() - Date.parse(time);

/** The durations that are in the first histograms and not in the second. */
function since(
  now: Readonly<Record<string, string>>,
  before: Readonly<Record<string, string>>,
): Record<string, Summary> {
  return Object.fromEntries(
    Object.entries(now).map(([name, text]) => {
      const all = histogram();
      merge(all, decode(text));
      if (before[name] !== undefined) all.subtract(decode(before[name]) as never);
      return [name, summary(all)];
    }),
  );
}
