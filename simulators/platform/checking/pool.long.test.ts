/** Each way to stop a platform by a schema is ended in time. */
import { expect, it } from 'vitest';
import { CheckPool, Overrun } from './pool.ts';
import { CATASTROPHIC, HOSTILE, NESTED, PLAIN } from './testing/hostile.ts';

it.for(HOSTILE)('%s is ended, and the next job is checked', async ([, job]) => {
  await using pool = new CheckPool({ deadlineMs: 500, heapMb: 64, threads: 1 });
  const refused = await pool.check(job).catch((error: unknown) => error);
  expect(refused).toSatisfy(
    (found) => found instanceof Overrun || (found as { code?: string }).code === 'invalid_content',
    `ended, not ${String(refused)}`,
  );
  expect(await pool.check(PLAIN)).toBeUndefined();
});

it('the time and the memory of a check are bounded', async () => {
  await using slow = new CheckPool({ deadlineMs: 100, threads: 1 });
  await expect(slow.check(CATASTROPHIC)).rejects.toThrow(/^the check took longer than 0.1 s$/);
  await using small = new CheckPool({ heapMb: 24, deadlineMs: 60_000, threads: 1 });
  await expect(small.check(NESTED)).rejects.toThrow(/^the check took more than 24 MB$/);
});
