import { afterEach, beforeEach, expect, it } from 'vitest';
import { enrolDevice, KEY_BITS } from '../../../harness/tools/subjects/simulators.ts';
import { send } from '../../common/testing/requests.ts';
import { eventually, scratch } from '../../common/testing/scratch.ts';
import { startPlatform, type TestPlatform } from '../testing/kit.ts';

let platform: TestPlatform;
beforeEach(async () => {
  platform = await startPlatform({ devices: 12, seed: 3, control: { port: 0 } });
});
afterEach(() => platform.stop());

async function control(method: string, path: string, body?: unknown, headers = {}, of = platform) {
  const { hostname, port } = new URL(of.controlUrl ?? '');
  const authorization = `Bearer ${of.controlToken}`;
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const options = { hostname, port, method, path, headers: { authorization, ...type, ...headers } };
  const { status, json = {} } = await send(options, body);
  return { status, body: json as Record<string, unknown> };
}

const firstDevice = async (status: string): Promise<string> =>
  (await platform.items(`/devices?status=${status}`))[0]?.id ?? '';
const LISTS = ['/devices', '/deployments', '/groups', '/releases'];
const textOf = async (path: string) => (await platform.get(`${path}?limit=100&expand=total_count`)).text;
const everything = () => Promise.all(LISTS.map(textOf));

it('the control API shows the addresses of platform and broker, and the dialect', async () => {
  const { body } = await control('GET', '/');
  expect(body).toEqual({ url: platform.url, agent_url: platform.agentUrl, dialect: 'spec', snapshots: [], plans: [] });
  await using withBroker = await startPlatform({ mqtt: {}, control: { port: 0 } });
  expect(await control('GET', '/', undefined, {}, withBroker)).toMatchObject({ body: { mqtt: withBroker.mqttUrl } });
});

it('the state returns to the start at every reset', async () => {
  const before = await everything();
  const made: string[] = [];
  for (let round = 0; round < 3; round += 1) {
    const { id } = await platform.create('/devices', { name: 'new' });
    made.push(id);
    await control('POST', `/devices/${await firstDevice('offline')}/archive`);
    await control('POST', '/plans', { path: '/devices', fault: '429' });
    expect(await control('POST', '/reset')).toMatchObject({ status: 204 });
    expect(await everything()).toEqual(before);
    expect((await platform.get(`/devices/${id}`)).status).toBe(404);
  }
  expect(new Set(made).size).toBe(1);
});

it('the state is restored from a named snapshot, and a later snapshot may reuse the name', async () => {
  expect(await control('POST', '/snapshots', { name: 'empty' })).toMatchObject({ status: 201 });
  await platform.create('/devices', { name: 'one' });
  await control('POST', '/snapshots', { name: 'with one' });
  const withOne = await everything();
  await platform.create('/devices', { name: 'two' });
  await control('POST', '/snapshots/with%20one/restore');
  expect(await everything()).toEqual(withOne);
  expect((await control('GET', '/snapshots')).body).toEqual({ data: ['empty', 'with one'] });
  await control('POST', '/snapshots', { name: 'empty' });
  await control('POST', '/reset');
  await control('POST', '/snapshots/empty/restore');
  expect(await everything()).toEqual(withOne);
  expect(await control('DELETE', '/snapshots/empty')).toMatchObject({ status: 204 });
  expect(await control('POST', '/snapshots/empty/restore')).toMatchObject({
    status: 404,
    body: {
      error: { code: 'snapshot_not_found', message: expect.stringContaining('there are: "start", "with one"') },
    },
  });
});

it('a plan answers the next requests of its route with the given answer', async () => {
  const stub = {
    path: '/devices/{device_id}',
    method: 'GET',
    times: 2,
    answer: { status: 418, headers: { 'X-Tea': 'yes' }, body: { pot: 1 } },
  };
  const { body: plan } = await control('POST', '/plans', stub);
  const id = await firstDevice('offline');
  for (let turn = 0; turn < 2; turn += 1) {
    const answer = await platform.get(`/devices/${id}?expand=group`);
    expect(answer).toMatchObject({ status: 418, body: { pot: 1 } });
    expect(answer.headers.get('x-tea')).toBe('yes');
  }
  expect((await platform.get(`/devices/${id}`)).status).toBe(200);
  expect((await platform.get('/devices')).status).toBe(200);
  expect((await control('GET', '/plans')).body).toEqual({ data: [{ id: plan['id'], used: 2, ...stub }] });
});

it.for([
  ['POST', '/devices/dvc_none/archive', undefined, 404, /no device "dvc_none"/],
  ['POST', '/devices/dvc_none/group', {}, 400, /group_id/],
  ['POST', '/snapshots', { name: 'start' }, 409, /state at the start/],
  ['POST', '/snapshots', { name: '' }, 400, /name/],
  ['POST', '/plans', { path: '/x' }, 400, /either an answer or a fault/],
  ['POST', '/plans', { path: 'x', fault: '429' }, 400, /does not begin with \//],
  ['POST', '/plans', { path: '/x', fault: 'no' }, 400, /accepted are latency/],
  ['POST', '/plans', { path: '/x', answer: { status: 99 } }, 400, /status/],
  ['POST', '/plans', { path: '/x', fault: '429', time: 1 }, 400, /time/],
  ['DELETE', '/plans/7', undefined, 404, /no plan 7/],
  ['POST', '/plans', '{', 400, /JSON/],
  ['GET', '/nonsense', undefined, 404, /no GET \/nonsense/],
] as const)('request %s %s with %j is refused with its reason', async ([method, path, body, status, reason]) => {
  const answer = await control(method, path, body);
  expect(answer.status).toBe(status);
  expect((answer.body['error'] as { message: string }).message).toMatch(reason);
});

it('a device that is set online and then offline loses the connection of its agent', async () => {
  await platform.stop();
  platform = await startPlatform({ mqtt: {}, minKeyBits: KEY_BITS, control: { port: 0 } });
  using folder = scratch();
  const { agentUrl, mqttUrl: mqtt, provisioningToken: token } = platform;
  await using robot = await enrolDevice(folder.path, { platform: agentUrl, mqtt, token });
  for (const state of ['online', 'offline'])
    expect(await control('POST', `/devices/${robot.deviceId}/${state}`)).toMatchObject({ status: 200 });
  await eventually(() => expect(robot.uplink?.lastDisconnectedAt).toBeDefined());
});

it('the control API refuses requests without its token on any path', async () => {
  for (const path of ['/', '/reset', '/nonsense']) {
    const refused = await control('POST', path, undefined, { authorization: 'Bearer wrong-token-of-someone' });
    expect(refused).toMatchObject({ status: 401, body: { error: { code: 'unauthorized' } } });
  }
  const { status, headers } = await fetch(platform.controlUrl ?? '');
  expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
});

it('the control API accepts an empty body with a content type', async () => {
  expect(await control('POST', '/reset', '')).toMatchObject({ status: 204 });
});
