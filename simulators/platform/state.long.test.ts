import { execFileSync } from 'node:child_process';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { scratch } from '../common/testing/scratch.ts';
import { agreementProperty } from './testing/agreement.ts';
import { createKit, refusal, startPlatform, unique, walk } from './testing/kit.ts';

const platform = await startPlatform();
afterAll(() => platform.stop());
const kit = await createKit(platform);

it('an agent finally agrees with its platform, after any history', async () => {
  await fc.assert(agreementProperty(platform, kit), { numRuns: 40 });
  expect((await platform.items('/deployments')).length).toBeGreaterThan(0);
});

/** Mounting a file system needs root on Linux. */
const mounts = process.platform === 'linux' && process.getuid?.() === 0;

it.skipIf(!mounts)('a platform refuses writes on a full disk, and accepts them when space returns', async () => {
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

/** Each level doubles the time of a check. */
function nested(levels: number): object {
  const $defs: Record<string, object> = { l0: { type: 'number' } };
  for (let level = 1; level <= levels; level++) {
    const branch = { properties: { a: { $ref: `#/$defs/l${level - 1}` } } };
    $defs[`l${level}`] = { anyOf: [branch, branch] };
  }
  return { $defs, $ref: `#/$defs/l${levels}` };
}

const objects = JSON.stringify(Array.from({ length: 200_000 }, (_, k) => ({ k })));
const aliases = `a: &a [${'x,'.repeat(90)}x]\nb: [${'*a,'.repeat(400_000)}*a]\n`;

it.for([
  ['a catastrophic pattern', { pattern: '^(a+)+$' }, 'json', `"${'a'.repeat(60)}!"`, 422, 'content_not_checked'],
  ['uniqueItems on objects', { uniqueItems: true }, 'json', objects, 422, 'content_not_checked'],
  ['nested anyOf', nested(40), 'json', `${'{"a":'.repeat(40)}"x"${'}'.repeat(40)}`, 422, 'content_not_checked'],
  ['a YAML of aliases', {}, 'yaml', aliases, 400, 'invalid_content'],
] as const)('the check of %s ends, and later content is checked', async ([, schema, format, data, status, code]) => {
  const slug = unique('hostile');
  await platform.create('/config_types', { name: slug, slug });
  const { id } = await platform.create('/config_schemas', {
    config_type_ref: { slug },
    language: 'jsonschema',
    format: 'json',
    documents: [{ name: 's.json', data: JSON.stringify(schema) }],
  });
  const post = (config_schema_id: string, content: object) =>
    platform.post('/config_instances', { config_schema_id, content });
  expect(await post(id, { format, data })).toMatchObject(refusal(status, code));
  expect((await post(kit.schema, { format: 'json', data: '{"speed":2}' })).status).toBe(200);
});

it.for([
  ['members', `{${Array.from({ length: 100_000 }, (_, at) => `"k${at}":1`).join()}}`],
  ['items', `{"name":[${'1,'.repeat(400_000)}1]}`],
])('a body with too many %s is refused before it is validated', async ([, body]) => {
  const message = expect.stringContaining('10000 members and items');
  expect(await platform.call('POST', '/devices', body)).toMatchObject(refusal(413, 'body_too_large', { message }));
});
