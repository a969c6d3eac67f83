/** Knowledge of one target in a run, as `t.session`: durations, budget, throttling, and facts that checks share. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Declarations } from './declarations.ts';
import { History } from './rules.ts';
import { WAIT_POLICIES, Waits } from './waits.ts';

/** Key of a fact that checks share about their target, with its initial value. */
export class Fact<T> {
  readonly initial: () => T;
  constructor(initial: () => T) {
    this.initial = initial;
  }
}

/**
 * Deviation from the specification that readers can tolerate. Once its check has failed, readers allow for it, so that
 * one finding hides no other.
 */
export interface Deviation {
  /** E.g. `cursor-repeated`. */
  name: string;
  /** Behaviour of readers after that, as a sentence in the present tense. */
  allowance: string;
}

/**
 * Measured durations. `event`: from a batch to a subscriber. `publish`, `deployment`, `restart`: until control's
 * answer. `slowMs`: duration that makes a run of seconds take minutes. `driven`: bounded by `--max-time` alone, since
 * control may be slow and the target quick.
 */
const MEASURES = {
  answer: { slowMs: 150, driven: false, noun: 'answer' },
  event: { slowMs: 150, driven: false, noun: 'event' },
  publish: { slowMs: 150, driven: true, noun: 'event' },
  deployment: { slowMs: 1500, driven: true, noun: 'deployment' },
  restart: { slowMs: 5000, driven: true, noun: 'restart' },
} as const;
export type Measure = keyof typeof MEASURES;

/** Measurements kept of each kind: a single slow one tells nothing. */
const KEPT_MEASUREMENTS = 5;
/**
 * Measurements kept of publishing: an agent that syncs once a second publishes at once after a pause, and every other
 * event late.
 */
const KEPT_PUBLISHED = 20;
const WAITED_MS = 500;
/** Events in a batch whose average is the target's sustained rate, whatever a single event waited. */
export const TELLING_BATCH = 10;
/** Share of `--max-time` for a slow target; checks that need more events are blocked. */
const SHARE_OF_SLOW = 1 / 4;
/** Milliseconds assumed for a run without a limit. */
const UNLIMITED_RUN_MS = 600_000;
/** Milliseconds in which a quick target has all checks done; later checks do less. */
const LATE_RUN_MS = 80_000;
/** Milliseconds of effort never refused. */
const SMALL_EFFORT_MS = 200;

/** Milliseconds of a run for shrinking. */
const SHRINK_MS = 8000;

interface Measured {
  ms: number;
  count: number;
}

export class Session {
  readonly waits: Readonly<Record<'device' | 'platform' | 'effect', Waits>>;
  /** Tolerated deviations, each with the requirement that reports it, and so never tolerates it. */
  readonly deviations = new Map<Deviation, string>();
  /** Milliseconds left to shrink: the first findings get most, so that a broken target takes little longer. */
  shrinkMs: number;
  readonly declarations: Declarations;
  readonly history: History;
  /** True if the target keeps few events or serves few streams, so that publishing checks run one at a time. */
  isSmall = false;
  /** Settles once the checks beside the slow ones have ended; at once in a retry, which runs alone. */
  others: Promise<unknown> = Promise.resolve();
  /** Milliseconds after which an open stream fell silent: a retry watches as long. */
  silentAfterMs = 0;
  readonly #facts = new Map<unknown, unknown>();
  readonly #gates: Map<string, Gate>;
  readonly #quiet = new Set<Promise<void>>();
  readonly #measured: Map<Measure, Measured[]>;
  readonly #now: () => number;
  readonly #startedAt: number;
  readonly #shrinkMs: number;

  /** `before`: session with known durations. */
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

