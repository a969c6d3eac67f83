import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyCharacter } from '../common/testing/text.ts';
import { referenceBehaviour } from './reference.ts';

const { clampLimit, clampOffset } = referenceBehaviour;

describe('clamping (section 8)', () => {
  it.for([
    [[], 10],
    [['1'], 1],
    [['100'], 100],
    [['101'], 100],
    [['0'], 1],
    [['-0'], 1],
    [['-9'], 1],
    [['007'], 7],
    [['9'.repeat(400)], 100],
    [[`-${'9'.repeat(400)}`], 1],
    [['abc'], 10],
    [['5.5'], 10],
    [[' 5'], 10],
    [['+5'], 10],
    [['1e2'], 10],
    [['0x10'], 10],
    [['-9e99'], 10],
    [['٣'], 10],
    [[''], 10],
    [['3', '4'], 3],
  ] as const)('reads limit %j as %i', ([values, limit]) => expect(clampLimit(values)).toBe(limit));

  it.for([
    [[], 0],
    [['7'], 7],
    [['-1'], 0],
    [['-0'], 0],
    [[`-${'9'.repeat(400)}`], 0],
    [['9'.repeat(400)], Number.MAX_SAFE_INTEGER],
    [['9007199254740993'], Number.MAX_SAFE_INTEGER],
    [['abc'], 0],
    [['1.0'], 0],
  ] as const)('reads offset %j as %i', ([values, offset]) => expect(clampOffset(values)).toBe(offset));

  it('stays in range for any text', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: anyCharacter, maxLength: 12 }), { maxLength: 3 }), (values) => {
        const limit = clampLimit(values);
        const offset = clampOffset(values);
        expect(Number.isInteger(limit) && limit >= 1 && limit <= 100).toBe(true);
        expect(Number.isSafeInteger(offset) && offset >= 0 && !Object.is(offset, -0)).toBe(true);
      }),
    );
  });
});

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
