/**
 * Knowledge of one target while it is checked: durations, budget, throttling, and facts that checks share. The runner
 * makes it once, and every check has it as `t.session`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Declarations } from './declarations.ts';
import { History } from './rules.ts';
import { WAIT_POLICIES, Waits } from './waits.ts';

/** Key for one fact that checks share about their target, with its initial value for each session. */
export class Fact<T> {
  readonly initial: () => T;
  constructor(initial: () => T) {
    this.initial = initial;
  }
}

/**
 * Deviation from the specification that readers can tolerate. Once the check that names it has failed, readers allow
 * for it in one place, so that one finding hides no other.
 */
export interface Deviation {
  /** E.g. `cursor-repeated`. */
  name: string;
  /** Behaviour of readers from then on, as a sentence in the present tense. */
  allowance: string;
}

/**
 * Measured durations: a whole answer; an event of a batch on its way to a subscriber; control's answer for one
 * published event, for a deployment, and for a stop with a start. `slowMs`: threshold of a slow target, with which a
 * run of seconds would take minutes. `driven`: durations of control, which only `--max-time` bounds, since the target
 * itself may be quick.
 */
const MEASURES = {
  answer: { slowMs: 150, driven: false, noun: 'answer' },
  event: { slowMs: 150, driven: false, noun: 'event' },
  publish: { slowMs: 150, driven: true, noun: 'event' },
  deployment: { slowMs: 1500, driven: true, noun: 'deployment' },
  restart: { slowMs: 5000, driven: true, noun: 'restart' },
} as const;
export type Measure = keyof typeof MEASURES;

/** Measurements kept of each kind: a single slow one says nothing about the target. */
const KEPT_MEASUREMENTS = 5;
/**
 * Measurements kept of publishing: an agent that syncs once a second publishes at once after a pause, and delays every
 * other event.
 */
const KEPT_PUBLISHED = 20;
const WAITED_MS = 500;
/** Size of a batch whose average is the sustained rate of the target, whatever a single event waited. */
export const TELLING_BATCH = 10;
/** Share of `--max-time` for a slow target; checks that need more of its events are blocked then. */
const SHARE_OF_SLOW = 1 / 4;
/** Milliseconds that stand for the limit of an unlimited run. */
const UNLIMITED_RUN_MS = 600_000;
/** Milliseconds within which all checks end on a quick target; after that the others do less. */
const LATE_RUN_MS = 80_000;
/** Effort that is never refused, milliseconds. */
const SMALL_EFFORT_MS = 200;

/** Milliseconds of a run to shrink counterexamples. */
const SHRINK_MS = 8000;

interface Measured {
  ms: number;
  count: number;
}

export class Session {
  readonly waits: Readonly<Record<'device' | 'platform' | 'effect', Waits>>;
  /** Tolerated deviations, with the requirement that reports each: its own checks go on looking at that. */
  readonly deviations = new Map<Deviation, string>();
  /**
   * Milliseconds left to shrink counterexamples: the first findings get most of it, so that a broken target takes
   * little longer than a correct one.
   */
  shrinkMs: number;
  /** Declarations of the target that were observed. */
  readonly declarations: Declarations;
  readonly history: History;
  /** Whether the target keeps few events or serves few streams, so that publishing checks run one at a time. */
  isSmall = false;
  /** Settles once the checks that run beside the slow ones have ended; in a retry, which runs alone, at once. */
  others: Promise<unknown> = Promise.resolve();
  /** Milliseconds for which a stream was open when it fell silent: a retry watches one for as long. */
  silentAfterMs = 0;
  readonly #facts = new Map<unknown, unknown>();
  readonly #gates: Map<string, Gate>;
  readonly #quiet = new Set<Promise<void>>();
  readonly #measured: Map<Measure, Measured[]>;
  readonly #now: () => number;
  readonly #startedAt: number;
  readonly #shrinkMs: number;

