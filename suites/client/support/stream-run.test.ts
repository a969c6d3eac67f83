import { expect, test } from 'vitest';
import { Sequence } from './stream-run.ts';

test.each([
  [['8', '9', '10'], 10, undefined],
  [['8', '10', '9'], 8, 'event 10 after event 8'],
  [['8', '8'], 8, 'event 8 after event 8'],
  [['9007199254740993'], 7, 'event 9007199254740993 after event 7'],
])('of %j after 7 it knows the last in order, and the first that is not', (ids, last, wrong) => {
  const sequence = new Sequence(7);
  for (const id of ids) sequence.take({ id });
  expect([sequence.last, sequence.wrong]).toEqual([last, wrong]);
});
