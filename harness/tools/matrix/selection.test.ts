/** What is left out, and that it is said. */
import { expect, it } from 'vitest';
import { GROUPS, without } from './selection.ts';
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
const names = (groups: readonly string[]): string[] => without(groups, ALL).chosen.map(({ name }) => name);

it('leaves out the groups that are named, each with a line, and nothing else', () => {
  expect(names([])).toEqual(ALL.map(({ name }) => name));
  expect(names(Object.keys(GROUPS))).toEqual(['loopback', 'extra-fields', 'not-found']);
  expect(names(['slow', 'floods'])).toEqual(['loopback', 'extra-fields', 'not-found', 'lies', '24-descriptors']);
  expect(without(['slow', 'unwilling'], ALL).said).toEqual(['left out: slow (1)', 'left out: unwilling (1)']);
});
