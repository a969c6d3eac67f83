import { describe, expect, it } from 'vitest';
import { referenceBehaviour } from './reference.ts';

describe('recorded moments', () => {
  const stamp = (facts: { now: string; after: string; reported?: string }) =>
    referenceBehaviour.stamp('deployed', facts);
  const [early, middle, late] = ['2026-01-01T01:00:00.000Z', '2026-01-01T02:00:00.000Z', '2026-01-01T03:00:00.000Z'];

  it('are those that the agent reports when they are possible', () => {
    expect(stamp({ now: late, after: early, reported: middle })).toBe(middle);
    expect(stamp({ now: late, after: early, reported: '2026-01-01T03:00:00+01:00' })).toBe(middle);
    expect(stamp({ now: late, after: early })).toBe(late);
  });

  it('follow one another and are never in the future, even when the clock of the agent is wrong', () => {
    expect(stamp({ now: late, after: middle, reported: early })).toBe(middle);
    expect(stamp({ now: middle, after: early, reported: late })).toBe(middle);
    expect(stamp({ now: early, after: middle })).toBe(middle);
  });
});
