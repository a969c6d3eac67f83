import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { replayGuard } from './replay.ts';

describe('the replay guard', () => {
  it('refuses a used identifier until its lifetime is over, and admits it after that', () => {
    const step = fc.record({ wait: fc.integer({ min: 0, max: 150 }), id: fc.integer({ min: 0, max: 5 }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let now = 0;
        const guard = replayGuard({ clock: { now: () => now }, lifetimeMs: 100 });
        const admittedAt = new Map<number, number>();
        for (const { wait, id } of steps) {
          now += wait;
          const age = now - (admittedAt.get(id) ?? Number.NEGATIVE_INFINITY);
          const admission = guard.admit(String(id));
          if (age < 100) expect(admission).toBe('replayed');
          if (age >= 300) expect(admission).toBe('new');
          if (admission === 'new') admittedAt.set(id, now);
        }
      }),
    );
  });

  it('refuses new identifiers when it is full, and forgets none', () => {
    const guard = replayGuard({ clock: { now: () => 0 }, lifetimeMs: 100, capacity: 2 });
    expect(['a', 'b', 'c', 'a'].map((id) => guard.admit(id))).toEqual(['new', 'new', 'full', 'replayed']);
  });
});
