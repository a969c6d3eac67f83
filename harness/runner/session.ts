/** Keeps what a run learns about its target: durations, throttling, and facts that checks share. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Declarations } from './declarations.ts';
import { History } from './rules.ts';
import { WAIT_POLICIES, Waits } from './waits.ts';

export class Fact<T> {
  readonly initial: () => T;
  constructor(initial: () => T) {
    this.initial = initial;
  }
}

/** Deviation that checks tolerate once reported, so that a single finding does not hide the rest. */
export interface Deviation {
  /** E.g. `cursor-repeated`. */
  name: string;
  /** Behaviour of tolerant readers, as a sentence in the present tense. */
  allowance: string;
}

/**
 * Kinds of durations. `slowMs`: milliseconds from which a target counts as slow, because a run takes minutes then.
 * `driven`: limited by `--max-time` alone, because a slow control says nothing about the target.
 */
const MEASURES = {
  answer: { slowMs: 150, driven: false, noun: 'answer' },
  event: { slowMs: 150, driven: false, noun: 'event' },
  publish: { slowMs: 150, driven: true, noun: 'event' },
  deployment: { slowMs: 1500, driven: true, noun: 'deployment' },
  restart: { slowMs: 5000, driven: true, noun: 'restart' },
} as const;
export type Measure = keyof typeof MEASURES;

const KEPT_MEASUREMENTS = 5;
/** An agent that syncs once a second publishes some events at once and some late, so more durations are kept. */
const KEPT_PUBLISHED = 20;
/** Milliseconds from which a single event counts as slow; a busy machine alone delays an event by 150 ms. */
const WAITED_MS = 500;
/** Minimum number of events in a batch whose average duration shows the target's rate. */
export const TELLING_BATCH = 10;
/** Share of `--max-time` that a slow target gets; checks that need more are blocked. */
const SHARE_OF_SLOW = 1 / 4;
/** Milliseconds assumed for a run without a limit. */
const UNLIMITED_RUN_MS = 600_000;
/** Milliseconds in which a quick target finishes all checks; later checks do less. */
const LATE_RUN_MS = 80_000;
/** Milliseconds of an effort that is allowed however little time is left. */
const SMALL_EFFORT_MS = 200;

const SHRINK_MS = 8000;

interface Measured {
  ms: number;
  count: number;
}

export class Session {
  readonly waits: Readonly<Record<'device' | 'platform' | 'effect', Waits>>;
  readonly deviations = new Map<Deviation, string>();
  /** Milliseconds left for shrinking; the first findings get most, so that a broken target takes little longer. */
  shrinkMs: number;
  readonly declarations: Declarations;
  readonly history: History;
  /** True if the target keeps few events or serves few streams, so that publishing checks run one at a time. */
  isSmall = false;
  others: Promise<unknown> = Promise.resolve();
  silentAfterMs = 0;
  readonly #facts = new Map<unknown, unknown>();
  readonly #gates: Map<string, Gate>;
  readonly #quiet = new Set<Promise<void>>();
  readonly #measured: Map<Measure, Measured[]>;
  readonly #now: () => number;
  readonly #startedAt: number;
  readonly #shrinkMs: number;

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

  forRetry(): Session {
    return new Session(this.#now, this, this.#shrinkMs);
  }

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

  took(what: Measure, ms: number, count = 1): void {
    const recent = this.#recent(what);
    recent.push({ ms, count });
    if (recent.length > (what === 'publish' ? KEPT_PUBLISHED : KEPT_MEASUREMENTS)) recent.shift();
    this.#measured.set(what, recent);
  }

  /**
   * Least milliseconds of the last few, because only a slow target is always slow; 0 if unknown.
   * Publishing takes the average of the last batch, because a single event may wait for the target's next sync.
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

  get knowsBatches(): boolean {
    return this.#lastBatch() !== undefined;
  }

  /** Without `measures`, true if any measure is slow or the run is late. */
  isSlow(...measures: readonly Measure[]): boolean {
    if (measures.length === 0 && this.#now() - this.#startedAt > LATE_RUN_MS) return true;
    const asked = measures.length === 0 ? (Object.keys(MEASURES) as Measure[]) : measures;
    return asked.some((what) => this.typicalMs(what) >= MEASURES[what].slowMs);
  }

  /** Takes the median, because an agent that syncs once a second publishes some events at once. */
  get publishesSlowly(): boolean {
    const recent = this.#recent('publish')
      .map(({ ms }) => ms)
      .toSorted((one, other) => one - other);
    return (recent[Math.floor(recent.length / 2)] ?? 0) >= WAITED_MS;
  }

  /** On a slow target, publishing checks run in parallel, so that all wait for the same events. */
  readonly publishesTogether = (): boolean => !this.isSmall && this.publishesSlowly;

  rounds(count: number): number {
    return this.isSlow() ? 1 : count;
  }

  /** Reason why too little time is left for `count` events or drives; undefined if the time suffices. */
  whyTooMuch(what: Measure, count: number, remainingMs: number): string | undefined {
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

  gate(name = ''): Gate {
    const gate = this.#gates.get(name) ?? new Gate();
    this.#gates.set(name, gate);
    return gate;
  }

  askForQuiet(until: Promise<void>): void {
    this.#quiet.add(until);
    void until.finally(() => this.#quiet.delete(until));
  }

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

export class Gate {
  #opensAt = 0;

  close(ms: number): void {
    this.#opensAt = Math.max(this.#opensAt, performance.now() + ms);
  }

  async pass(signal: AbortSignal): Promise<void> {
    for (let left = this.#opensAt - performance.now(); left > 0; left = this.#opensAt - performance.now())
      await sleep(Math.ceil(left), undefined, { signal });
  }
}

/** Maximum milliseconds of throttling that Muster accepts; the specification has no rate limit. */
const LONGEST_THROTTLING_MS = 60_000;
export const SHORTEST_PAUSE_MS = 50;

export interface Throttling<A> {
  gate?: Gate;
  signal: AbortSignal;
  isThrottled(answer: A): boolean;
  /** Milliseconds before the next attempt; undefined if a retry cannot help. */
  pauseMs(answer: A, attempt: number): number | undefined;
  discard?(answer: A): Promise<void>;
}

/** Repeats a throttled request for 60 s at most, so even the last answer may be throttled. */
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
