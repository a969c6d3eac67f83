/** Remembers the `jti` of accepted device JWTs for as long as they could be sent again, in bounded memory. */
import type { Clock } from '../../common/clock.ts';

export type Admission = 'new' | 'replayed' | 'full';

export interface ReplayGuard {
  /** Records `id`. False when it was recorded within the lifetime, or when the guard is full: it refuses rather than forgets. */
  admit(id: string): Admission;
}

/**
 * Two generations: what was admitted in the last `lifetimeMs` is in one of them, and turning a generation over is one
 * assignment, so that no entry needs a timer or a sweep.
 */
export function replayGuard(options: { clock: Clock; lifetimeMs: number; capacity?: number }): ReplayGuard {
  const { clock, lifetimeMs, capacity = 100_000 } = options;
  let current = new Set<string>();
  let previous = new Set<string>();
  let turnedAt = clock.now();
  const turn = () => {
    const age = clock.now() - turnedAt;
    if (age < lifetimeMs) return;
    previous = age < 2 * lifetimeMs ? current : new Set();
    current = new Set();
    turnedAt = clock.now();
  };
  return {
    admit: (id) => {
      turn();
      if (current.has(id) || previous.has(id)) return 'replayed';
      if (current.size >= capacity) return 'full';
      current.add(id);
      return 'new';
    },
  };
}
