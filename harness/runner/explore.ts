import { runningMs } from '../common/waiting.ts';
import { instantOf, isIso8601 } from '../contract/shape.ts';
import { TooLittleSeen } from './violation.ts';

/** Remembers the target's answers where the specification allows several, and detects later contradictions. */
export class Adoptions<Seen> {
  readonly #known = new Map<string, { answer: string; seen: Seen }>();

  take(asked: string, answer: string, seen: Seen): { answer: string; seen: Seen } | undefined {
    const before = this.#known.get(asked);
    if (before === undefined) this.#known.set(asked, { answer, seen });
    return before === undefined || before.answer === answer ? undefined : before;
  }

  has(asked: string, answer: string): boolean {
    return this.#known.get(asked)?.answer === answer;
  }

  /** Replaces a reported answer, so that the same finding is not reported again. */
  replace(asked: string, answer: string, seen: Seen): void {
    this.#known.set(asked, { answer, seen });
  }
}

interface Bounds {
  ms: number;
  requests: number;
  /** Minimum number of requests, which may be sent even after `ms`, but not after `lateMs`. */
  least: number;
  lateMs: number;
}

/** Bounds of an exploration; the time for which this process stood still does not count. */
export class Budget {
  readonly #bounds: Readonly<Bounds>;
  readonly #now: () => number;
  readonly #began: number;
  requests = 0;
  isClosed = false;

  constructor(bounds: Bounds, now = runningMs) {
    this.#bounds = bounds;
    this.#now = now;
    this.#began = now();
  }

  get isOver(): boolean {
    const { ms, requests, least } = this.#bounds;
    return this.requests >= requests || (this.requests >= least && this.#spentMs >= ms) || this.isLate;
  }

  get isLate(): boolean {
    return this.#spentMs >= this.#bounds.lateMs;
  }

  get isOverdue(): boolean {
    return !this.isClosed && this.#spentMs >= 3 * this.#bounds.lateMs;
  }

  get #spentMs(): number {
    return this.#now() - this.#began;
  }
}

/** Each check continues where the previous check stopped. */
export class SharedExploration {
  readonly #steps: AsyncGenerator<void, void>;
  #isOver = false;
  #failure: { error: unknown } | undefined;

  constructor(steps: AsyncGenerator<void, void>) {
    this.#steps = steps;
  }

  async until(isEnough: () => boolean | Promise<boolean>, signal: AbortSignal): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.error;
    try {
      while (!(await isEnough()) && !this.#isOver) this.#isOver = (await this.#steps.next()).done === true;
    } catch (error) {
      const cutOff = 'the exploration ended with the time of another check';
      this.#failure = { error: signal.aborted ? new TooLittleSeen(cutOff) : error };
      throw error;
    }
  }
}

/** Compares times with a tolerance of 1 s, texts in Unicode normal form, arrays in any order, and the rest exactly. */
export function isSame(one: unknown, other: unknown): boolean {
  if (typeof one === 'string' && typeof other === 'string') {
    if (one === other) return true;
    if (isIso8601(one) && isIso8601(other)) return Math.abs(instantOf(one) - instantOf(other)) < 1000;
    return one.normalize() === other.normalize();
  }
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one === other;
  const [left, right] = [one, other].map((value) => Object.entries(value)) as [
    [string, unknown][],
    [string, unknown][],
  ];
  const isAny = Array.isArray(one);
  const isIn = ([name, value]: [string, unknown]): boolean => {
    const at = right.findIndex(([key, candidate]) => (isAny || key === name) && isSame(value, candidate));
    return at >= 0 && right.splice(at, 1).length > 0;
  };
  return isAny === Array.isArray(other) && left.every(isIn) && right.length === 0;
}

/** Ignores extra members of objects in `value`, and the order of arrays. */
export function containsValue(written: unknown, value: unknown): boolean {
  if (typeof written !== 'object' || typeof value !== 'object' || written === null || value === null)
    return isSame(written, value);
  if (Array.isArray(written)) {
    if (!Array.isArray(value) || value.length !== written.length) return false;
    return written.every((each, at) => containsValue(each, value[at]) || value.some((one) => containsValue(each, one)));
  }
  const given = value as Readonly<Record<string, unknown>>;
  return Object.entries(written).every(([name, each]) => containsValue(each, given[name]));
}

export class Draw {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** Number in [0, 1), from the generator mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  one<T>(items: readonly [T, ...T[]]): T;
  one<T>(items: readonly T[]): T | undefined;
  one<T>(items: readonly T[]): T | undefined {
    return items[this.below(items.length)];
  }

  some<T>(items: readonly T[], count: number): T[] {
    return this.shuffled(items).slice(0, count);
  }

  shuffled<T>(items: readonly T[]): T[] {
    const left = [...items];
    return items.map(() => left.splice(this.below(left.length), 1)[0] as T);
  }
}

export type Cell = Readonly<Record<string, string>>;

export class Cells {
  readonly #cells = new Map<string, number>();
  readonly #pairs = new Set<string>();

  visit(cell: Cell): void {
    const name = nameOf(cell);
    this.#cells.set(name, (this.#cells.get(name) ?? 0) + 1);
    for (const pair of pairsOf(cell)) this.#pairs.add(pair);
  }

  /** Candidate with the most untried pairs of values; among equals, the least tried combination. */
  rarest<T>(draw: Draw, candidates: readonly [T, ...T[]], cellOf: (candidate: T) => Cell): T {
    const rated = candidates.map((candidate) => {
      const cell = cellOf(candidate);
      const fresh = pairsOf(cell).filter((pair) => !this.#pairs.has(pair)).length;
      const seen = this.#cells.get(nameOf(cell)) ?? 0;
      return { candidate, rate: fresh + 1 / (1 + seen) + draw.next() / 1000 };
    });
    return rated.reduce((best, one) => (one.rate > best.rate ? one : best)).candidate;
  }
}

const valuesOf = (cell: Cell): string[] =>
  Object.entries(cell)
    .map(([dimension, value]) => `${dimension}=${value}`)
    .sort();

const nameOf = (cell: Cell): string => valuesOf(cell).join(' ');

function pairsOf(cell: Cell): string[] {
  const values = valuesOf(cell);
  return values.flatMap((one, place) => values.slice(place + 1).map((other) => `${one} ${other}`));
}
