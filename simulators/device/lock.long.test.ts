/** Many takeovers by many processes; the normal run has a few of each kind. */
import { expect, test } from 'vitest';
import { contest } from './testing/lock-contest.ts';

test('of many processes that find a dead owner, one takes its place', async () => {
  expect(await contest({ processes: 4, rounds: 200, killEvery: 20 })).toEqual([]);
});
