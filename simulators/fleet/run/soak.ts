/** Repeats the phases of a scenario for hours or days, and writes interim reports. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readableDuration } from '../../../harness/common/units.ts';
import { masked, PlatformFailure } from '../platform/client.ts';
import { reportHtml, thresholdValue } from '../report/report.ts';
import { type FleetResult, roundsOf } from '../result/result.ts';
import { writeFileIn } from '../result/shards.ts';
import type { Phase } from '../scenario/scenario.ts';
import { scheduleMs } from '../schedule/schedule.ts';
import { PreflightError } from './errors.ts';
import type { RunOptions, SoakOptions } from './fleet.ts';

const INTERIM_REPORT = 'interim.html';

type Given = Pick<RunOptions, 'out' | 'scenario' | 'platform' | 'screen' | 'signal'> & { soak: SoakOptions };

export class Soak {
  readonly #given: Given;
  readonly notes: string[] = [];
  #round = 0;
  #began: number | undefined;
  #reportedAt = performance.now();
  #reporting: Promise<void> | undefined;

  /** Throws PreflightError if a pass takes less than a second, because such passes would repeat endlessly. */
  constructor(given: Given) {
    const repeated = given.scenario.phases.filter(isRepeated);
    if (repeated.reduce((sum, phase) => sum + scheduleMs(phase), 0) < 1000)
      throw new PreflightError('--for: the scenario has nothing to repeat; accepted: one whose phases take a second');
    this.#given = given;
  }

  /** Phases `ramp` first, then all others again and again until the time is over, then phases `stop`. */
  *turns(): Generator<{ phase: Phase; index: number; round: number }> {
    const turns = this.#given.scenario.phases.map((phase, index) => ({ phase, index }));
    for (const turn of turns) if (turn.phase.do === 'ramp') yield { ...turn, round: 0 };
    this.#began = performance.now();
    const repeated = turns.filter(({ phase }) => isRepeated(phase));
    for (let carried = 0; this.leftMs > 0; carried = 0) {
      for (const turn of repeated) {
        if (this.leftMs === 0) break;
        const phase = this.#inTime(turn.phase);
        yield { ...turn, phase, round: this.#round };
        if (phase === turn.phase) carried += 1;
      }
      if (carried === repeated.length) this.#round += 1;
    }
    for (const turn of turns) if (turn.phase.do === 'stop') yield { ...turn, round: 0 };
  }

  #inTime(phase: Phase): Phase {
    const isLong = phase.do === 'hold' && scheduleMs(phase) > this.leftMs;
    return isLong ? { ...phase, for: `${Math.ceil(this.leftMs)}ms` } : phase;
  }

  get #ranMs(): number {
    return this.#began === undefined ? 0 : performance.now() - this.#began;
  }

  get leftMs(): number {
    return Math.max(0, this.#given.soak.forMs - this.#ranMs);
  }

  /** Repeats `work` while the platform fails, until the time is over; rejects with any other error. */
  async patiently<T>(work: () => Promise<T>): Promise<T> {
    const { signal, screen, platform } = this.#given;
    const since = new Date().toISOString();
    for (let attempt = 1; ; attempt += 1) {
      try {
        const done = await work();
        if (attempt > 1)
          this.notes.push(`The platform was away from ${since} to ${new Date().toISOString()}, and was awaited.`);
        return done;
      } catch (error) {
        if (!(error instanceof PlatformFailure) || this.leftMs === 0) throw error;
        const why = masked(error.message, typeof platform === 'object' ? platform : undefined);
        if (attempt === 1) screen.write(`waits for the platform: ${why}\n`);
        await sleep(5000, undefined, { signal });
      }
    }
  }

  look(resultSoFar: () => Promise<FleetResult>): void {
    const { soak, screen, out } = this.#given;
    const isDue = performance.now() - this.#reportedAt >= soak.everyMs;
    if (this.#began === undefined || this.#reporting !== undefined || !isDue) return;
    this.#reporting = resultSoFar()
      .then((result) => {
        writeFileIn(out, INTERIM_REPORT, reportHtml(result));
        const left = `${roundsOf(result).join()}, ${readableDuration(this.leftMs)} to go`;
        const standing = `${thresholdsText(result.thresholds)} · ${result.violations.length} violations`;
        screen.write(`interim: ${left} · ${standing} · ${join(out, INTERIM_REPORT)}\n`);
      })
      .catch((error: unknown) => void screen.write(`interim report: ${(error as Error).message}\n`))
      .finally(() => {
        this.#reporting = undefined;
        this.#reportedAt = performance.now();
      });
  }

  get told(): NonNullable<FleetResult['soak']> {
    return { for_ms: this.#given.soak.forMs, ran_ms: Math.round(this.#ranMs), rounds: this.#round };
  }

  async end(): Promise<void> {
    await this.#reporting;
    rmSync(join(this.#given.out, INTERIM_REPORT), { force: true });
  }
}

export function thresholdsText(thresholds: FleetResult['thresholds']): string {
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
