import { setTimeout as sleep } from 'node:timers/promises';
import { madeOnce } from '../common/lenient.ts';
import { type RetryHeaders, retryAfterMs } from '../common/units.ts';
import { backoffMs } from '../common/waiting.ts';
import { Declarations } from './declarations.ts';
import { History } from './rules.ts';
import { WAIT_POLICIES, Waits } from './waits.ts';

export class Fact<T> {
  readonly initial: () => T;
  constructor(initial: () => T) {
    this.initial = initial;
  }
}

/** Reported deviation of a target, which later checks tolerate, so that each bug is reported once. */
export interface Deviation {
  name: string;
  /** Sentence about the tolerance, e.g. `the content type of a stream is not looked at`. */
  allowance: string;
}

/**
 * Durations that a run measures. `slowMs`: milliseconds from which the target counts as slow. `driven`: the duration
 * depends on the control API; such work may take all of `--max-time`, even on a slow target.
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
/** Milliseconds; an event that takes this long to publish has waited for the target's next sync. */
const WAITED_MS = 500;
/** Smallest batch, in events, whose average duration per event counts as the target's speed. */
export const TELLING_BATCH = 10;
const UNLIMITED_RUN_MS = 600_000;

const SHRINK_MS = 8000;

export class Session {
  readonly waits: Readonly<Record<'device' | 'platform' | 'effect', Waits>>;
  readonly deviations = new Map<Deviation, string>();
  /** Milliseconds left for shrinking, shared by all findings. */
  shrinkMs: number;
  readonly declarations: Declarations;
  readonly history: History;
  /** True if the target keeps few events or serves few streams; publishing checks then run one at a time. */
  isSmall = false;
  others: Promise<unknown> = Promise.resolve();
  silentAfterMs = 0;
  /** Id of the requirement whose finding a retry looks for. */
  sought: string | undefined;
  readonly #facts = new Map<unknown, unknown>();
  readonly #gates: Map<string, Gate>;
  readonly #quiet = new Set<Promise<void>>();
  readonly #measured: Map<Measure, { ms: number; count: number }[]>;
  readonly #now: () => number;
  readonly #startedAt: number;
  readonly #shrinkMs: number;

  constructor(now = () => performance.now(), before?: Session, shrinkMs = SHRINK_MS, history = new History([])) {
    const { device, platform, effect } = WAIT_POLICIES;
    const policies = { device: new Waits(device), platform: new Waits(platform), effect: new Waits(effect) };
    this.waits = before?.waits ?? policies;
    this.declarations = before?.declarations ?? new Declarations();
    this.history = before?.history ?? history;
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
    // Keeps more measurements of `publish`, because agents that sync once a second publish at varying speed.
    if (recent.length > (what === 'publish' ? 20 : KEPT_MEASUREMENTS)) recent.shift();
    this.#measured.set(what, recent);
  }

  /**
   * Shortest of the recent durations, in milliseconds; 0 if none is known.
   * For `publish`, the average of the last batch, because a single event may wait for the target's next sync; without a
   * batch, the second longest duration if it shows such a wait.
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

  get sinceStartMs(): number {
    return this.#now() - this.#startedAt;
  }

  isSlow(...measures: readonly Measure[]): boolean {
    // A run of over 80 s counts as slow, so that its remaining checks do less work.
    if (measures.length === 0 && this.sinceStartMs > 80_000) return true;
    const asked = measures.length === 0 ? (Object.keys(MEASURES) as Measure[]) : measures;
    return asked.some((what) => this.typicalMs(what) >= MEASURES[what].slowMs);
  }

  /** True if the median event is delayed; a median, because an agent that syncs once a second has fast events too. */
  get publishesSlowly(): boolean {
    const recent = this.#recent('publish').toSorted((one, other) => one.ms - other.ms);
    return (recent[Math.floor(recent.length / 2)]?.ms ?? 0) >= WAITED_MS;
  }

  readonly publishesTogether = (): boolean => !this.isSmall && this.publishesSlowly;

  rounds(count: number): number {
    return this.isSlow() ? 1 : count;
  }

