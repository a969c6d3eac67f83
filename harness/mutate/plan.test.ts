import { expect, test } from 'vitest';
import { inSectionOrder, type Subject, sampleOf, selectedSubjects } from './plan.ts';
import { stub } from './testing/subjects.ts';

const subject = (name: string, section: string, kind: Subject['kind'] = 'defect'): Subject =>
  stub(name, { kind, section });

const ALL = [
  subject('a1', '2.1'),
  subject('a2', '2.1'),
  subject('a3', '2.1'),
  subject('b1', '6.1'),
  subject('v1', '6.1', 'variant'),
  subject('c1', '7'),
];
const names = (subjects: readonly Subject[]): string[] => subjects.map(({ name }) => name);

test('a run takes each section in turn, and mixes variants among defects', () => {
  expect(names(inSectionOrder(ALL))).toEqual(['a1', 'b1', 'c1', 'v1', 'a2', 'a3']);
});

test('each part of a run has its share of variants', () => {
  const many = [
    ...Array.from({ length: 30 }, (_, at) => subject(`d${at}`, '6.1')),
    ...Array.from({ length: 10 }, (_, at) => subject(`v${at}`, '6.1', 'variant')),
  ];
  const order = inSectionOrder(many);
  for (let end = 4; end <= 40; end += 4)
    expect(order.slice(0, end).filter(({ kind }) => kind === 'variant')).toHaveLength(end / 4);
});

test('names and sections select subjects, and unknown ones are refused with a suggestion', () => {
  expect(names(selectedSubjects(ALL, { only: ['a*', 'c1'] }))).toEqual(['a1', 'a2', 'a3', 'c1']);
  expect(names(selectedSubjects(ALL, { only: ['a1,b1'] }))).toEqual(['a1', 'b1']);
  expect(names(selectedSubjects(ALL, { sections: ['6'] }))).toEqual(['b1', 'v1']);
  expect(names(selectedSubjects(ALL, { sections: ['6'], kind: 'variant' }))).toEqual(['v1']);
  const selecting = (given: Parameters<typeof selectedSubjects>[1]) => () => selectedSubjects(ALL, given);
  expect(selecting({ only: ['a9'] })).toThrow('--only a9: no defect and no variant is called so; did you mean');
  expect(selecting({ only: ['a1'], sections: ['6'] })).toThrow('--only, --section and --kind: nothing fits all that');
  expect(selecting({ sections: ['5'] })).toThrow('--section 5: accepted are 2.1, 6.1, 7');
});

test('a sample has the given number of each kind, from all sections', () => {
  const next = () => 0.5;
  expect(names(sampleOf(ALL, 3, next))).toEqual(['a1', 'b1', 'v1', 'c1']);
  expect(names(sampleOf(ALL, 100, next))).toEqual(names(ALL));
});
