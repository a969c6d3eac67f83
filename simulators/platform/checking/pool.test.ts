/** Schemas and content that would stop a platform: each is ended in time, and others are checked meanwhile. */
import { afterAll, describe, expect, it } from 'vitest';
import { CheckPool } from './pool.ts';
import { CATASTROPHIC, content, PLAIN } from './testing/hostile.ts';

it('a job that runs for long does not keep others waiting', async () => {
  await using pool = new CheckPool({ deadlineMs: 30_000, threads: 2 });
  let ended = false;
  const stuck = pool.check(CATASTROPHIC).catch(() => (ended = true));
  for (let turn = 0; turn < 20; turn++) expect(await pool.check(PLAIN)).toBeUndefined();
  expect(ended).toBe(false);
  await pool[Symbol.asyncDispose]();
  expect(await stuck).toBe(true);
});

describe('an answer', () => {
  const pool = new CheckPool({ threads: 1 });
  afterAll(() => pool[Symbol.asyncDispose]());
  it('tells some of the problems, cut, and how many there are', async () => {
    const items = JSON.stringify(Array.from({ length: 5_000 }, () => 1));
    const refused = await pool.check(content({ items: { type: 'string' } }, items));
    expect(refused?.problems).toHaveLength(20);
    expect(refused?.problems?.[0]).toBe('/0 must be string');
    expect(refused?.message).toMatch(/; and 4980 more$/);
    const name = 'x'.repeat(100_000);
    const long = await pool.check(content({ required: [name] }, '{}'));
    expect(long?.message.length).toBeLessThan(1_000);
  });

  it.for([{ $async: true, type: 'string' }, { $async: true }])('%j is no schema', async (schema) => {
    const documents = [{ name: 's.json', data: JSON.stringify(schema) }];
    expect(await pool.check({ kind: 'schema', schema: { format: 'json', documents } })).toMatchObject({
      code: 'invalid_schema',
      message: expect.stringContaining('$async'),
    });
  });
});
