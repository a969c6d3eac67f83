import { createServer } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { served } from '../../../harness/common/testing/servers.ts';
import { removedPayload } from '../../../harness/contract/device-api.ts';
import { eventually, useScratch } from '../../common/testing/scratch.ts';
import { MemoryPlatform } from '../../platform/agent/testing/memory-platform.ts';
import { createKit, deploy, startPlatform, type TestPlatform, unique } from '../../platform/testing/kit.ts';
import { robot as startRobot } from '../testing/robot.ts';
import { createUplink, type PollingUplinkOptions } from './index.ts';
import { ManualTime, MemoryDevice } from './testing/uplinks.ts';

const home = useScratch();
const ROBOT = { object: 'device', id: 'dvc_7', name: 'robot' };

interface Behaviour {
  devices: object[];
  /** The answer to the first `POST /devices` is lost. */
  losesDevice: boolean;
  expandsContent: boolean;
  status: number;
  /** Lists support only `limit` and `offset`, and items have few fields. */
  plain?: 'ignores filters' | 'refuses filters' | undefined;
  target: 'deployed' | 'staged';
}

async function setUp(change: Partial<Behaviour> = {}, options: Partial<PollingUplinkOptions> = {}) {
  const usual: Behaviour = { devices: [], losesDevice: false, expandsContent: true, status: 200, target: 'deployed' };
  const behaviour: Behaviour = { ...usual, ...change };
  const platform = new MemoryPlatform();
  const requests: { line: string; path: string; headers: Record<string, unknown> }[] = [];
  const listOf = (data: object[]) => ({ object: 'list', limit: 100, offset: 0, has_more: false, data });
  const answer = (method: string, url: URL): object | string => {
    const [, , collection, id = '', sub] = url.pathname.split('/');
    const textOf = (instance: string) => Buffer.from(platform.content(ROBOT.id, instance).data).toString();
    if (sub === 'content') return textOf(id);
    if (collection === 'devices') return method === 'POST' ? ROBOT : listOf(behaviour.devices);
    if (collection === 'deployments')
      return listOf(platform.deployments(ROBOT.id, { activity: ['queued'], limit: 100, offset: 0 }).items);
    const content = (instance: string) => ({ content: { format: 'json', data: textOf(instance) } });
    const ids = url.searchParams.get('id')?.split('|') ?? [];
    const shown = (id: string) => ({ object: 'config_instance', id, ...(behaviour.expandsContent && content(id)) });
    return listOf(ids.toSorted().reverse().map(shown));
  };
  const plainAnswer = (url: URL): object => {
    const [, , collection] = url.pathname.split('/');
    const [limit, offset] = ['limit', 'offset'].map((name) => Number(url.searchParams.get(name))) as [number, number];
    const items = collection === 'devices' ? behaviour.devices : plainDeployments();
    return { ...listOf(items.slice(offset, offset + limit)), has_more: offset + limit < items.length };
  };
  const plainDeployments = (): object[] => {
    const record = (id: string, device_id: string, minute: number) => {
      return { id, device_id, target_status: behaviour.target, created_at: `2026-09-01T08:0${minute}:00Z` };
    };
    const others = Array.from({ length: 230 }, (_, n) => record(`dpl_o${n}`, `dvc_o${n}`, 9));
    return [...others, record('dpl_new', ROBOT.id, 5), record('dpl_old', ROBOT.id, 1)];
  };
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://x');
    requests.push({ line: `${request.method} ${url.pathname}`, path: url.search, headers: request.headers });
    if (behaviour.status !== 200) return void response.writeHead(behaviour.status).end('{}');
    if (behaviour.plain !== undefined) {
      const filters = url.searchParams.size > 2;
      if (filters && behaviour.plain === 'refuses filters') return void response.writeHead(400).end('{}');
      return void response.end(JSON.stringify(plainAnswer(url)));
    }
    if (behaviour.losesDevice && request.method === 'POST') {
      if (behaviour.devices.push(ROBOT) === 1) return void request.socket.destroy();
      return void response.writeHead(409).end('{}');
    }
    const body = answer(request.method ?? '', url);
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  const { url } = await served(server);
  const time = new ManualTime();
  const device = new MemoryDevice();
  const identity = { name: 'robot', directory: home.path };
  const make = () =>
    createUplink({ kind: 'polling', platform: url, apiKey: 'key_secret', time, ...options })(device, identity);
  const uplink = make();
  onTestFinished(() => uplink.stop());
  return {
    ...{ behaviour, platform, requests, time, device, make, uplink, lines: () => requests.map(({ line }) => line) },
    eventually: (holds: () => void) =>
      eventually(() => {
        time.advance(1_000);
        holds();
      }),
  };
}

