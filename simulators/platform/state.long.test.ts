/** The platform's state under agents, kills, other writers, a full disk and clients with hostile schemas. */

import { execFileSync } from 'node:child_process';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { scratch } from '../common/testing/scratch.ts';
import { CheckPool, Overrun } from './checking/pool.ts';
import { CATASTROPHIC, HOSTILE, NESTED, PLAIN } from './checking/testing/hostile.ts';
import { agreementProperty } from './testing/agreement.ts';
import {
  createKit,
  type Kit,
  keepingAgent,
  listingAgent,
  refusal,
  startPlatform,
  type TestPlatform,
  unique,
  walk,
} from './testing/kit.ts';

let platform: TestPlatform;
let kit: Kit;
beforeAll(async () => {
  platform = await startPlatform();
  kit = await createKit(platform);
});
afterAll(() => platform.stop());

// `testing/agreement.ts` says what it means.
it.for([
  ['acts on what it is told', listingAgent],
  ['keeps all that it was told', keepingAgent],
] as const)('an agent that %s agrees with its platform in the end, whatever happened', async ([, agentOf]) => {
  await fc.assert(agreementProperty({ platform, kit }, agentOf), { numRuns: 40 });
  expect((await platform.items('/deployments')).length).toBeGreaterThan(0);
});

// A database on a disk that is full: the client is told, and nothing that was answered is lost.

/** Whether this process may mount a file system of a few hundred kB. */
const mounts = process.platform === 'linux' && process.getuid?.() === 0;

it.skipIf(!mounts)('says that the disk is full, and takes writes again when there is room', async () => {
  using folder = scratch();
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', folder.path]);
  try {
    const db = join(folder.path, 'platform.db');
    const filler = join(folder.path, 'filler');
    const names: string[] = [];
    {
      await using platform = await startPlatform({ db });
      expect(statSync(db).mode & 0o777).toBe(0o600);
      writeFileSync(filler, Buffer.alloc(500_000));
      const attempt = async () => {
        const name = `robot-${names.length}`;
        const reply = await platform.post('/devices', { name });
        if (reply.status === 200) names.push(name);
        return reply;
      };
      let reply = await attempt();
      while (reply.status === 200) reply = await attempt();
      expect(reply).toMatchObject(refusal(503, 'disk_full', { message: 'the disk is full: nothing was changed' }));
      expect((await walk(platform, '/devices')).map(({ name }) => name).sort()).toEqual(names.toSorted());
      rmSync(filler);
      expect((await attempt()).status).toBe(200);
    }
    await using platform = await startPlatform({ db });
    expect((await walk(platform, '/devices')).map(({ name }) => name).sort()).toEqual(names.toSorted());
  } finally {
    execFileSync('umount', ['-l', folder.path]);
  }
});

// Clients whose schemas, content or bodies would hold up a platform: it answers them, and everyone else meanwhile.

async function schemaOf(platform: TestPlatform, schema: object) {
  const slug = unique('hostile');
  await platform.create('/config_types', { name: slug, slug });
  return await platform.post('/config_schemas', {
    config_type_ref: { slug },
    language: 'jsonschema',
    format: 'json',
    documents: [{ name: 's.json', data: JSON.stringify(schema) }],
  });
}
const LONG_TEXT = `"${'a'.repeat(60)}!"`;
const post = (platform: TestPlatform, schema: string, data: string) =>
  platform.post('/config_instances', { config_schema_id: schema, content: { format: 'json', data } });

it('a catastrophic pattern is answered in time', async () => {
  await using platform = await startPlatform({ checks: { deadlineMs: 300, threads: 1 } });
  const { body } = await schemaOf(platform, { pattern: '^(a+)+$' });
  const message = 'content: the check took longer than 0.3 s';
  const reply = await post(platform, String(body['id']), LONG_TEXT);
  expect(reply).toMatchObject(refusal(422, 'content_not_checked', { message }));
});

it('other clients are answered while a check runs, and the platform can be stopped', async () => {
  const platform = await startPlatform({ checks: { deadlineMs: 60_000, threads: 2 } });
  const kit = await createKit(platform);
  const { body } = await schemaOf(platform, { pattern: '^(a+)+$' });
  let ended = false;
  const stuck = post(platform, String(body['id']), LONG_TEXT)
    .catch(() => 'cut off')
    .finally(() => (ended = true));
  expect((await platform.get('/devices')).status).toBe(200);
  expect((await post(platform, kit.schema, '{"speed":2}')).status).toBe(200);
  expect(ended).toBe(false);
  await platform.stop();
  expect(await stuck).toBe('cut off');
});

it.for([
  ['members', `{${Array.from({ length: 100_000 }, (_, at) => `"k${at}":1`).join()}}`],
  ['items', `{"name":[${'1,'.repeat(400_000)}1]}`],
  ['objects', `{"name":[${'{"a":{}},'.repeat(100_000)}1]}`],
])('a body of too many %s is refused before it is looked at', async ([, body]) => {
  await using platform = await startPlatform();
  const message = expect.stringContaining('10000 members and items');
  expect(await platform.call('POST', '/devices', body)).toMatchObject(refusal(413, 'body_too_large', { message }));
});

// Each way to stop a platform by a schema is ended in time.

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
