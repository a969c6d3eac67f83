import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { activityFilter, expansions, paging } from './index.ts';

describe('paging', () => {
  it.each([
    [undefined, undefined, { limit: 10, offset: 0 }],
    ['25', '50', { limit: 25, offset: 50 }],
    ['0', '-1', { limit: 1, offset: 0 }],
    ['-7', '', { limit: 1, offset: 0 }],
    ['101', '9', { limit: 100, offset: 9 }],
    ['9'.repeat(400), '9'.repeat(400), { limit: 100, offset: Number.MAX_SAFE_INTEGER }],
    ['abc', '1e3', { limit: 10, offset: 0 }],
    ['5.9', '0x10', { limit: 10, offset: 0 }],
  ])('of limit=%s and offset=%s', (limit, offset, expected) => {
    expect(paging({ limit, offset })).toEqual(expected);
  });

  it('stays in range for any text and any number of values', () => {
    const given = fc.option(fc.oneof(fc.string(), fc.array(fc.string())), { nil: undefined });
    fc.assert(
      fc.property(given, given, (limit, offset) => {
        const page = paging({ limit, offset });
        expect(page.limit).toBeGreaterThanOrEqual(1);
        expect(page.limit).toBeLessThanOrEqual(100);
        expect(Number.isSafeInteger(page.offset) && page.offset >= 0).toBe(true);
      }),
    );
  });
});

describe('filters and expansions', () => {
  it('accept several values, separated or repeated', () => {
    expect(activityFilter({ activity_status: 'queued|deployed' })).toEqual(['queued', 'deployed']);
    expect(activityFilter({ activity_status: ['queued', 'archived'] })).toEqual(['queued', 'archived']);
    expect(activityFilter({})).toEqual([]);
    expect(expansions({ expand: ['release.git_commit', 'config_instances'], 'expand[]': 'release' })).toEqual([
      'release.git_commit',
      'config_instances',
      'release',
    ]);
  });

  it('refuse an unknown value, and name the accepted ones', () => {
    expect(() => activityFilter({ activity_status: 'queued|lost' })).toThrow(
      expect.objectContaining({ status: 400, params: expect.objectContaining({ activity_status: 'lost' }) }),
    );
    expect(() => expansions({ expand: 'total_count' })).toThrow(expect.objectContaining({ status: 400 }));
    expect(expansions({ expand: 'total_count' }, ['total_count'])).toEqual(['total_count']);
  });
});
