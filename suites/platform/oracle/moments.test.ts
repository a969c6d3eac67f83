import { describe, expect, it } from 'vitest';
import { KnownRecord } from './model.ts';
import { judgeMoments, timestampOf } from './moments.ts';

const THEN = '2026-11-21T10:00:00Z';
const LATER = '2027-11-21T10:00:00Z';

it.for([
  ['archived_at, even beside another candidate', { archived_by_at: LATER, archived_at: THEN }, THEN],
  ['archived_at, even if it is null', { last_archived: LATER, archived_at: null }, null],
  ['any field named after it', { archivedAt: THEN }, THEN],
  ['a field further down', { moments: { archived: THEN } }, THEN],
  ['not the field of a plan', { auto_archived_after: LATER, archived_until: LATER }, undefined],
  ['not a field of an expanded resource', { release: { object: 'release', archived_at: THEN } }, undefined],
] as const)('the time at which a deployment was archived is %s', ([, record, expected]) => {
  expect(timestampOf(record, 'archived')).toBe(expected);
});

describe('a deployment of this run that was queued, and is archived', () => {
  const wrongWith = (queued: string, archived: string): string[] => {
    const found: string[] = [];
    const item = { id: 'dpl_1', activity_status: 'archived', queued_at: queued, archived_at: archived };
    judgeMoments(item, new KnownRecord('dpl_1', 'deployment', true), (isRight, isStrict, expected) => {
      if (isStrict && !isRight) found.push(expected);
    });
    return found;
  };
  it.for([
    ['may be archived by a clock that is 70 ms behind', '2026-11-21T10:00:00.010Z', []],
    ['is not archived 2 s before', '2026-11-21T09:59:58.080Z', ['queued, deployed and archived in that order']],
  ] as const)('%s', ([, archived, expected]) => {
    expect(wrongWith('2026-11-21T10:00:00.080Z', archived)).toEqual(expected);
  });
});
