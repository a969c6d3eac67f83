/**
 * Knowledge of one target while it is checked: durations, budget, throttling, and facts that checks share. The runner
 * makes it once, and every check has it as `t.session`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Declarations } from './declarations.ts';
import { History } from './rules.ts';

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

/** Dependence of waits for one family of things on the target's successes. */
export interface WaitPolicy {
  /** Length of a wait after a timeout, as a multiple of the slowest success. */
  timesSlowest: number;
  /** Whether successes of other kinds count too. */
  ofAnyKind?: boolean;
  /** Shortest wait after a timeout, milliseconds. `isKnown`: the target's speed is known. */
  shortestMs(patienceMs: number, isKnown: boolean): number;
  /** Whether a success restores the full wait of its kind. */
  forgives?: boolean;
  /** Whether waits grow with a target that slows down, and halve where it has been much quicker many times. */
  adapts?: boolean;
  /** Kinds of varying duration, whose quick successes shorten no wait. */
  varying?: readonly string[];
  /** Kinds that come the same way, or all of them, so that one tells something about the others. */
  alike?: readonly string[] | 'all';
  /** Share of the patience, by kind. */
  shares?: Readonly<Record<string, number>>;
}

const SHORTEST_WAIT_MS = 1000;
/** Successes after which the target's speed is known. */
const KNOWN_AFTER = 10;
/** A healthy target that is held up for a moment takes no longer than this multiple of its slowest success. */
const KNOWN_FACTOR = 50;
/** Shares of a whole wait where the target's speed is known: by default, and after timeouts of similar kinds. */
const KNOWN_SHARES = { usual: 1 / 2, alike: 1 / 4 };
/** Multiple for a target that slows down during the run. */
const FACTOR_WHERE_SLOW = 3;

export const WAIT_POLICIES = {
  /**
   * Answers, streams, events and states of a device. A deployment is shown as archived before its files are waited for.
   */
  device: {
    timesSlowest: 5,
    shortestMs: (patienceMs, isKnown) => Math.min(isKnown ? SHORTEST_WAIT_MS / 2 : SHORTEST_WAIT_MS, patienceMs / 2),
    adapts: true,
    varying: ['deployed'],
    alike: ['event', 'replay'],
    shares: { files: 0.5 },
  },
  /** Answers of a platform. A kind is a method with a path without ids. */
  platform: { timesSlowest: 5, ofAnyKind: true, shortestMs: () => SHORTEST_WAIT_MS, forgives: true },
  /** Effects on the other side of a system. One deployment that is never archived may have many successors that are. */
  effect: { timesSlowest: 2, ofAnyKind: true, shortestMs: () => SHORTEST_WAIT_MS, adapts: true, alike: 'all' },
  /** Calls of control. */
  control: { timesSlowest: 0, shortestMs: () => 6000, forgives: true },
} as const satisfies Record<string, WaitPolicy>;

interface Experience {
  successes: number;
  slowestMs: number;
  /** Timeouts in checks of a MUST, and in all. */
  strict: number;
  inVain: number;
}

const UNKNOWN: Readonly<Experience> = { successes: 0, slowestMs: 0, strict: 0, inVain: 0 };

/** Waits for each kind of thing, by the target's successes so far. */
export class Waits {
  readonly #policy: WaitPolicy;
  readonly #experiences = new Map<string, Experience>();
  #slowestMs = 0;

  constructor(policy: WaitPolicy) {
    this.#policy = policy;
  }

  /**
   * Milliseconds to wait. The first wait has all the patience; after a timeout, waits of its kind follow the slowest
   * success, and those of similar kinds are shorter. A timeout in a `lenient` check, one of a SHOULD, shortens no wait
   * of a MUST.
   */
  within(kind: string, patienceMs: number, lenient = false): number {
    const { timesSlowest, ofAnyKind, shortestMs, adapts, shares } = this.#policy;
    const wholeMs = (shares?.[kind] ?? 1) * patienceMs;
    const seen = this.#experiences.get(kind) ?? UNKNOWN;
    const slowestMs = ofAnyKind === true ? this.#slowestMs : seen.slowestMs;
    const mostMs = adapts === true ? Math.max(wholeMs, FACTOR_WHERE_SLOW * slowestMs) : wholeMs;
    const known = this.#known(kind);
    if (seen.strict > 0 || (lenient && seen.inVain > 0))
      return Math.min(mostMs, Math.max(shortestMs(wholeMs, known !== undefined), timesSlowest * slowestMs));
    if (known === undefined) return mostMs;
    const [share, factor] = known.strict > 0 ? [KNOWN_SHARES.alike, timesSlowest] : [KNOWN_SHARES.usual, KNOWN_FACTOR];
    return Math.min(mostMs, Math.max(share * wholeMs, factor * known.slowestMs));
  }

  /** Records a success after `ms` milliseconds. */
  succeeded(kind: string, ms: number): void {
    const seen = this.#of(kind);
    seen.successes += 1;
    seen.slowestMs = Math.max(seen.slowestMs, Math.ceil(ms));
    this.#slowestMs = Math.max(this.#slowestMs, ms);
    if (this.#policy.forgives !== true) return;
    seen.strict = 0;
    seen.inVain = 0;
  }

  /** Records a timeout. */
  timedOut(kind: string, lenient = false): void {
    const seen = this.#of(kind);
    seen.inVain += 1;
    if (!lenient) seen.strict += 1;
  }

  /** Forgets timeouts that were nobody's fault. */
  forgive(): void {
    for (const seen of this.#experiences.values()) Object.assign(seen, { strict: 0, inVain: 0 });
  }

  /** Number of timeouts of a kind; where a success forgives, since the last one. */
  inVain(kind: string): number {
    return this.#experiences.get(kind)?.inVain ?? 0;
  }

  /** Milliseconds of the slowest success; 0 without any. */
  slowestMs(kind: string): number {
    return this.#experiences.get(kind)?.slowestMs ?? 0;
  }

  /** Experience with similar kinds; undefined where it is too little. */
  #known(kind: string): Experience | undefined {
    const { adapts, varying, alike = [] } = this.#policy;
    if (adapts !== true || varying?.includes(kind) === true) return undefined;
    const isAlike = (other: string): boolean =>
      other === kind || alike === 'all' || (alike.includes(kind) && alike.includes(other));
    const all = { ...UNKNOWN };
    for (const [other, { successes, slowestMs, strict }] of this.#experiences) {
      if (!isAlike(other)) continue;
      all.successes += successes;
      all.slowestMs = Math.max(all.slowestMs, slowestMs);
      all.strict += strict;
    }
    // If all kinds share one speed, one timeout and one success are enough to know it.
    const isTold = alike === 'all' && all.strict > 0 && all.successes > 0;
    return all.successes >= KNOWN_AFTER || isTold ? all : undefined;
  }

  #of(kind: string): Experience {
    const seen = this.#experiences.get(kind) ?? { ...UNKNOWN };
    this.#experiences.set(kind, seen);
    return seen;
  }
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
  /** Rules of the run. */
  readonly history: History;
  /** Whether the target keeps few events or serves few streams, so that publishing checks run one at a time. */
  isSmall = false;
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
