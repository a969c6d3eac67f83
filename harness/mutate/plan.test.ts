import { expect, test } from 'vitest';
import { drawn, ordered, sampled, wantedOf } from './plan.ts';
import type { Subject } from './subject.ts';

const subject = (name: string, section: string, kind: Subject['kind'] = 'defect'): Subject => ({
  name,
  kind,
  section,
  summary: '',
  requirements: [],
  breaks: [],
  file: '',
  byHand: '',
  start: () => Promise.reject(new Error('never')),
});

const ALL = [
  subject('a1', '2.1'),
  subject('a2', '2.1'),
  subject('a3', '2.1'),
  subject('b1', '6.1'),
  subject('v1', '6.1', 'variant'),
  subject('c1', '7'),
];
const names = (subjects: readonly Subject[]): string[] => subjects.map(({ name }) => name);

test('a run looks at each section in turn, at variants last, and first at what the last run found', () => {
  expect(names(ordered(ALL, new Set()))).toEqual(['a1', 'b1', 'c1', 'a2', 'a3', 'v1']);
  expect(names(ordered(ALL, new Set(['a3', 'v1'])))).toEqual(['a3', 'v1', 'a1', 'b1', 'c1', 'a2']);
});

test('names and sections choose, and what none has is refused with what is meant', () => {
  expect(names(wantedOf(ALL, { only: ['a*', 'c1'] }))).toEqual(['a1', 'a2', 'a3', 'c1']);
  expect(names(wantedOf(ALL, { only: ['a1,b1'] }))).toEqual(['a1', 'b1']);
  expect(names(wantedOf(ALL, { sections: ['6'] }))).toEqual(['b1', 'v1']);
  expect(() => wantedOf(ALL, { only: ['a9'] })).toThrow(
    '--only a9: no defect and no variant is called so; did you mean',
  );
  expect(() => wantedOf(ALL, { only: ['a1'], sections: ['6'] })).toThrow('--only and --section: nothing fits both');
  expect(() => wantedOf(ALL, { sections: ['5'] })).toThrow('--section 5: accepted are 2.1, 6.1, 7');
});

test('a sample has so many of each kind, from all sections alike, and the same for one seed', () => {
  const next = () => 0.5;
  expect(names(sampled(ALL, 3, next))).toEqual(['a1', 'b1', 'v1', 'c1']);
  expect(names(sampled(ALL, 100, next))).toEqual(names(ALL));
  expect(names(drawn(ALL, 2, next, new Set(['a2', 'a3', 'b1'])))).toEqual(['a2', 'a3', 'v1']);
  expect(names(drawn(ALL, 2, next, new Set(['a2'])))).toEqual(['a2', 'a1', 'v1']);
});
