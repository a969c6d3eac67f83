/** Wrong requests: each is answered with a 4xx and changes nothing. */
import { once } from 'node:events';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RESOURCE_KINDS } from '../../harness/contract/platform/operation.ts';
import { operationsOf, RESOURCES } from '../../harness/contract/platform/operations.ts';
import { versionNamed } from '../../harness/contract/versions.ts';
import { createWorld, exampleOf, type World } from './testing/examples.ts';
import { refusal, startPlatform, type TestPlatform, unique } from './testing/kit.ts';

const EVERGLADES = versionNamed('everglades');

const writing = operationsOf(EVERGLADES).filter(({ body }) => body !== undefined);

describe('a request body', () => {
  let platform: TestPlatform;
  let world: World;
  beforeAll(async () => {
    platform = await startPlatform();
    world = await createWorld(platform, EVERGLADES);
  });
  afterAll(() => platform.stop());

  const everything = async (): Promise<string> => {
    const pages = await Promise.all(
      RESOURCE_KINDS.map((kind) => platform.get(`/${RESOURCES[kind].collection}?limit=100&expand=total_count`)),
    );
    return pages.map(({ text }) => text).join('\n');
  };
  const send = (path: string, method: string, body: Buffer | string, type = 'application/json') =>
    fetch(platform.url + path, {
      method,
      headers: { 'x-api-key': platform.apiKey, 'service-version': EVERGLADES, 'content-type': type },
      body: new Uint8Array(Buffer.from(body)),
    });

  it.for(writing)('of $id changes nothing when it is invalid', async ({ id, method }) => {
    const { path, body: valid } = await exampleOf(id, world);
    const right = JSON.stringify(valid);
    const before = await everything();
    const wrong: [string, string | Buffer, string?][] = [
      ['no JSON', right.slice(0, -1)],
      ['nothing', ''],
      ['an array', `[${right}]`],
      ['null', 'null'],
      ['a number', '7'],
      ['a member twice', right.replace('{', `{${right.slice(1).split(',')[0]?.replace(/\}$/, '')},`)],
      ['an unknown member', right.replace('{', '{"unknown_member":1,')],
      ['a member of another type', right.replace(/:("[^"]*"|true|\d+)/, ':{}')],
      ['deep nesting', `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`],
      [
        'bytes that are not UTF-8',
        Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xff, 0xc0]), Buffer.from('"}')]),
      ],
      ['half a surrogate pair', '{"name":"\\ud83e"}'],
      ['ten megabytes', `{"name":"${'x'.repeat(10_000_000)}"}`],
      ['another type', right, 'text/plain'],
    ];
    for (const [what, body, type] of wrong) {
      const { status } = await send(path, method, body, type);
      expect({ what, refused: status >= 400 && status < 500 }, `${what}: ${status}`).toEqual({ what, refused: true });
    }
    expect(await everything()).toBe(before);
  });

  it('that is invalid is answered with the member at fault', async () => {
    const post = (body: object) => platform.post('/devices', body);
    const invalid = (message: string) => refusal(400, 'invalid_request', { message: expect.stringContaining(message) });
    expect(await post({ name: 5 })).toMatchObject(invalid('name: '));
    expect(await post({ nam: 'x' })).toMatchObject(invalid('lacks "name"'));
    const unknown = { problems: [{ path: '/group_id', message: 'is not known here' }] };
    const message = 'group_id: is not known here; members are name';
    const reply = await post({ name: 'x', group_id: null });
    expect(reply).toMatchObject(refusal(400, 'invalid_request', { message, params: unknown }));
  });

  it('must not repeat a name, slug, version or schema', async () => {
    const name = unique('taken');
    const { id } = await platform.create('/devices', { name: unique('other') });
    await platform.create('/devices', { name });
    await platform.create('/config_types', { name, slug: name });
    await platform.create('/releases', { version: name, config_schema_ids: [] });
    const attempts = [
      platform.post('/devices', { name }),
      platform.call('PATCH', `/devices/${id}`, { name }),
      platform.post('/config_types', { name, slug: name }),
      platform.post('/releases', { version: name, config_schema_ids: [] }),
      platform.post('/releases', {
        version: unique('v'),
        config_schema_ids: [world.kit.schema, world.kit.schema],
      }),
    ];
    expect((await Promise.all(attempts)).map(({ status }) => status)).toEqual([409, 409, 409, 409, 400]);
  });
});

describe('a path', () => {
  it('is answered before its body is complete, and the server goes on', async () => {
    await using platform = await startPlatform();
    const call = request(`${platform.url}/devices`, { method: 'POST', headers: { 'content-length': 1_000_000 } });
    call.on('error', () => {}).write('{');
    const [{ statusCode }] = await once(call, 'response');
    expect(statusCode).toBe(401);
    expect((await platform.get('/devices')).status).toBe(200);
  });
});

describe('a git commit', () => {
  it.for([
    ['git@github.com:example/robots.git', 'github', 'https://github.com/example/robots'],
    ['https://gitlab.com/example/group/robots', 'gitlab', 'https://gitlab.com/example/group/robots'],
    ['ssh://git@bitbucket.org:22/example/robots.git', 'bitbucket', 'https://bitbucket.org/example/robots'],
  ] as const)('of %s gets the type and URL of its repository', async ([origin, type, url]) => {
    await using platform = await startPlatform();
    const body = { sha: 'ABCDEF1', message: '', origin };
    const made = await platform.create('/git_commits', body);
    expect(made).toMatchObject({ sha: 'abcdef1', repository_type: type, repository_url: url });
    expect((await platform.post('/git_commits', body)).status).toBe(409);
    const reference = { version: '1', config_schema_ids: [], git_commit_ref: { sha: 'abcdef1' } };
    const release = await platform.create('/releases', reference);
    expect(release['git_commit_id']).toBe(made.id);
  });

  it('is refused with an unknown origin or reference', async () => {
    await using platform = await startPlatform();
    const status = async (path: string, body: object) => (await platform.post(path, body)).status;
    const github = ['https://github.com/a', 'git@github.com:'];
    for (const origin of ['robots', 'https://example.com/a/b', 'file:///etc/passwd', ...github]) {
      expect(await status('/git_commits', { sha: 'abcdef1', message: '', origin })).toBe(400);
    }
    const release = { version: '1', config_schema_ids: [] };
    expect(await status('/releases', { ...release, git_commit_ref: {} })).toBe(400);
    expect(await status('/releases', { ...release, git_commit_ref: { sha: '1234567' } })).toBe(404);
  });
});
