import { expect, test } from 'vitest';
import { paceOf, Storm } from './storm.ts';

async function paceAfter(pausesMs: readonly number[], shellTook: number): Promise<string | undefined> {
  let now = 0;
  const storm = new Storm(
    () => now,
    async () => shellTook,
  );
  storm.refused();
  for (const pause of pausesMs.slice(0, -1)) {
    now += pause;
    await Promise.resolve();
    if (storm.pace !== undefined) return storm.pace;
    storm.refused();
  }
  now += pausesMs.at(-1) ?? 0;
  return storm.pace;
}
const each = (count: number, ms: number): number[] => Array.from({ length: count }, () => ms);

/** Milliseconds of a shell that does nothing. */
const [CALM, BUSY] = [3, 200];
test.each([
  ['asks without a pause', each(60, 5), CALM, 'hammers'],
  ['asks every tenth of a second', each(40, 101), CALM, 'pauses'],
  ['asks quickly at first, and gives up', [...each(29, 5), 3000], CALM, 'pauses'],
  ['backs off', [200, 400, 800, 1600, 3200], CALM, 'pauses'],
  ['is seldom held up on a busy machine', [...each(12, 30), ...each(5, 500), 400], BUSY, 'hammers'],
  ['is always held up on a busy machine', each(40, 400), BUSY, 'unclear'],
  ['backs off on a busy machine', [200, 400, 1500, 1600, 3200, 5000], BUSY, 'pauses'],
  ['waits for three seconds on a busy machine', each(4, 3000), BUSY, 'pauses'],
])('a client that %s', async (_, pauses, shellTook, pace) => {
  expect(await paceAfter(pauses, shellTook)).toBe(pace);
});

test('on a busy machine, the watch lasts longer, and explains an unclear pace', async () => {
  let now = 0;
  const storm = new Storm(
    () => now,
    async () => BUSY,
  );
  await Promise.resolve();
  for (; storm.pace === undefined; now += 400) storm.refused();
  expect([now, storm.pace]).toEqual([12_000, 'unclear']);
  expect(storm.tooSlow).toMatch(
    /^this machine was too slow for it: a shell that does nothing took 200 ms.*30 requests in 12 s/,
  );
});

test('a client without a pause to judge counts as pausing', () => {
  expect([paceOf([], 1), paceOf([], 900)]).toEqual(['pauses', 'pauses']);
});
