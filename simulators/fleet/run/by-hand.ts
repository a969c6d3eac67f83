/** Actions that a user starts on a running fleet, in addition to the phases of the scenario. */
import { type Phase, unsuited } from '../scenario/scenario.ts';
import { isInMemory, machineLimits, preflight, robotCost } from './capacity.ts';
import type { Fleet } from './fleet.ts';
import type { PhaseReport } from './record.ts';

interface UnderWay {
  note: string;
  do: Phase['do'];
  startedMs: number;
}

const MOST_AT_ONCE = 100_000;

/** Methods throw an Error with the reason if the fleet cannot act now. */
export class ByHand {
  readonly #fleet: Fleet;
  readonly #onReport: (report: PhaseReport) => void;
  readonly #running = new Map<Promise<unknown>, UnderWay>();
  #number = 0;
  #held: PromiseWithResolvers<void> | undefined;
  #over = false;

  constructor(fleet: Fleet, onReport: (report: PhaseReport) => void) {
    this.#fleet = fleet;
    this.#onReport = onReport;
  }

  get underWay(): readonly UnderWay[] {
    return [...this.#running.values()];
  }

  async carryOut(phase: Phase, note: string, only?: number[]): Promise<PhaseReport> {
    this.refuseUnlessUp();
    const { uplink = 'agent' } = this.#fleet.options.scenario;
    const reason = unsuited(uplink, phase);
    if (reason !== undefined) throw new Error(reason);
    const done = this.#fleet.runByHand(phase, this.#number, note, only);
    this.#number += 1;
    this.#running.set(done, { note, do: phase.do, startedMs: this.#fleet.record.elapsedMs });
    try {
      const report = await done;
      this.#onReport(report);
      return report;
    } finally {
      this.#running.delete(done);
    }
  }

  /** Resolves with the new robots' indices; a phase `ramp` must then start them. */
  async grow(count: number): Promise<number[]> {
    this.refuseUnlessUp();
    const { options, dir, robots } = this.#fleet;
    if (!Number.isInteger(count) || count < 1 || count > MOST_AT_ONCE)
      throw new RangeError(`add 1 to ${MOST_AT_ONCE} robots, not ${count}`);
    if (options.shard !== undefined) throw new Error('a shard has the robots that its number gives it');
    const cost = robotCost(options.scenario);
    const free = machineLimits(dir);
    const processes = { workers: options.workers, platform: false, filesInMemory: isInMemory(dir) };
    const whole = preflight(robots + count, processes, cost, free, ['descriptors', 'ports']);
    const more = preflight(count, { ...processes, workers: 0, started: true }, cost, free, ['memory', 'disk']);
    const [problem] = [...whole.problems, ...more.problems];
    if (problem !== undefined) throw new Error(problem);
    return await this.#fleet.grow(count);
  }

  pause(): void {
    this.#refuseWhenOver();
    if (this.#held !== undefined) return;
    this.#held = Promise.withResolvers<void>();
    this.#fleet.record.pauses.push({ fromMs: this.#fleet.record.elapsedMs });
  }

  resume(): void {
    this.#held?.resolve();
    this.#held = undefined;
    const last = this.#fleet.record.pauses.at(-1);
    if (last !== undefined) last.untilMs ??= this.#fleet.record.elapsedMs;
  }

  async whenGoing(signal: AbortSignal): Promise<void> {
    while (this.#held !== undefined && !signal.aborted) {
      const aborted = Promise.withResolvers<void>();
      const onAbort = (): void => aborted.resolve();
      signal.addEventListener('abort', onAbort, { once: true });
      await Promise.race([this.#held.promise, aborted.promise]);
      signal.removeEventListener('abort', onAbort);
    }
  }

  async end(): Promise<void> {
    this.#over = true;
    await Promise.allSettled(this.#running.keys());
  }

  refuseUnlessUp(): void {
    this.#refuseWhenOver();
    const { phases, isUp } = this.#fleet.record;
    if (!isUp) throw new Error('the robots are still being started');
    if (phases.some((phase) => phase.do === 'stop')) throw new Error('the robots were stopped');
  }

  #refuseWhenOver(): void {
    if (this.#over) throw new Error('the run is at its end');
  }
}
