import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test, vi } from 'vitest';
import { HttpClient } from '../../client/http.ts';
import { inJson, serve } from '../testing/places.ts';
import { ControlError, ControlLate, ControlRefused } from './control.ts';
import { PlatformClient, PlatformControl } from './platform-control.ts';
import { FakeDevice } from './testing/fakes.ts';

const answers = inJson(() => ({ id: 'x_1', activity_status: 'queued', error_status: 'none' }));
const controlBy = (url: string, timeoutMs: number, more: object = {}) => {
  const http = new HttpClient({ endpoint: { origin: url } });
  onTestFinished(() => http.close());
  return new PlatformControl({ platform: http, device: http, deviceId: 'dvc_1', timeoutMs, ...more });
};

test('a deployment ends with its signal, and lets the next call proceed', async () => {
  const control = controlBy(await serve(answers), 200);
  const over = new AbortController();
  const first = control.deploy({}, over.signal);
  const waiting = control.deploy({}, over.signal);
  over.abort(new ControlError('over'));
  await expect(first).rejects.toThrow();
  await expect(waiting).rejects.toThrow('over');
  await expect(control.deploy()).rejects.toThrow(/did not report x_1 as deployed within 0.2 s/);
  const late = 'the agent did not report x_1 as failed within 0.2 s; the platform shows queued, error none';
  await expect(control.deploy({ error_status: 'failed' })).rejects.toThrow(late);
});

type Shown = Partial<Record<'activity_status' | 'error_status', string>>;
const files = { config_instances: [{ filepath: 'a.json', content: '{}' }] };
test.each<[shown: Shown, asked: string, (control: PlatformControl) => Promise<unknown>, ends: string]>([
  [{ activity_status: 'deployed' }, 'a deployment', (control) => control.deploy(files as never), 'x_1 deployed'],
  [{ error_status: 'failed' }, 'a deployment', (control) => control.deploy(), 'the agent reported x_1 as failed'],
  [{ error_status: 'failed' }, 'a failure', (control) => control.deploy({ error_status: 'failed' }), 'x_1 queued'],
  [{}, 'a queued one', (control) => control.deploy({ activity_status: 'queued' }), 'drive an agent to queued with'],
  [{}, 'one to retry', (control) => control.deploy({ error_status: 'retrying' }), 'to deployed with error retrying'],
  [{}, 'a target', (control) => control.deploy({ target_status: 'staged' as never }), 'to deployed with error none'],
  [{}, 'a release', (control) => control.deploy({ release_id: 'r' }), 'a platform chooses the id of a release'],
  [{ activity_status: 'archived' }, 'a removal', (control) => control.remove('x_1'), 'x_1 is archived already'],
  [{}, 'a compaction', (control) => control.compact(), 'a platform cannot make an agent compact its log'],
  [{}, 'a stop', (control) => control.stop(), 'a platform cannot stop an agent; start it with --command'],
  [{}, 'a start', (control) => control.start(), 'a platform cannot start an agent; start it with --command'],
])('on a platform that shows %j, %s ends with its result or error', async (shown, _, call, ends) => {
  const paths: string[] = [];
  const platform = inJson(() => ({ id: 'x_1', activity_status: 'queued', error_status: 'none', ...shown }));
  const url = await serve((request, response) => {
    paths.push(`${request.method} ${request.url}`);
    platform(request, response);
  });
  const control = controlBy(url, 30_000, { syncPath: '/sync' });
  const ended = await call(control).then(
    (answer) => `${(answer as Shown & { id: string }).id} ${(answer as Shown).activity_status}`,
    (error: Error) => `${error.name}: ${error.message}`,
  );
  expect(ended).toContain(ends);
  expect(paths.includes('POST /sync')).toBe(paths.includes('POST /deployments'));
  if (!ended.startsWith('x_1') && !ends.includes('reported')) expect(ended).toMatch(/^ControlRefused: control: /);
});