it('the polling uplink sends key and version, and creates the device with its name once', async () => {
  const robot = await setUp();
  await robot.uplink.start();
  expect(robot.uplink).toMatchObject({ deviceId: 'dvc_7', status: 'online' });
  expect(robot.lines()).toEqual(['GET /beta/devices', 'POST /beta/devices', 'GET /beta/deployments']);
  const headers = { 'x-api-key': 'key_secret', 'service-version': '2026-08-17.everglades' };
  expect(robot.requests[0]).toMatchObject({ headers });
  await robot.uplink.stop();
  const next = robot.make();
  await next.start();
  expect(robot.lines().slice(3)).toEqual(['GET /beta/deployments']);
  await next.stop();
  expect(robot.time.waiting).toEqual([]);
});

it('the polling uplink is the device that it created when the answer was lost', async () => {
  const robot = await setUp({ losesDevice: true });
  const starting = robot.uplink.start();
  const posts = () => robot.lines().filter((line) => line === 'POST /beta/devices');
  await robot.eventually(() => expect(posts()).toHaveLength(2));
  await starting;
  expect(robot.uplink.deviceId).toBe(ROBOT.id);
});

it.each([true, false])(
  'the polling uplink applies deployments (content can be expanded: %s)',
  async (expandsContent) => {
    const robot = await setUp({ expandsContent });
    robot.platform.deploy(ROBOT.id, { '/a.json': '1', '/b.json': '2' });
    await robot.uplink.start();
    expect(Object.fromEntries(robot.device.files)).toEqual({ '/a.json': '1', '/b.json': '2' });
    expect(robot.lines().filter((line) => line.endsWith('/content'))).toHaveLength(expandsContent ? 0 : 2);
  },
);

it.each(['ignores filters', 'refuses filters'] as const)(
  'the polling uplink reads all pages of a platform that %s, and applies its device’s newest deployment',
  async (plain) => {
    const others = Array.from({ length: 120 }, (_, n) => ({ id: `dvc_o${n}`, name: `other ${n}` }));
    const robot = await setUp({ plain, devices: [...others, ROBOT] }, { intervalMs: 5_000 });
    await robot.uplink.start();
    expect(robot.uplink.deviceId).toBe(ROBOT.id);
    expect(robot.device.events).toEqual(['deployed dpl_new']);
    const refused = plain === 'refuses filters' ? 1 : 0;
    expect(robot.lines()).toEqual([
      ...Array.from({ length: 2 + refused }, () => 'GET /beta/devices'),
      ...Array.from({ length: 3 + refused }, () => 'GET /beta/deployments'),
    ]);
    const before = robot.requests.length;
    robot.time.advance(5_000);
    await eventually(() => expect(robot.requests).toHaveLength(before + 3));
    expect(robot.requests.slice(before).filter(({ path }) => path.includes('device_id'))).toHaveLength(
      plain === 'refuses filters' ? 0 : 3,
    );
  },
);

it('the polling uplink uses the device id of its option deviceOf, without listing devices', async () => {
  const robot = await setUp({ plain: 'ignores filters' }, { deviceOf: () => 'dvc_o7' });
  await robot.uplink.start();
  expect(robot.uplink.deviceId).toBe('dvc_o7');
  expect(robot.device.events).toEqual(['deployed dpl_o7']);
  expect(robot.lines()).not.toContain('GET /beta/devices');
});

it.each([true, false])(
  'the polling uplink applies staged deployments only with its option takesStaged (%s)',
  async (takesStaged) => {
    const robot = await setUp({ plain: 'ignores filters', target: 'staged', devices: [ROBOT] }, { takesStaged });
    await robot.uplink.start();
    expect(robot.device.events).toEqual(takesStaged ? ['deployed dpl_new'] : []);
  },
);

