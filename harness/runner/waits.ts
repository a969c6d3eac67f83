/** Milliseconds that a check waits for something, by what the target has shown so far. */

/** Waits for one family of things, by the target's successes. */
export interface WaitPolicy {
  /** Multiple of the slowest success that is waited after a timeout. */
  timesSlowest: number;
  /** Counts successes of other kinds too. */
  ofAnyKind?: boolean;
  /** Shortest wait after a timeout, milliseconds. `isKnown`: the target's speed is known. */
  shortestMs(patienceMs: number, isKnown: boolean): number;
  /** A success restores the full wait of its kind. */
  forgives?: boolean;
  /** Waits grow with a target that slows down, and halve after many much quicker successes. */
  adapts?: boolean;
  /** Kinds of varying duration, whose quick successes shorten no wait. */
  varying?: readonly string[];
  /** Kinds as quick as each other (or all): a success of one tells the speed of the rest. */
  alike?: readonly string[] | 'all';
  /** Share of the patience, by kind. */
  shares?: Readonly<Record<string, number>>;
}

const SHORTEST_WAIT_MS = 1000;
/** Successes that show the target's speed. */
const KNOWN_AFTER = 10;
/** A healthy target that is held up takes no longer than this multiple of its slowest success. */
const KNOWN_FACTOR = 50;
/** Shares of a whole wait if the target's speed is known; `alike`: after timeouts of similar kinds. */
const KNOWN_SHARES = { usual: 1 / 2, alike: 1 / 4 };
/** Multiple of the slowest success on a slowing target. */
const FACTOR_WHERE_SLOW = 3;

export const WAIT_POLICIES = {
  /** Answers, streams, events and states of a device. Its files are waited for after a deployment shows as archived. */
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
  /** Effects on the other side of a system. Many deployments may be archived after one that never is. */
  effect: { timesSlowest: 2, ofAnyKind: true, shortestMs: () => SHORTEST_WAIT_MS, adapts: true, alike: 'all' },
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

export class Waits {
  readonly #policy: WaitPolicy;
  readonly #experiences = new Map<string, Experience>();
  #slowestMs = 0;

  constructor(policy: WaitPolicy) {
    this.#policy = policy;
  }

  /**
   * Milliseconds to wait: all the patience at first; after a timeout, by the slowest success of the kind, and less for
   * similar kinds. A timeout in a `lenient` check, one of a SHOULD, shortens no wait of a MUST.
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

  succeeded(kind: string, ms: number): void {
    const seen = this.#of(kind);
    seen.successes += 1;
    seen.slowestMs = Math.max(seen.slowestMs, Math.ceil(ms));
    this.#slowestMs = Math.max(this.#slowestMs, ms);
    if (this.#policy.forgives !== true) return;
    seen.strict = 0;
    seen.inVain = 0;
  }

  timedOut(kind: string, lenient = false): void {
    const seen = this.#of(kind);
    seen.inVain += 1;
    if (!lenient) seen.strict += 1;
  }

  /** Forgets timeouts that were nobody's fault. */
  forgive(): void {
    for (const seen of this.#experiences.values()) Object.assign(seen, { strict: 0, inVain: 0 });
  }

  /** Timeouts of a kind; if successes forgive, those since the last success. */
  inVain(kind: string): number {
    return this.#experiences.get(kind)?.inVain ?? 0;
  }

  slowestMs(kind: string): number {
    return this.#experiences.get(kind)?.slowestMs ?? 0;
  }

  /** Experience with similar kinds; undefined if too little. */
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
    // One timeout and one success tell the speed that all kinds share.
    const isTold = alike === 'all' && all.strict > 0 && all.successes > 0;
    return all.successes >= KNOWN_AFTER || isTold ? all : undefined;
  }

  #of(kind: string): Experience {
    const seen = this.#experiences.get(kind) ?? { ...UNKNOWN };
    this.#experiences.set(kind, seen);
    return seen;
  }
}