  /** `before`: session whose durations are known already. */
  constructor(now = () => performance.now(), before?: Session, shrinkMs = SHRINK_MS, history = new History([])) {
    const { device, platform, effect } = WAIT_POLICIES;
    const policies = { device: new Waits(device), platform: new Waits(platform), effect: new Waits(effect) };
    this.waits = before === undefined ? policies : before.waits;
    this.declarations = before === undefined ? new Declarations() : before.declarations;
    this.history = before === undefined ? history : before.history;
    this.#gates = before === undefined ? new Map() : before.#gates;
    this.#measured = before === undefined ? new Map() : before.#measured;
    this.silentAfterMs = before?.silentAfterMs ?? 0;
    this.#now = now;
    this.#startedAt = now();
    this.#shrinkMs = shrinkMs;
    this.shrinkMs = shrinkMs;
  }

  /** Session for a retry: keeps durations, and no facts, so that checks look anew. */
  forRetry(): Session {
    return new Session(this.#now, this, this.#shrinkMs);
  }

  /** Forgets timeouts, after the target stood still. */
  forgive(): void {
    for (const waits of Object.values(this.waits)) waits.forgive();
  }

  /** Value of a fact in this session. */
  get<T>(fact: Fact<T>): T {
    if (!this.#facts.has(fact)) this.#facts.set(fact, fact.initial());
    return this.#facts.get(fact) as T;
  }

  set<T>(fact: Fact<T>, value: T): void {
    this.#facts.set(fact, value);
  }

  /** Records a duration; `ms` is the average where `count` came at once. */
  took(what: Measure, ms: number, count = 1): void {
    const recent = this.#recent(what);
    recent.push({ ms, count });
    if (recent.length > (what === 'publish' ? KEPT_PUBLISHED : KEPT_MEASUREMENTS)) recent.shift();
    this.#measured.set(what, recent);
  }

  /**
   * Typical duration of one, milliseconds: the least of the last few, since a slow target is slow every time; 0 when
   * unknown. A published event may wait for the target's next turn, so its duration is the average of the last batch
   * or, without one, the least that two events waited.
   */
  typicalMs(what: Measure): number {
    if (what === 'publish') {
      const batch = this.#lastBatch();
      if (batch !== undefined) return batch.ms;
      const [, waited] = this.#recent(what).toSorted((one, other) => other.ms - one.ms);
      if (waited !== undefined && waited.ms >= WAITED_MS) return waited.ms;
    }
    return this.#leastMs(what);
  }

  /** Whether a recent batch showed the duration of an event, which single events may have hidden. */
  get knowsBatches(): boolean {
    return this.#lastBatch() !== undefined;
  }

  /**
   * Whether the target is slow with one of these; without any, whether the run is late, or the target slow with
   * anything.
   */
  isSlow(...measures: readonly Measure[]): boolean {
    if (measures.length === 0 && this.#now() - this.#startedAt > LATE_RUN_MS) return true;
    const asked = measures.length === 0 ? (Object.keys(MEASURES) as Measure[]) : measures;
    return asked.some((what) => this.typicalMs(what) >= MEASURES[what].slowMs);
  }

  /**
   * Whether this is mostly slow, even if sometimes quick: an agent that syncs once a second publishes one event at
   * once, and the next a second later.
   */
  isMostlySlow(what: Measure): boolean {
    const recent = this.#recent(what)
      .map(({ ms }) => ms)
      .toSorted((one, other) => one - other);
    return (recent[Math.floor(recent.length / 2)] ?? 0) >= MEASURES[what].slowMs;
  }

  /** Whether publishing checks run at once: where an event is slow, it serves all that wait for one. */
  readonly publishesTogether = (): boolean => !this.isSmall && this.isMostlySlow('publish');

  /** `count` rounds on a quick target; on a slow one as few as show something. */
  rounds(count: number): number {
    return this.isSlow() ? 1 : count;
  }

  /** Reason why the time left is too short for `count` of these; undefined when it suffices. */
  whyTooMuch(what: Measure, count: number, remainingMs: number): string | undefined {
    // A few events are tried if any recent one was quick, since a refused effort is never measured again.
    const each = what === 'publish' && count <= TELLING_BATCH ? this.#leastMs(what) : this.typicalMs(what);
    const needed = each * count;
    const sinceStart = this.#now() - this.#startedAt;
    const share = SHARE_OF_SLOW * (Number.isFinite(remainingMs) ? remainingMs + sinceStart : UNLIMITED_RUN_MS);
    const { driven, noun } = MEASURES[what];
    const slowMs = this.isSlow(what) && !driven ? share - sinceStart : Number.POSITIVE_INFINITY;
    const left = Math.max(0, Math.min(remainingMs, slowMs));
    if (needed < SMALL_EFFORT_MS || needed <= left) return undefined;
    const slowShare = `the ${seconds(share)} that a slow target gets, a quarter of --max-time,`;
    const amount = `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
    const time = `${seconds(left)} of ${slowMs < remainingMs ? slowShare : '--max-time'} are left`;
    return `not decided: ${amount} at ${seconds(each)} each take ${seconds(needed)}, and ${time}`;
  }

  /** Gate of the requests that pause together, by name. */
  gate(name = ''): Gate {
    const gate = this.#gates.get(name) ?? new Gate();
    this.#gates.set(name, gate);
    return gate;
  }

  /**
   * Asks checks that drive to wait while idle streams are watched. Without it, a slow drive would always be under way.
   */
  askForQuiet(until: Promise<void>): void {
    this.#quiet.add(until);
    void until.finally(() => this.#quiet.delete(until));
  }

  /** Resolves when no check asks for quiet. */
  async quiet(): Promise<void> {
    while (this.#quiet.size > 0) await Promise.all(this.#quiet);
  }

  #recent(what: Measure): Measured[] {
    return this.#measured.get(what) ?? [];
  }

  #leastMs(what: Measure): number {
    const recent = this.#recent(what).slice(-KEPT_MEASUREMENTS);
    return recent.length === 0 ? 0 : Math.min(...recent.map(({ ms }) => ms));
  }

  #lastBatch(): Measured | undefined {
    return this.#recent('publish').findLast(({ count }) => count >= TELLING_BATCH);
  }
}

const seconds = (ms: number): string =>
  ms > 0 && ms < 100 ? `${Math.ceil(ms)} ms` : `${ms < 10_000 ? Math.round(ms / 100) / 10 : Math.round(ms / 1000)} s`;

/** Holds requests back for as long as the target asked the last of them to wait. */
export class Gate {
  #opensAt = 0;

  close(ms: number): void {
    this.#opensAt = Math.max(this.#opensAt, performance.now() + ms);
  }

  /** Resolves when no pause is in force: another request may have closed the gate again meanwhile. */
  async pass(signal: AbortSignal): Promise<void> {
    for (let left = this.#opensAt - performance.now(); left > 0; left = this.#opensAt - performance.now())
      await sleep(Math.ceil(left), undefined, { signal });
  }
}

/** The specification has no rate limit: a target that throttles for longer refuses the request. */
const LONGEST_THROTTLING_MS = 60_000;
/** Minimum pause, milliseconds, whatever a target names. */
export const SHORTEST_PAUSE_MS = 50;

export interface Throttling<A> {
  /** Gate to wait at. Default: one for this request only. */
  gate?: Gate;
  signal: AbortSignal;
  isThrottled(answer: A): boolean;
  /** Milliseconds before the next attempt; undefined when no other is of use. */
  pauseMs(answer: A, attempt: number): number | undefined;
  /** Receives every answer but the last. */
  discard?(answer: A): Promise<void>;
}

/**
 * Sends a request until its answer does not throttle, for at most a minute. Returns the last answer, which may
 * throttle.
 */
export async function retryThrottled<A>(send: () => Promise<A>, throttling: Throttling<A>): Promise<A> {
  const { gate = new Gate(), signal, isThrottled, pauseMs, discard } = throttling;
  const deadline = performance.now() + LONGEST_THROTTLING_MS;
  for (let attempt = 0; ; attempt += 1) {
    await gate.pass(signal);
    const answer = await send();
    if (!isThrottled(answer) || performance.now() >= deadline) return answer;
    const pause = pauseMs(answer, attempt);
    if (pause === undefined) return answer;
    await discard?.(answer);
    gate.close(pause);
  }
}