it.each<[what: string, options: Partial<PollingUplinkOptions>]>([
  ['that looks its device up', {}],
  ['that knows its device', { deviceOf: () => ROBOT.id }],
])('the polling uplink %s is online only while the platform answers', async (_, options) => {
  const robot = await setUp({ status: 503 }, options);
  let isOnline = false;
  const starting = robot.uplink.start().then(() => {
    isOnline = true;
  });
  await eventually(() => expect(robot.uplink.status).toBe('offline'));
  expect(isOnline).toBe(false);
  robot.behaviour.status = 200;
  await robot.eventually(() => expect(robot.uplink.status).toBe('online'));
  await starting;
  robot.behaviour.status = 503;
  expect(await robot.uplink.sync()).toMatchObject({ code: 'in_cooldown' });
  expect(robot.uplink.status).toBe('offline');
  expect(robot.uplink.lastDisconnectedAt).toBeDefined();
});

it('the polling uplink goes on with its filter after a refusal of every request', async () => {
  const robot = await setUp({ devices: [ROBOT] });
  await robot.uplink.start();
  robot.behaviour.status = 400;
  expect(await robot.uplink.sync()).toMatchObject({ code: 'in_cooldown' });
  robot.behaviour.status = 200;
  await robot.eventually(() => expect(robot.uplink.status).toBe('online'));
  expect(robot.requests.at(-1)?.path).toContain(`device_id=${ROBOT.id}`);
});

const NEEDED = ['deployments:read', 'config_instances:read', 'devices:read', 'devices:write'];
const LIMITED = 'key-of-the-robots';

const platformFor = async (scopes: string[]): Promise<TestPlatform> => {
  const owner = { key: 'owner', scopes: 'all' as const };
  const platform = await startPlatform({ mqtt: false, keys: [owner, { key: LIMITED, scopes }] });
  onTestFinished(() => platform.stop());
  return platform;
};

const robotOf = async (platform: TestPlatform, apiKey = LIMITED) => {
  const uplink = createUplink({ kind: 'polling', platform: platform.url, apiKey, intervalMs: 50 });
  const robot = await startRobot({ name: unique('polling'), uplink });
  onTestFinished(() => robot[Symbol.asyncDispose]());
  return robot;
};

it('a polling uplink with the scopes that it needs enrols, and applies a deployment and its replacement', async () => {
  const platform = await platformFor(NEEDED);
  const kit = await createKit(platform);
  const robot = await robotOf(platform);
  await robot.device.uplink?.start();
  const stream = await robot.listen();
  const seen = () => stream.events.map(({ type, envelope }) => `${type} ${Object(envelope.data).deployment_id}`);

  const id = robot.device.uplink?.deviceId ?? '';
  const first = await deploy(platform, kit, id);
  await eventually(() => expect(seen()).toEqual([`deployment.deployed ${first}`]));
  const second = await deploy(platform, kit, id);
  const all = [`deployment.deployed ${first}`, `deployment.removed ${first}`, `deployment.deployed ${second}`];
  await eventually(() => expect(seen()).toEqual(all));
  expect(removedPayload.problems(stream.events[1]?.envelope.data)).toEqual([]);
  expect((await robot.ask('/deployments/current')).json).toMatchObject({ id: second, status: 'deployed' });
  // The public API accepts no reports.
  expect((await platform.get(`/deployments/${second}`)).body).toMatchObject({ status: 'queued' });
  expect((await platform.get(`/deployments/${first}`)).body).toMatchObject({ status: 'archived' });
});

it.each([
  ['a key without deployments:read', LIMITED, 403, 'GET /deployments'],
  ['a key without devices:read', LIMITED, 403, 'GET /devices'],
  ['a key without devices:write', LIMITED, 403, 'POST /devices'],
  ['an unknown key', 'another key', 401, 'GET /devices'],
])('polling with %s fails, names the refused request, and hides the key', async (what, key, status, request) => {
  const robot = await robotOf(await platformFor(NEEDED.filter((scope) => !what.endsWith(scope))), key);
  const failure = await robot.device.uplink?.start().catch((error: Error) => error);
  expect(String(failure)).toMatch(new RegExp(`HTTP ${status} .*\\(${request}\\)`));
  expect(String(failure)).not.toContain(key);
  expect(robot.device.uplink?.status).not.toBe('online');
});
