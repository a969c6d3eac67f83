/**
 * What is known of one target for as long as it is checked: how long things take there, what the run can still afford,
 * when it throttled, and whatever else its checks have found out. The runner makes it once, and every check has it as
 * `t.session`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Declarations } from './declarations.ts';
import { History } from './rules.ts';

/** A place for one thing that checks find out about their target, empty or new in each session. */
export class Fact<T> {
  readonly initial: () => T;
  constructor(initial: () => T) {
    this.initial = initial;
  }
}

/**
 * A way to depart from the specification that a reader can live with. The check that reports it names it; once that has
 * failed, readers allow for it in one place, so that one finding hides no other.
 */
export interface Deviation {
  /** E.g. `cursor-repeated`. */
  name: string;
  /** What readers do from then on, as a sentence in the present tense. */
  allowance: string;
}

/** How the waits for one family of things depend on what the target has shown of them. */
export interface WaitPolicy {
  /** How many times the slowest success a wait is, once one was in vain. */
  timesSlowest: number;
  /** The slowest success of any kind counts, not only those of the same kind. */
  ofAnyKind?: boolean;
  /** The shortest wait once one was in vain, milliseconds. `isKnown`: how quick the target is. */
  shortestMs(patienceMs: number, isKnown: boolean): number;
  /** A success makes waits of its kind as long as at first. */
  forgives?: boolean;
  /** Waits grow with a target that gets slower, and are half as long where it has been much quicker many times. */
  adapts?: boolean;
  /** Kinds for which one may take far longer than another, so that quick ones shorten no wait. */
  varying?: readonly string[];
  /** Kinds that come in the same way, or all of them: what is known of one tells something of the others. */
  alike?: readonly string[] | 'all';
  /** The part of the patience that a kind gets. */
  shares?: Readonly<Record<string, number>>;
}

const SHORTEST_WAIT_MS = 1000;
/** After this many successes it is known how quick a target is. */
const KNOWN_AFTER = 10;
/** Times the slowest success: a healthy target that is held up for a moment takes no longer. */
const KNOWN_FACTOR = 50;
/**
 * Where it is known how quick a target is, this is left of a whole wait, and of one after another in vain for what is
 * alike.
 */
const KNOWN_SHARES = { usual: 1 / 2, alike: 1 / 4 };
/** A target that gets slower on its way keeps its time. */
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
  /**
   * Effects on the other side of a system. One deployment that is not archived is followed by others, though most of
   * them are.
   */
  effect: { timesSlowest: 2, ofAnyKind: true, shortestMs: () => SHORTEST_WAIT_MS, adapts: true, alike: 'all' },
  /** Calls of control. */
  control: { timesSlowest: 0, shortestMs: () => 6000, forgives: true },
} as const satisfies Record<string, WaitPolicy>;

interface Experience {
  successes: number;
  slowestMs: number;
  /** Waits in vain: in checks of a MUST, and in all. */
  strict: number;
  inVain: number;
}

const UNKNOWN: Readonly<Experience> = { successes: 0, slowestMs: 0, strict: 0, inVain: 0 };

/** How long to wait for each kind of thing, by what the target has shown of it. */
export class Waits {
  readonly #policy: WaitPolicy;
  readonly #experiences = new Map<string, Experience>();
  #slowestMs = 0;

  constructor(policy: WaitPolicy) {
    this.#policy = policy;
  }

