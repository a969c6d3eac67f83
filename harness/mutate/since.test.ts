import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scratch } from '../../simulators/common/testing/scratch.ts';
import type { MutationReport, MutationState, MutationSubject } from '../reports/mutation/report.ts';
import { sampleMutation, sampleSubject } from '../reports/mutation/testing/samples.ts';
import { carried, type Earlier, firstOf, readEarlier, since } from './since.ts';
import type { Subject } from './subject.ts';

const one = (name: string, state: MutationState, given: Partial<MutationSubject> = {}) =>
  sampleSubject({ name, state, ...given });
const variant = (name: string, state: MutationState) => one(name, state, { kind: 'variant' });
const earlierOf = (subjects: readonly MutationSubject[], given: Partial<MutationReport> = {}): Earlier => ({
  file: 'last.json',
  report: sampleMutation(subjects, given),
});
const inWorld = (subjects: readonly MutationSubject[]) => subjects as unknown as Subject[];
const AT = sampleMutation().started_at;
const LATER = '2026-11-27T08:00:00.000Z';

test('what was found comes first, then what has no verdict, however long ago it was found', () => {
  const last = earlierOf([
    one('killed', 'killed'),
    one('survivor', 'survived'),
    one('left', 'not_run'),
    one('unasked', 'never_asked'),
    one('old-survivor', 'not_run', { last: { state: 'survived', started_at: AT } }),
    one('old-killed', 'not_run', { last: { state: 'killed', started_at: AT } }),
    variant('brittle', 'brittle'),
    one('other-words', 'killed', { summary: 'Did something else.' }),
  ]);
  const all = [...last.report.subjects.slice(0, -1), one('other-words', 'not_run'), one('new', 'not_run')];
  expect(firstOf(inWorld(all), last)).toEqual([
    new Set(['survivor', 'old-survivor', 'brittle']),
    new Set(['left', 'unasked', 'other-words', 'new']),
  ]);
  expect(firstOf(inWorld(all), undefined)).toEqual([]);
});

test('what changed is told of what both runs judged; the rest keeps its verdict, and counts nowhere', () => {
  const last = earlierOf([
    one('mended', 'survived'),
    one('lost', 'timed_out'),
    one('excused', 'known'),
    one('same', 'killed'),
    one('left', 'survived'),
    one('older', 'not_run', { last: { state: 'killed', started_at: 'before' } }),
    variant('shy', 'accepted'),
    variant('calm', 'brittle'),
  ]);
  const now = sampleMutation(
    [
      one('mended', 'killed'),
      one('lost', 'survived'),
      one('excused', 'survived'),
      one('same', 'timed_out'),
      one('left', 'not_run'),
      one('older', 'blocked'),
      variant('shy', 'brittle'),
      variant('calm', 'accepted'),
    ],
    { started_at: LATER },
  );
  const { since: told, subjects } = since(now, last, now.subjects);
  expect(told).toEqual({
    file: 'last.json',
    started_at: AT,
    newly_killed: ['mended'],
    newly_survived: ['lost'],
    newly_brittle: ['shy'],
    newly_accepted: ['calm'],
    differs: [],
  });
  expect(subjects.filter((each) => each.last)).toMatchObject([
    { name: 'left', state: 'not_run', last: { state: 'survived', started_at: AT } },
    { name: 'older', state: 'blocked', last: { state: 'killed', started_at: 'before' } },
  ]);
});

test('verdicts of a run in which the tests were not steady are neither used nor made', () => {
  const good = earlierOf([one('a', 'survived')]);
  const now = sampleMutation([one('a', 'killed')], { flaky: 'they failed later' });
  const { since: told, subjects } = since(now, good, now.subjects);
  expect(told.newly_killed).toEqual([]);
  expect(subjects).toMatchObject([{ state: 'killed', last: { state: 'survived' } }]);
  // The verdict of before is what the next run goes by.
  expect(firstOf(inWorld(subjects), earlierOf(subjects, { flaky: 'they failed later' }))[0]).toEqual(new Set(['a']));
});

test('what this run was not asked for keeps its verdict', () => {
  const last = earlierOf([
    one('a', 'killed', { how: 'ended with exit code 1' }),
    one('b', 'survived'),
    one('gone', 'killed'),
  ]);
  const now = sampleMutation([one('b', 'killed')]);
  const subjects = [
    ...now.subjects,
    ...carried(now.subjects, last, [...now.subjects, ...last.report.subjects.slice(0, 2)]),
  ];
  expect(since({ ...now, subjects }, last, subjects).subjects).toMatchObject([
    { name: 'b', state: 'killed' },
    { name: 'a', state: 'not_run', last: { state: 'killed', started_at: AT } },
  ]);
  expect(subjects[1]).not.toHaveProperty('how');
});

test('that run was another one: other tests, other options, other defects', () => {
  const given = { command: 'npm test', repeat: 'muster mutate client --seed 1 --only', muster: '9' };
  const now = sampleMutation([one('a', 'killed'), one('b', 'killed')], given);
  const differs = (subjects: readonly MutationSubject[], more: Partial<MutationReport>) =>
    since(now, earlierOf(subjects, { ...given, ...more }), now.subjects).since.differs;
  expect(differs(now.subjects, { repeat: 'muster mutate client --seed 2 --only' })).toEqual([]);
  const own = (seed: number) => ({ repeat: `muster mutate client --command 'x --seed 5' --seed ${seed} --only` });
  expect(
    since({ ...now, ...own(1) }, earlierOf(now.subjects, { ...given, ...own(2) }), now.subjects).since.differs,
  ).toEqual([]);
  expect(differs(now.subjects, { repeat: 'muster mutate client --heartbeat 9s --seed 1 --only' })).toEqual([
    'ran with other options',
  ]);
  expect(
    differs([one('a', 'killed', { summary: 'Other.' }), one('b', 'killed')], { command: 'make', muster: '8' }),
  ).toEqual([
    'ran other tests: make',
    'was of Muster 8',
    'had defects or variants that are gone, or described otherwise now (1)',
    'did not look at all of these defects and variants (not at 1)',
  ]);
});

test('a report is read, and what is none is refused', () => {
  using folder = scratch();
  const file = join(folder.path, 'last.json');
  writeFileSync(file, JSON.stringify(sampleMutation()));
  expect(readEarlier(file, { side: 'client', api: 'device' }).report).toEqual(sampleMutation());
  expect(() => readEarlier(file, { side: 'system', api: 'agent' })).toThrow('is of mutate client --api device');
});