async function obeying(timeoutMs = 30_000) {
  const device = await FakeDevice.start();
  const agent = { device, shows: true, tells: true, refused: '', error: 'none', looked: () => {} };
  const posted: { kind: string; body: { instance_slots?: { filepath: string }[] } }[] = [];
  const bodies = (of: string) => posted.filter(({ kind }) => kind === of).map(({ body }) => body);
  const deployments: string[] = [];
  const seen = new Set<string>();
  const carryOut = (id: string): void => {
    const first = 10 * deployments.push(id);
    seen.clear();
    if (agent.shows) device.current = { id };
    const others = [first, first + 3, first + 2].map((event) => [event, 'dpl_other'] as const);
    for (const [event, of] of agent.tells ? [...others, [first + 1, id] as const] : [])
      device.sendEvent(event, `,"data":{"deployment_id":"${of}"}`);
  };
  const stateOf = (id: string): string => {
    const [before, after] = id === deployments.at(-1) ? ['queued', 'deployed'] : ['deployed', 'archived'];
    return seen.has(id) && agent.error === 'none' ? after : before;
  };
  const url = await serve(async (request, response) => {
    const [, kind = '', named] = (request.url ?? '').split('/');
    const body = await text(request);
    const made = kind === 'deployments' ? `dpl_${deployments.length + 1}` : `${kind} ${body.match(/"f\d"/g)}`;
    const id = named ?? made;
    if (named === undefined) posted.push({ kind, body: JSON.parse(body) });
    else agent.looked();
    if (kind === agent.refused) return void response.writeHead(500).end('no');
    if (request.url === '/deployments') carryOut(id);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ id, activity_status: stateOf(id), error_status: agent.error }));
    if (named !== undefined) seen.add(id);
  });
  const platform = new HttpClient({ endpoint: { origin: url } });
  const control = new PlatformControl({ platform, device: device.http, deviceId: 'dvc_1', timeoutMs });
  onTestFinished(async () => {
    await control.close();
    await platform.close();
    await device[Symbol.asyncDispose]();
  });
  return { control, agent, bodies };
}

test('deployments share one type, and each has a release with a slot for each file', async () => {
  const { control, bodies } = await obeying();
  const config_instances = [
    { filepath: 'a.json', content: '1' },
    { filepath: '/b.json', content: '2' },
  ] as never;
  expect(await control.info()).toEqual({ capabilities: ['drive'] });
  expect(await control.deploy({ config_instances })).toEqual({ id: 'dpl_1' });
  await control.deploy({ config_instances, description: 'mine' });
  const unique = (what: string) => expect.stringMatching(`^muster-${what}-\\d[\\da-f]{7}$`);
  const slots = [
    { key: 'f0', filepath: '/a.json' },
    { key: 'f1', filepath: '/b.json' },
  ];
  const made = { device_id: 'dvc_1', config_instance_ids: ['config_instances "f0"', 'config_instances "f1"'] };
  expect(bodies('config_types')).toMatchObject([{ name: unique('type'), slug: unique('type') }]);
  expect(bodies('config_schemas')).toMatchObject(Array(2).fill({ instance_slots: slots }));
  expect(bodies('releases')).toMatchObject(Array(2).fill({ version: unique('release') }));
  const descriptions = ['New settings', 'mine'];
  expect(bodies('deployments')).toMatchObject(descriptions.map((description) => ({ ...made, description })));
});

test("control answers a deployment with the platform's values", async () => {
  const words = { release_id: 'rls_1', device_id: 'dvc_1', description: 'as ordered' };
  const shown = { id: 'x_1', activity_status: 'deployed', error_status: 'none', created_at: 'then' };
  const answer = inJson((path) => ({ ...shown, ...(path.endsWith('/current') ? { release_id: 'rls_2' } : words) }));
  expect(await controlBy(await serve(answer), 30_000).deploy()).toEqual({ ...shown, ...words });
});

test('a removal deploys another file, and waits until the first deployment is archived', async () => {
  const { control, bodies } = await obeying();
  await control.deploy();
  expect(await control.remove('dpl_1')).toMatchObject({ id: 'dpl_1', activity_status: 'archived' });
  expect(bodies('deployments').at(-1)).toMatchObject({ description: 'Other settings' });
  expect(bodies('config_schemas').at(-1)).toMatchObject({ instance_slots: [{ filepath: '/srv/robot/config.json' }] });
});

test('a publish deploys one release until enough events have come', async () => {
  const { control, agent, bodies } = await obeying();
  agent.refused = 'releases';
  await expect(control.publish(1)).rejects.toThrow(new ControlError('control: POST /releases answered 500: no'));
  agent.refused = '';
  expect(await control.publish(1)).toEqual({ first_id: 13, last_id: 13 });
  expect(await control.publish(4)).toEqual({ first_id: 30, last_id: 33 });
  expect(bodies('releases')).toHaveLength(2);
  expect(bodies('deployments')).toMatchObject(Array(3).fill({ description: 'Makes an event' }));
});

