/** How quick one target is, as its checks measure it on their way, and how much they may ask of it because of that. */
import type { ControlInfo } from '../../../harness/contract/control.ts';
import type { Control, ControlCall } from '../../../harness/targets/control/control.ts';
import { layered } from '../../../harness/targets/control/layers.ts';
import { Waits } from './waits.ts';

/**
 * What is measured: a whole answer; an event of a batch on its way to a subscriber; control's answer for one published event, for a
 * deployment, and for a stop with a start.
 */
type Measure = 'answer' | 'event' | 'publish' | 'deployment' | 'restart';

/** The last few of them: one that was held up says nothing about the target. */
const KEPT = 5;
/** An agent that syncs once a second publishes at once after a pause, and makes every other event wait. */
const KEPT_PUBLISHED = 20;
const WAITED_MS = 500;
/** From so many events at once on, their average is the pace that the target keeps up, whatever a single event waited. */
const TELLING_BATCH = 10;
/** Milliseconds from which a target is slow: with its answers, say, a run that takes seconds would take minutes. */
const SLOW: Record<Measure, number> = { answer: 150, event: 150, publish: 150, deployment: 1500, restart: 5000 };
/** What control takes its time for: the target itself may be right and quick, so that nothing but `--max-time` bounds it. */
const DRIVING: ReadonlySet<Measure> = new Set(['publish', 'deployment', 'restart']);
/** The share of `--max-time` that a target gets which is slow itself; then what needs more of its events is blocked. */
const SHARE_OF_SLOW = 1 / 4;
/** Milliseconds of which it is a share where the run has no limit. */
const UNLIMITED_MS = 600_000;
/** All checks together take less than this on a target that is quick: what is left gets by with less. */
const LATE_MS = 80_000;
/** What takes less is never refused. */
const SMALL_MS = 200;
/** Far longer than an event usually takes. */
const SILENCE_MS = 400;
const LEAST_QUIET_MS = 50;
const TIMES_THE_SLOWEST = 5;
/** Milliseconds that one batch of events may take. */
const BATCH_MS = 1500;
/** Milliseconds that several streams may take which are read one after the other. */
const STREAMS_MS = 6000;

/** The pace of one target. */
export class Pace {
  readonly waits = new Waits();
  /** The last event that control published, unless the log was compacted or the agent stopped since: a cursor that is certainly served. */
  knownCursor: bigint | undefined;
  /** How often the log was compacted or the agent stopped. */
  logChanges = 0;
  readonly #startedAt: number;
  readonly #idleWatches = new Set<Promise<void>>();
  readonly #recent = new Map<Measure, { ms: number; count: number }[]>();
  readonly #now: () => number;

  constructor(now = () => performance.now()) {
    this.#now = now;
    this.#startedAt = now();
  }

  /** The log is compacted, or the agent stopped: nobody knows what is left. */
  logMayDiffer(): void {
    this.knownCursor = undefined;
    this.logChanges += 1;
  }

  /** `ms` is the time of each where `count` of them came at once. */
  took(what: Measure, ms: number, count = 1): void {
    const recent = this.#recent.get(what) ?? [];
    recent.push({ ms, count });
    if (recent.length > (what === 'publish' ? KEPT_PUBLISHED : KEPT)) recent.shift();
    this.#recent.set(what, recent);
  }

  /**
   * The least of the last few, since only a target that is slow is slow every time; 0 when it is not known yet. One published event may
   * have to wait for the target's next turn: then it is what each of the last batch took or, without one, what two events waited at least.
   */
  typicalMs(what: Measure): number {
    const recent = this.#recent.get(what) ?? [];
    if (what === 'publish') {
      const batch = this.#lastBatch();
      if (batch !== undefined) return batch.ms;
      const [, waited] = recent.toSorted((one, other) => other.ms - one.ms);
      if (waited !== undefined && waited.ms >= WAITED_MS) return waited.ms;
    }
    return this.#leastMs(what);
  }

