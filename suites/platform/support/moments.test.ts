/** Which field of a deployment tells when something was. */
import { describe, expect, it } from 'vitest';
import { momentOf } from './moments.ts';

const THEN = '2026-11-21T10:00:00Z';
const LATER = '2027-11-21T10:00:00Z';

describe('the moment at which a deployment was archived', () => {
  it.for([
    ['archived_at, whatever else there is', { archived_by_at: LATER, archived_at: THEN }, THEN],
    ['archived_at even when it is null', { last_archived: LATER, archived_at: null }, null],
    ['any field named after it', { archivedAt: THEN }, THEN],
    ['a field further down', { moments: { archived: THEN } }, THEN],
    ['no plan', { auto_archived_after: LATER, archived_until: LATER }, undefined],
    ['no field of an expanded resource', { release: { object: 'release', archived_at: THEN } }, undefined],
  ] as const)('is %s', ([, record, expected]) => {
    expect(momentOf(record, 'archived')).toBe(expected);
  });
});
