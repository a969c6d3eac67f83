import { expect, it } from 'vitest';
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

it.for([
  ['is a fault if others are shown', { queued_at: null, deployed_at: null, archived_at: LATER }, true],
  ['may be that of an answer without timestamps', {}, false],
] as const)('a deployment that no longer shows when it was queued %s', ([, shown, expected]) => {
  const record = new KnownRecord('dpl_1', 'deployment', true);
  record.moments.set('queued', THEN);
  let isFault = false;
  judgeMoments({ id: 'dpl_1', ...shown }, record, Date.parse(LATER), (isRight, isStrict) => {
    isFault ||= isStrict && !isRight;
  });
  expect(isFault).toBe(expected);
});

const CREATED = '2026-11-21T10:00:00.500Z';
const possible = `no time before ${CREATED}, when it was created, and none to come`;
it.for([
  ['is not queued 2 s before its creation', '09:59:58.500Z', '10:00:01Z', CREATED, [possible]],
  ['is not archived in two minutes', '10:00:01Z', '10:02:01Z', CREATED, [possible]],
  ['may be queued at any time if it shows no creation', '10:00:01Z', '10:00:02Z', undefined, []],
] as const)('an archived deployment of this run %s', ([, queued, archived, created_at, due]) => {
  const found: string[] = [];
  const [queued_at, archived_at] = [queued, archived].map((time) => `2026-11-21T${time}`);
  const item = { id: 'dpl_1', activity_status: 'archived', created_at, queued_at, archived_at };
  const record = new KnownRecord('dpl_1', 'deployment', true);
  judgeMoments(item, record, Date.parse(CREATED) + 60_000, (isRight, isStrict, expected) => {
    if (isStrict && !isRight) found.push(expected);
  });
  expect(found).toEqual(due);
});