  #leastMs(what: Measure): number {
    const recent = this.#recent.get(what) ?? [];
    return recent.length === 0 ? 0 : Math.min(...recent.slice(-KEPT).map(({ ms }) => ms));
  }

  /** Whether a batch of events has told lately how long each takes, which single events may have hidden. */
  get knowsBatches(): boolean {
    return this.#lastBatch() !== undefined;
  }

  #lastBatch(): { ms: number } | undefined {
    return this.#recent.get('publish')?.findLast(({ count }) => count >= TELLING_BATCH);
  }

  /** Whether the target is slow with one of these; without any, whether the run is late, or the target slow with anything. */
  isSlow(...measures: readonly Measure[]): boolean {
    if (measures.length === 0 && this.#now() - this.#startedAt > LATE_MS) return true;
    const asked = measures.length === 0 ? (Object.keys(SLOW) as Measure[]) : measures;
    return asked.some((what) => this.typicalMs(what) >= SLOW[what]);
  }

  /** Milliseconds without an event after which it is worth asking whether one was lost. */
  get silenceMs(): number {
    return Math.max(this.waits.wasInVain('event') ? SILENCE_MS / 2 : SILENCE_MS, 2 * this.waits.slowestMs('event'));
  }

  /** Milliseconds in which a target sends what it has: far more than any event has taken so far, at most `ms`. */
  quietMs(ms: number): number {
    return Math.min(ms, Math.max(LEAST_QUIET_MS, TIMES_THE_SLOWEST * this.waits.slowestMs('event')));
  }

  /** `count` where the target is quick; as many rounds as show something where it is slow. */
  rounds(count: number): number {
    return this.isSlow() ? 1 : count;
  }

  /** Idle streams are watched until then: no check that drives should begin. Without it, one that drives slowly always would. */
  askForQuiet(until: Promise<void>): void {
    this.#idleWatches.add(until);
    void until.finally(() => this.#idleWatches.delete(until));
  }

  /** Resolves when no check asks for quiet. */
  async quiet(): Promise<void> {
    while (this.#idleWatches.size > 0) await Promise.all(this.#idleWatches);
  }

  /** How many of the `wanted` events come in a short time. At least 2, since one alone shows no order. */
  batch(wanted: number): number {
    const each = Math.max(this.typicalMs('event'), this.isSlow('publish') ? this.typicalMs('publish') : 0);
    return each * wanted <= BATCH_MS ? wanted : Math.max(2, Math.floor(BATCH_MS / each));
  }

  /** How many of the `wanted` streams can be read in some seconds, each with so many events. */
  streams(wanted: number, events: number): number {
    const each = this.typicalMs('event') * events;
    return each * wanted <= STREAMS_MS ? wanted : Math.max(2, Math.floor(STREAMS_MS / each));
  }

  /** Why so much of something cannot be had in the time that is left; undefined when it can. */
  whyTooMuch(what: Measure, count: number, remainingMs: number): string | undefined {
    // A few events are tried where any of the last was quick: what is refused is never measured again.
    const each = what === 'publish' && count <= TELLING_BATCH ? this.#leastMs(what) : this.typicalMs(what);
    const needed = each * count;
    const sinceStart = this.#now() - this.#startedAt;
    const share = SHARE_OF_SLOW * (Number.isFinite(remainingMs) ? remainingMs + sinceStart : UNLIMITED_MS);
    const slowMs = this.isSlow(what) && !DRIVING.has(what) ? share - sinceStart : Number.POSITIVE_INFINITY;
    const left = Math.max(0, Math.min(remainingMs, slowMs));
    if (needed < SMALL_MS || needed <= left) return undefined;
    const whose =
      slowMs < remainingMs ? `the ${seconds(share)} that a slow target gets, a quarter of --max-time,` : '--max-time';
    const amount = `${count.toLocaleString('en')} ${NAMES[what]}${count === 1 ? '' : 's'}`;
    return `not decided: ${amount} at ${seconds(each)} each take ${seconds(needed)}, and ${seconds(left)} of ${whose} are left`;
  }
}

const NAMES: Record<Measure, string> = {
  answer: 'answer',
  event: 'event',
  publish: 'event',
  deployment: 'deployment',
  restart: 'restart',
};

const seconds = (ms: number): string =>
  ms > 0 && ms < 100 ? `${Math.ceil(ms)} ms` : `${ms < 10_000 ? Math.round(ms / 100) / 10 : Math.round(ms / 1000)} s`;

/** `info` is one object for all checks of a target, however their contexts are copied and wherever the agent moves. */
const byTarget = new WeakMap<ControlInfo, Pace>();

export function paceOf({ info }: { info: ControlInfo }): Pace {
  const known = byTarget.get(info) ?? new Pace();
  byTarget.set(info, known);
  return known;
}

interface Driven {
  control: Control;
  info: ControlInfo;
  remainingMs(): number;
  blocked(reason: string): never;
}

/** The control of a check, which measures how long everything takes, and refuses at once what can no longer be had in this run. */
export function pacedControl({ control, info, remainingMs, blocked }: Driven): Control {
  const pace = paceOf({ info });
  let stopping = 0;
  const afford = (what: Measure, count = 1): void => {
    const reason = pace.whyTooMuch(what, count, remainingMs());
    if (reason !== undefined) blocked(reason);
  };
  const timed = async <T>(what: Measure, count: number, call: () => Promise<T>): Promise<T> => {
    afford(what, count);
    const started = performance.now();
    const result = await call();
    pace.took(what, (performance.now() - started) / Math.max(1, count), count);
    return result;
  };
  const publishAll = (count: number, signal: AbortSignal | undefined): ReturnType<Control['publish']> =>
    timed('publish', count, () => control.publish(count, signal));
  // Two events may have waited for a busy machine: a small batch tells before a large one is refused.
  const publish = async (count: number, signal: AbortSignal | undefined): ReturnType<Control['publish']> => {
    const isTold = count <= TELLING_BATCH || pace.knowsBatches;
    const isSplit = !isTold && pace.whyTooMuch('publish', count, remainingMs()) !== undefined;
    const { first_id } = isSplit ? await publishAll(TELLING_BATCH, signal) : { first_id: undefined };
    const rest = await publishAll(isSplit ? count - TELLING_BATCH : count, signal);
    pace.knownCursor = BigInt(rest.last_id);
    return { first_id: first_id ?? rest.first_id, last_id: rest.last_id };
  };
  const restarting = async (call: ControlCall, signal: AbortSignal | undefined): Promise<undefined> => {
    const started = performance.now();
    await control.call(call, signal);
    const ms = performance.now() - started;
    if (call.name === 'stop') stopping = ms;
    else pace.took('restart', stopping + ms);
  };
  return layered(control, {
    call: (call, signal) => {
      if (call.name === 'deploy') return timed('deployment', 1, () => control.call(call, signal));
      if (call.name === 'publish') return publish(call.count, signal);
      if (call.name === 'stop') afford('restart');
      if (call.name === 'compact' || call.name === 'stop') pace.logMayDiffer();
      return call.name === 'stop' || call.name === 'start' ? restarting(call, signal) : undefined;
    },
  });
}