  whyTooMuch(what: Measure, count: number, remainingMs: number): string | undefined {
    const each = what === 'publish' && count <= TELLING_BATCH ? this.#leastMs(what) : this.typicalMs(what);
    const needed = each * count;
    // On a slow target, checks with much work start only in the first quarter of `--max-time`.
    const share = 0.25 * (Number.isFinite(remainingMs) ? remainingMs + this.sinceStartMs : UNLIMITED_RUN_MS);
    const { driven, noun } = MEASURES[what];
    const slowMs = this.isSlow(what) && !driven ? share - this.sinceStartMs : Number.POSITIVE_INFINITY;
    const left = Math.max(0, Math.min(remainingMs, slowMs));
    // Work of less than 200 ms starts even without time left.
    if (needed < 200 || needed <= left) return undefined;
    const slowShare = `the ${seconds(share)} that a slow target gets, a quarter of --max-time,`;
    const amount = `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
    const time = `${seconds(left)} of ${slowMs < remainingMs ? slowShare : '--max-time'} are left`;
    return `not decided: ${amount} at ${seconds(each)} each take ${seconds(needed)}, and ${time}`;
  }

  gate(name = ''): Gate {
    return madeOnce(this.#gates, name, () => new Gate());
  }

  askForQuiet(until: Promise<void>): void {
    this.#quiet.add(until);
    void until.finally(() => this.#quiet.delete(until));
  }

  async quiet(): Promise<void> {
    while (this.#quiet.size > 0) await Promise.all(this.#quiet);
  }

  #recent(what: Measure) {
    return this.#measured.get(what) ?? [];
  }

  #leastMs(what: Measure): number {
    const recent = this.#recent(what).slice(-KEPT_MEASUREMENTS);
    return recent.length === 0 ? 0 : Math.min(...recent.map(({ ms }) => ms));
  }

  #lastBatch() {
    return this.#recent('publish').findLast(({ count }) => count >= TELLING_BATCH);
  }
}

const seconds = (ms: number): string =>
  ms > 0 && ms < 100 ? `${Math.ceil(ms)} ms` : `${ms < 10_000 ? Math.round(ms / 100) / 10 : Math.round(ms / 1000)} s`;

export class Gate {
  /** True after a minute of refusals, e.g. by a quota that lasts for hours, until a request passes. */
  isUsedUp = false;
  #opensAt = 0;

  close(ms: number): void {
    this.#opensAt = Math.max(this.#opensAt, performance.now() + ms);
  }

  async pass(signal?: AbortSignal): Promise<void> {
    for (let left = this.#opensAt - performance.now(); left > 0; left = this.#opensAt - performance.now())
      await sleep(Math.ceil(left), undefined, { signal });
  }
}

export const SHORTEST_PAUSE_MS = 50;

export interface Throttling<A> {
  gate?: Gate;
  /** Gate whose `isUsedUp` is shared by callers with separate `gate`s. Default: `gate`. */
  quota?: Gate;
  signal: AbortSignal | undefined;
  isThrottled(answer: A): boolean;
  /** Milliseconds before the next attempt; undefined if a retry cannot help. */
  pauseMs(answer: A, attempt: number): number | undefined;
  discard?(answer: A): Promise<void>;
}

interface Throttled {
  readonly status: number;
  readonly headers: RetryHeaders;
}

/**
 * Milliseconds before the next attempt; undefined for 503 without `Retry-After`, which may have another cause than the
 * rate of requests.
 */
export function throttledPauseMs({ status, headers }: Throttled, attempt: number, longestMs: number) {
  const ownMs = backoffMs({ firstMs: SHORTEST_PAUSE_MS, longestMs: 2000 }, attempt);
  const pauseMs = retryAfterMs(headers) ?? (status === 429 ? ownMs : undefined);
  return pauseMs === undefined ? undefined : Math.min(Math.max(pauseMs, SHORTEST_PAUSE_MS), longestMs);
}

/** Returns a function that waits after a throttled answer and resolves with true for a retry; gives up after 60 s. */
export function throttled<A>(throttling: Throttling<A>): (answer: A) => Promise<boolean> {
  const { gate = new Gate(), quota = gate, signal, isThrottled, pauseMs, discard } = throttling;
  const deadline = performance.now() + 60_000;
  let attempt = 0;
  return async (answer) => {
    const isRefused = isThrottled(answer);
    const isLast = !isRefused || performance.now() >= deadline;
    if (isLast) quota.isUsedUp = isRefused;
    const pause = isLast ? undefined : pauseMs(answer, attempt++);
    if (pause === undefined) return false;
    await discard?.(answer);
    gate.close(pause);
    await gate.pass(signal);
    return true;
  };
}
