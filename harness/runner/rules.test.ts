import { expect, test } from 'vitest';
import type { Happening } from '../client/happening.ts';
import { History, type Judge, type Rule, type Sighting } from './rules.ts';
import { answered } from './testing/checks.ts';

const sameLength = (): Rule => {
  let before: (Sighting & { length: number }) | undefined;
  return (seen: Happening, judge: Judge): void => {
    if (seen.kind !== 'answer') return;
    const { text } = seen.answer;
    const here = judge.saw(() => text);
    if (before !== undefined)
      judge.agrees(before.length === text.length, before, { expected: `${before.length}`, actual: text.length });
    before ??= { ...here, length: text.length };
  };
};
const history = (rule: () => Rule) => new History([{ id: 'test.rule', rule }, { id: 'test.check' }]);

test('a rule keeps its first contradiction, with both exchanges and the checks that asked', () => {
  const run = history(sameLength);
  run.of('test.check')(answered('one'));
  run.of('test.other')(answered('three'));
  run.of('test.other')(answered('fourteen'));
  const { broken } = run.judged('test.rule');
  expect(broken?.finding).toEqual({ expected: '3', actual: 5 });
  expect(broken?.seen.map(({ check, asked: { curl }, text }) => [check, curl, text()])).toEqual([
    ['test.check', 'curl http://target/one', 'one'],
    ['test.other', 'curl http://target/three', 'three'],
  ]);
});

test('a renewing rule reports each contradiction, and keeps counting sightings', () => {
  const ended: unknown[] = [];
  const run = new History([{ id: 'test.rule', rule: sameLength }], (_, { broken }) => ended.push(broken?.finding), {
    renews: true,
  });
  for (const text of ['one', 'three', 'seven', 'four']) run.of('test.check')(answered(text));
  expect(ended).toEqual([
    { expected: '3', actual: 5 },
    { expected: '5', actual: 4 },
  ]);
  expect(run.judged('test.rule')).toEqual({ sightings: 4 });
});

test('an error of a rule reaches no check, and is reported as a fault', () => {
  const run = history(() => () => {
    throw new TypeError('of the rule');
  });
  expect(() => run.of('test.check')(answered('one'))).not.toThrow();
  expect(run.judged('test.rule').fault).toEqual(new TypeError('of the rule'));
});