  /**
   * Milliseconds. The patience at first; once a wait was in vain, the next ones of its kind are short, by the slowest
   * success, and those of what is alike are shorter. A vain wait in a `lenient` check, one of a SHOULD, shortens no
   * wait of a MUST.
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

  /** It came after so many milliseconds. */
  succeeded(kind: string, ms: number): void {
    const seen = this.#of(kind);
    seen.successes += 1;
    seen.slowestMs = Math.max(seen.slowestMs, Math.ceil(ms));
    this.#slowestMs = Math.max(this.#slowestMs, ms);
    if (this.#policy.forgives !== true) return;
    seen.strict = 0;
    seen.inVain = 0;
  }

  /** It did not come in time. */
  timedOut(kind: string, lenient = false): void {
    const seen = this.#of(kind);
    seen.inVain += 1;
    if (!lenient) seen.strict += 1;
  }

  /** Waits that were in vain so far were nobody's fault, and shorten no others. */
  forgive(): void {
    for (const seen of this.#experiences.values()) Object.assign(seen, { strict: 0, inVain: 0 });
  }

  /** How many waits for that kind were in vain; where a success forgives, since the last one. */
  inVain(kind: string): number {
    return this.#experiences.get(kind)?.inVain ?? 0;
  }

  /** Milliseconds that the slowest success took; 0 when there was none. */
  slowestMs(kind: string): number {
    return this.#experiences.get(kind)?.slowestMs ?? 0;
  }

  /** All that is known of what is alike; undefined where that is too little, or tells nothing. */
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
    // Where all kinds are alike, one in vain and one that came tell as much as many that came.
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
 * What is measured: a whole answer; an event of a batch on its way to a subscriber; control's answer for one published
 * event, for a deployment, and for a stop with a start. `slowMs`: from then on a target is slow, so that a run which
 * takes seconds would take minutes. `driven`: what control takes its time for; the target itself may be quick, so that
 * nothing but `--max-time` bounds it.
 */
const MEASURES = {
  answer: { slowMs: 150, driven: false, noun: 'answer' },
  event: { slowMs: 150, driven: false, noun: 'event' },
  publish: { slowMs: 150, driven: true, noun: 'event' },
  deployment: { slowMs: 1500, driven: true, noun: 'deployment' },
  restart: { slowMs: 5000, driven: true, noun: 'restart' },
} as const;
export type Measure = keyof typeof MEASURES;

/** Of each measure the last few: one that was held up says nothing about the target. */
const KEPT_MEASUREMENTS = 5;
/** An agent that syncs once a second publishes at once after a pause, and makes every other event wait. */
const KEPT_PUBLISHED = 20;
const WAITED_MS = 500;
/** From so many events at once on, their average is what the target keeps up, whatever a single event waited. */
export const TELLING_BATCH = 10;
/** The share of `--max-time` that a target gets which is slow itself; then what needs more of its events is blocked. */
const SHARE_OF_SLOW = 1 / 4;
/** Milliseconds of which it is a share where the run has no limit. */
const UNLIMITED_RUN_MS = 600_000;
/** All checks together take less than this on a target that is quick: what is left gets by with less. */
const LATE_RUN_MS = 80_000;
/** What takes less is never refused. */
const SMALL_EFFORT_MS = 200;

/** Milliseconds of a run in which smaller counterexamples are looked for. */
const SHRINK_MS = 8000;

interface Measured {
  ms: number;
  count: number;
}

export class Session {
  readonly waits: Readonly<Record<'device' | 'platform' | 'effect', Waits>>;
  /** What readers allow for, with the requirement that reports it: its own checks go on looking at that. */
  readonly deviations = new Map<Deviation, string>();
  /**
   * Milliseconds in which the run may still look for smaller counterexamples: those of the first findings tell most,
   * and a target with many takes not much longer than a right one.
   */
  shrinkMs: number;
  /** What the target declares of itself, as far as it was seen. */
  readonly declarations: Declarations;
  /** What rules make of the run. */
  readonly history: History;
  /** The target keeps few events, or serves few streams: checks that publish go one at a time. */
  isSmall = false;
  readonly #facts = new Map<unknown, unknown>();
  readonly #gates: Map<string, Gate>;
  readonly #quiet = new Set<Promise<void>>();
  readonly #measured: Map<Measure, Measured[]>;
  readonly #now: () => number;
  readonly #startedAt: number;
  readonly #shrinkMs: number;

  /** `before`: how long things take is known from there already. */
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

  /**
   * For checks that are run again: the time that things take is known, and nothing that checks have found out, so that
   * they look anew.
   */
  again(): Session {
    return new Session(this.#now, this, this.#shrinkMs);
  }

  /** The target stood still, so that waits were in vain. */
  forgive(): void {
    for (const waits of Object.values(this.waits)) waits.forgive();
  }

  /** What checks of this target have found out so far. */
  get<T>(fact: Fact<T>): T {
    if (!this.#facts.has(fact)) this.#facts.set(fact, fact.initial());
    return this.#facts.get(fact) as T;
  }

  set<T>(fact: Fact<T>, value: T): void {
    this.#facts.set(fact, value);
  }

  /** `ms` is the time of each where `count` of them came at once. */
  took(what: Measure, ms: number, count = 1): void {
    const recent = this.#recent(what);
    recent.push({ ms, count });
    if (recent.length > (what === 'publish' ? KEPT_PUBLISHED : KEPT_MEASUREMENTS)) recent.shift();
    this.#measured.set(what, recent);
  }

  /**
   * Milliseconds of one: the least of the last few, since only a target that is slow is slow every time; 0 when it is
   * not known yet. One published event may have to wait for the target's next turn: then it is what each of the last
   * batch took or, without one, what two events waited at least.
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

  /** Whether a batch of events has told lately how long each takes, which single events may have hidden. */
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
   * Whether this mostly takes long, even if it was quick now and then: an agent that syncs once a second publishes one
   * event at once, and the next a second later.
   */
  isMostlySlow(what: Measure): boolean {
    const recent = this.#recent(what)
      .map(({ ms }) => ms)
      .toSorted((one, other) => one - other);
    return (recent[Math.floor(recent.length / 2)] ?? 0) >= MEASURES[what].slowMs;
  }

  /** Whether checks that publish go together: where it takes long, an event serves all that wait for one. */
  readonly publishesTogether = (): boolean => !this.isSmall && this.isMostlySlow('publish');

  /** `count` where the target is quick; as many rounds as show something where it is slow. */
  rounds(count: number): number {
    return this.isSlow() ? 1 : count;
  }

  /** Why so much of something cannot be had in the time that is left; undefined when it can. */
  whyTooMuch(what: Measure, count: number, remainingMs: number): string | undefined {
    // A few events are tried where any of the last was quick: what is refused is never measured again.
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

  /** Requests that pause together have the gate of one name. */
  gate(name = ''): Gate {
    const gate = this.#gates.get(name) ?? new Gate();
    this.#gates.set(name, gate);
    return gate;
  }

  /**
   * Idle streams are watched until then: no check that drives should begin. Without it, one that drives slowly always
   * would.
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

/** No specification shows a rate limit: a target that throttles for longer than this refuses the request. */
const LONGEST_THROTTLING_MS = 60_000;
/** No pause is shorter, whatever a target names. */
export const SHORTEST_PAUSE_MS = 50;

export interface Throttling<A> {
  /** Default: one for this request alone. */
  gate?: Gate;
  signal: AbortSignal;
  isThrottled(answer: A): boolean;
  /** Milliseconds before the next attempt; undefined when another one is of no use. */
  pauseMs(answer: A, attempt: number): number | undefined;
  /** Gets every answer but the last. */
  discard?(answer: A): Promise<void>;
}

/**
 * Sends a request until its answer does not throttle, for at most a minute. Gives the last answer, which may be a
 * throttling one.
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
