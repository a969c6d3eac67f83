/** Wait times of checks, by how quickly the target has answered so far. */
import { madeOnce } from '../common/lenient.ts';

export interface WaitPolicy {
  /** Factor on the slowest success so far, for the wait after a timeout. */
  timesSlowest: number;
  /** Uses the slowest success of all kinds of waits, not of the same kind. */
  ofAnyKind?: boolean;
  /** Shortest wait after a timeout, in milliseconds. `isKnown`: enough successes have shown the target's speed. */
  shortestMs(patienceMs: number, isKnown: boolean): number;
  forgives?: boolean;
  adapts?: boolean;
  /** Kinds of varying duration, whose fast successes do not shorten the next wait. */
  varying?: readonly string[];
  /** Kinds of similar duration, which are measured together. */
  alike?: readonly string[] | 'all';
  shares?: Readonly<Record<string, number>>;
}

const SHORTEST_WAIT_MS = 1000;
const KNOWN_AFTER = 5;
/** Factor on the slowest success, for the shortest wait on a target of known speed. */
const KNOWN_FACTOR = 50;
const KNOWN_SHARES = { usual: 1 / 2, alike: 1 / 8 };
const FACTOR_WHERE_SLOW = 3;

export const WAIT_POLICIES = {
  /** Halves the wait for `files`, because checks wait for the removal of files only once a deployment is inactive. */
  device: {
    timesSlowest: 5,
    shortestMs: (patienceMs, isKnown) => Math.min(isKnown ? SHORTEST_WAIT_MS / 2 : SHORTEST_WAIT_MS, patienceMs / 2),
    adapts: true,
    varying: ['deployed'],
    alike: ['event', 'replay'],
    shares: { files: 0.5 },
  },
  platform: { timesSlowest: 5, ofAnyKind: true, shortestMs: () => SHORTEST_WAIT_MS, forgives: true },
  effect: { timesSlowest: 2, ofAnyKind: true, shortestMs: () => SHORTEST_WAIT_MS, adapts: true, alike: 'all' },
  control: { timesSlowest: 0, shortestMs: () => 6000, forgives: true },
} as const satisfies Record<string, WaitPolicy>;

interface Experience {
  successes: number;
  slowestMs: number;
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
   * Milliseconds to wait: `patienceMs` at first, more on a slow target if the policy adapts, less after a timeout or
   * fast successes of similar waits. Timeouts of `lenient` checks do not shorten the waits of MUST checks.
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

  forgive(): void {
    for (const seen of this.#experiences.values()) Object.assign(seen, { strict: 0, inVain: 0 });
  }

  inVain(kind: string): number {
    return this.#experiences.get(kind)?.inVain ?? 0;
  }

  slowestMs(kind: string): number {
    return this.#experiences.get(kind)?.slowestMs ?? 0;
  }

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
    const isTold = alike === 'all' && all.strict > 0 && all.successes > 0;
    return all.successes >= KNOWN_AFTER || isTold ? all : undefined;
  }

  #of(kind: string): Experience {
    return madeOnce(this.#experiences, kind, () => ({ ...UNKNOWN }));
  }
}
