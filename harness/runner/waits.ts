/** Wait times of checks, by how quickly the target has answered so far. */
import { madeOnce } from '../common/lenient.ts';

export interface WaitPolicy {
  /** Takes the slowest success of all kinds of waits as the measure; otherwise, that of the same kind. */
  ofAnyKind?: boolean;
  forgives?: boolean;
  adapts?: boolean;
  /** Kinds of varying duration, whose fast successes do not shorten the next wait. */
  varying?: readonly string[];
  /** Kinds of similar duration, which are measured together. */
  alike?: readonly string[] | 'all';
}

/** Factor on the slowest success; on slow targets, an event took at most 2.4 times the slowest event so far. */
const FACTOR = 5;
/** Milliseconds; the slowest of 29,000 waits for the reference took 540 ms, on 2 cores at a load of 45. */
const SHORTEST_WAIT_MS = 1000;
const KNOWN_AFTER = 5;
/** Factor on a target of known speed, before a timeout; on slow targets, an answer took up to 9 times the slowest. */
const KNOWN_FACTOR = 50;
/**
 * Shares of the patience. Of a patience of 10 s, `usual` gives 5 s, 9 times the slowest wait for the loaded reference;
 * `alike` gives 1.25 s, 5 times its slowest replay.
 */
const KNOWN_SHARES = { usual: 1 / 2, alike: 1 / 8 };

export const WAIT_POLICIES = {
  device: { adapts: true, varying: ['deployed'], alike: ['event', 'replay'] },
  platform: { ofAnyKind: true, forgives: true },
  effect: { ofAnyKind: true, adapts: true, alike: 'all' },
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
    const { ofAnyKind, adapts } = this.#policy;
    const seen = this.#experiences.get(kind) ?? UNKNOWN;
    const enoughMs = FACTOR * (ofAnyKind === true ? this.#slowestMs : seen.slowestMs);
    const mostMs = adapts === true ? Math.max(patienceMs, enoughMs) : patienceMs;
    if (seen.strict > 0 || (lenient && seen.inVain > 0)) return Math.min(mostMs, Math.max(SHORTEST_WAIT_MS, enoughMs));
    const known = this.#known(kind);
    if (known === undefined) return mostMs;
    const [share, factor] = known.strict > 0 ? [KNOWN_SHARES.alike, FACTOR] : [KNOWN_SHARES.usual, KNOWN_FACTOR];
    return Math.min(mostMs, Math.max(share * patienceMs, factor * known.slowestMs));
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