  /** Session for a retry: keeps durations and drops facts, so that checks look anew. */
  forRetry(): Session {
    return new Session(this.#now, this, this.#shrinkMs);
  }

  /** Forgets timeouts after the target stood still. */
  forgive(): void {
    for (const waits of Object.values(this.waits)) waits.forgive();
  }

  get<T>(fact: Fact<T>): T {
    if (!this.#facts.has(fact)) this.#facts.set(fact, fact.initial());
    return this.#facts.get(fact) as T;
  }

  set<T>(fact: Fact<T>, value: T): void {
    this.#facts.set(fact, value);
  }

  /** Records a duration: the average if `count` came at once. */
  took(what: Measure, ms: number, count = 1): void {
    const recent = this.#recent(what);
    recent.push({ ms, count });
    if (recent.length > (what === 'publish' ? KEPT_PUBLISHED : KEPT_MEASUREMENTS)) recent.shift();
    this.#measured.set(what, recent);
  }

  /**
   * Typical milliseconds: the least of the last few, since a slow target is always slow; 0 if unknown. A published
   * event may wait for the target's next turn, so publishing has the average of the last batch, or the least of two
   * events.
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

  /** True if a recent batch showed the duration that single events may hide. */
  get knowsBatches(): boolean {
    return this.#lastBatch() !== undefined;
  }

  /** True if the target is slow in one of `measures`; without any, also if the run is late. */
  isSlow(...measures: readonly Measure[]): boolean {
    if (measures.length === 0 && this.#now() - this.#startedAt > LATE_RUN_MS) return true;
    const asked = measures.length === 0 ? (Object.keys(MEASURES) as Measure[]) : measures;
    return asked.some((what) => this.typicalMs(what) >= MEASURES[what].slowMs);
  }

  /**
   * True if the measure is mostly slow, even if sometimes quick: an agent that syncs once a second publishes every
   * other event late.
   */
  isMostlySlow(what: Measure): boolean {
    const recent = this.#recent(what)
      .map(({ ms }) => ms)
      .toSorted((one, other) => one - other);
    return (recent[Math.floor(recent.length / 2)] ?? 0) >= MEASURES[what].slowMs;
  }

  /** Publishing checks run at once on a slow target, where one event serves all that wait. */
  readonly publishesTogether = (): boolean => !this.isSmall && this.isMostlySlow('publish');

  /** `count` rounds on a quick target; on a slow target as few as show something. */
  rounds(count: number): number {
    return this.isSlow() ? 1 : count;
  }

  /** Reason why the time left is too short for `count`; undefined if it suffices. */
  whyTooMuch(what: Measure, count: number, remainingMs: number): string | undefined {
    // Tries a few events if any recent one was quick: a refused effort is never measured again.
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

  /** Gate for requests that pause together. */
  gate(name = ''): Gate {
    const gate = this.#gates.get(name) ?? new Gate();
    this.#gates.set(name, gate);
    return gate;
  }

  /** Asks driving checks to wait while others watch idle streams: a slow drive would always be under way. */
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

/** Holds requests back as long as the target last asked them to wait. */
export class Gate {
  #opensAt = 0;

  close(ms: number): void {
    this.#opensAt = Math.max(this.#opensAt, performance.now() + ms);
  }

  /** Resolves when no pause is left: another request may have closed the gate meanwhile. */
  async pass(signal: AbortSignal): Promise<void> {
    for (let left = this.#opensAt - performance.now(); left > 0; left = this.#opensAt - performance.now())
      await sleep(Math.ceil(left), undefined, { signal });
  }
}

/** Longest throttling followed; the specification has no rate limit. */
const LONGEST_THROTTLING_MS = 60_000;
export const SHORTEST_PAUSE_MS = 50;

export interface Throttling<A> {
  /** Gate to wait at. Default: a gate of its own. */
  gate?: Gate;
  signal: AbortSignal;
  isThrottled(answer: A): boolean;
  /** Milliseconds before the next attempt; undefined if no attempt helps. */
  pauseMs(answer: A, attempt: number): number | undefined;
  /** Receives every answer but the last. */
  discard?(answer: A): Promise<void>;
}

/** Sends a request until its answer does not throttle, for a minute at most. The last answer may throttle. */
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