test('waiting publishes share the same events, and an aborted publish makes none', async () => {
  const { control, bodies } = await obeying();
  const over = new AbortController();
  const first = control.deploy();
  const calls = [control.publish(1), control.publish(2), control.publish(1, over.signal)] as const;
  over.abort(new ControlError('over'));
  await expect(calls[2]).rejects.toThrow('over');
  expect(await Promise.all([first, calls[0], calls[1]])).toEqual([
    { id: 'dpl_1' },
    { first_id: 23, last_id: 23 },
    { first_id: 22, last_id: 23 },
  ]);
  await expect(control.publish(1, AbortSignal.abort(new ControlError('over')))).rejects.toThrow('over');
  const later = new AbortController();
  const [running, left] = [control.deploy(), control.publish(1, later.signal)];
  later.abort(new ControlError('over'));
  await expect(left).rejects.toThrow('over');
  await running;
  expect(await control.publish(1)).toEqual({ first_id: 43, last_id: 43 });
  expect(bodies('deployments')).toHaveLength(4);
});

test.each<[string, { tells?: false; shows?: false } | undefined, 'publish' | 'deploy', words: string]>([
  ['tells of no event', { tells: false }, 'publish', 'its event stream had no event of it within 0.5 s'],
  ['shows another deployment', { shows: false }, 'deploy', 'shows null as current'],
  ['does not answer', undefined, 'deploy', 'shows nothing as current'],
])('a call reports an agent that %s after it was driven', async (_, change, call, words) => {
  const { control, agent } = await obeying(500);
  Object.assign(agent, change);
  if (change === undefined) await agent.device[Symbol.asyncDispose]();
  const late = new ControlLate(`control: the agent reported dpl_1 as deployed, but ${words}`);
  await expect(call === 'publish' ? control.publish(1) : control.deploy()).rejects.toThrow(late);
});

test('a failed deployment is refused once the agent retries for 10 s', async () => {
  const { control, agent, bodies } = await obeying();
  let [ahead, looks] = [0, 0];
  const now = performance.now.bind(performance);
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead);
  onTestFinished(() => clock.mockRestore());
  agent.looked = () => {
    ahead += 4000;
    looks += 1;
    if (looks === 4) agent.error = 'retrying';
  };
  const refused = new ControlRefused('control: the agent retries what it cannot apply, and does not call it failed');
  await expect(control.deploy({ error_status: 'failed' })).rejects.toThrow(refused);
  await expect(control.deploy({ error_status: 'failed' })).rejects.toThrow(refused);
  expect([looks, bodies('deployments')]).toMatchObject([7, [{ description: 'Cannot be applied' }]]);
  const slots = bodies('config_schemas')[0]?.instance_slots ?? [];
  expect(slots.map(({ filepath }) => /[^/]{256}/.test(filepath))).toEqual([false, true]);
});

const NO_TOKEN = new ControlError('control: POST /provisioning_tokens answered 200: null');
test.each<[status: number, body: string, (platform: PlatformClient) => Promise<unknown>, Error]>([
  [400, 'no', (it) => it.deployment('x'), new ControlRefused('control: GET /deployments answered 400: no')],
  [401, 'no', (it) => it.online(), new ControlRefused('control: GET /devices answered 401: no')],
  [200, '{}', (it) => it.deploy('d', '', []), new ControlError('control: POST /config_types answered 200: {}')],
  [200, 'null', (it) => it.provisioningToken(), NO_TOKEN],
])('a platform that answers %i %s is reported as an error', async (status, body, ask, error) => {
  const url = await serve((_, response) => void response.writeHead(status).end(body));
  const client = new PlatformClient(new HttpClient({ endpoint: { origin: url } }));
  const failure = await ask(client).catch((why: unknown) => why);
  expect([(failure as Error).name, (failure as Error).message]).toEqual([error.name, error.message]);
});

test('a platform client lists online devices, oldest first, and gets a token', async () => {
  const paths: string[] = [];
  const data = ['online', 'offline', 'online'].map((status, index) => ({ id: `dvc_${index}`, status }));
  const url = await serve(inJson((path) => paths.push(path) && { data, token: 't' }));
  const platform = new PlatformClient(new HttpClient({ endpoint: { origin: url } }));
  expect((await platform.online()).map(({ id }) => id)).toEqual(['dvc_2', 'dvc_0']);
  expect(await platform.provisioningToken()).toBe('t');
  expect(paths).toEqual(['/devices?limit=100', '/provisioning_tokens']);
});
