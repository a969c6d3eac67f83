/** What a change leaves out, and that it says so. */
import { expect, it } from 'vitest';
import { changedSince, selected } from './selection.ts';
import type { Subject } from './subjects.ts';

const subject = (kind: Subject['kind'], name: string, slow = false): Subject => ({
  ...{ api: 'device', kind, name, summary: 'Does something.', slow },
  run: () => Promise.reject(new Error('not run')),
});
const ALL = [
  subject('reference', 'loopback'),
  subject('variant', 'extra-fields'),
  subject('variant', 'slow-answers', true),
  subject('null', 'not-found'),
  subject('null', 'endless-body'),
  subject('unwilling', 'lies'),
  subject('starved', '24-descriptors'),
];
const left = (...changed: string[]): string[] => {
  const { chosen } = selected(ALL, changed);
  return ALL.filter((each) => !chosen.includes(each)).map(({ name }) => name);
};

it('a change leaves out what finds little and takes long, each with a line', () => {
  expect(left('suites/device/4.1-cursor.ts', 'README.md').toSorted()).toEqual([
    '24-descriptors',
    'endless-body',
    'slow-answers',
  ]);
  const { said } = selected(ALL, []);
  expect(said).toHaveLength(4);
  expect(said.join('\n')).toMatch(/left out: 1 × slow variant; .*nightly/);
});

it.for(['harness/client/http.ts', 'harness/targets/control/control.ts', 'suites/platform/support/lists.ts'])(
  'a change of what all depend on leaves out nothing: %s',
  (path) => {
    expect(left(path)).toEqual([]);
    expect(selected(ALL, [path]).said).toEqual([]);
  },
);

it('a change of a subject runs its kind', () => {
  expect(left('simulators/defects/null.ts')).not.toContain('endless-body');
  expect(left('simulators/defects/device/slowness.ts')).not.toContain('slow-answers');
  expect(left('simulators/defects/unwilling-control.ts')).not.toContain('lies');
});

it('a commit that git does not know tells nothing', () => {
  expect(changedSince('HEAD')).toBeInstanceOf(Array);
  expect(changedSince('no-such-commit')).toBeUndefined();
});
