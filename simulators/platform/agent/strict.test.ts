import type { IPublishPacket } from 'mqtt-packet';
import { afterAll, expect, it } from 'vitest';
import { DIALECTS, NAMES_BY_DIALECT } from '../../../harness/contract/versions.ts';
import { enrolDevice, KEY_BITS } from '../../../harness/tools/subjects/simulators.ts';
import { eventually, scratch } from '../../common/testing/scratch.ts';
import { createDevice, createKit, deploy, type Kit, startPlatform, type TestPlatform } from '../testing/kit.ts';
import { deviceJwt, robotKey } from './testing/agent-host.ts';
import { AGENT_OPERATIONS } from './testing/agent-operations.ts';
import { exchangeProblems, messageProblems, type Wiretap, wiretap } from './testing/wiretap.ts';

const SECOND = 1_000_000_000;

async function committedKit(platform: TestPlatform): Promise<Kit & { commit: string }> {
  const { id: commit } = await platform.create('/git_commits', {
    sha: 'abcdef0',
    message: 'a commit',
    origin: 'git@github.com:example/robots.git',
  });
  return { ...(await createKit(platform, undefined, commit)), commit };
}

const platform = await startPlatform({ mqtt: {}, minKeyBits: KEY_BITS });
afterAll(() => platform.stop());

const driven = new Set<string>();
const call = async (id: string, path: string, bearer: string, body?: object) => {
  const method = AGENT_OPERATIONS.find((operation) => operation.id === id)?.method ?? 'GET';
  const response = await fetch(`${platform.agentUrl}/agent/v1${path}`, {
    method,
    headers: {
      'service-version': 'v0.4',
      ...(bearer !== '' && { authorization: `Bearer ${bearer}` }),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer = await response.text();
  const exchange = { method, path: `/agent/v1${path.replace(/\?.*/, '')}`, status: response.status, answer };
  expect(exchangeProblems({ ...exchange, body: body === undefined ? '' : JSON.stringify(body) })).toEqual([]);
  if (response.status === 200) driven.add(id);
  return { status: response.status, answer, headers: response.headers };
};
const enrol = async (name: string) => {
  const key = robotKey(name, KEY_BITS);
  const body = { public_key_pem: key.publicPem, agent_version: 'v1', name };
  const invitation = await platform.provisioningToken();
  const { id } = JSON.parse((await call('provisionDevice', '/devices/provision', invitation, body)).answer);
  const issued = await call('issueDeviceToken', '/devices/token', deviceJwt(key, Date.now()));
  return { id: String(id), token: String(JSON.parse(issued.answer).token), invitation };
};

it('every operation of the agent API answers with exactly the published fields', async () => {
  const { id, token, invitation } = await enrol('one');
  const kit = await committedKit(platform);
  const bare = await createKit(platform);
  await call('getVersion', '/version', token);
  await call('getDeviceSelf', '/device', token);
  platform.port.setConnected(id, true);
  await call('updateDeviceByAgent', `/devices/${id}`, token, { agent_version: 'v2' });
  platform.port.setConnected(id, false);
  await call('updateDeviceByAgent', `/devices/${id}`, token, {});

  const first = await deploy(platform, bare, id);
  await call('updateDeployment', `/deployments/${first}`, token, {
    activity_status: 'deployed',
    error_status: 'none',
    deployed_at: '2026-01-01T00:00:00.000000001Z',
  });
  const second = await deploy(platform, kit, id);
  for (const expand of ['', 'expand=release', 'expand=release.git_commit&expand[]=config_instances']) {
    const page = await call('listDeployments', `/deployments?expand=total_count&${expand}`, token);
    expect(JSON.parse(page.answer)).toMatchObject({ data: [{ id: first }, { id: second }], total_count: 2 });
    await call('getDeployment', `/deployments/${second}?${expand}`, token);
  }
  const list = async (query: string) =>
    JSON.parse((await call('listDeployments', `/deployments?${query}`, token)).answer);
  const paged = 'activity_status=queued%7Cdeployed&limit=1';
  expect(await list(paged)).toMatchObject({ limit: 1, offset: 0, has_more: true, data: [{ id: first }] });
  expect(await list(`${paged}&offset=1`)).toMatchObject({ offset: 1, has_more: false, data: [{ id: second }] });
  expect(await list('activity_status=queued')).toMatchObject({ limit: 10, data: [{ id: second }] });
  expect(await list('offset=99')).toMatchObject({ has_more: false, data: [] });
  expect(await list('')).not.toHaveProperty('total_count');
  const [without, withCommit] = (await list('expand=release.git_commit')).data;
  expect(without.release).toMatchObject({ id: bare.release, git_commit_id: null, git_commit: null });
  expect(withCommit.release).toMatchObject({ id: kit.release, git_commit: { id: kit.commit } });
  await call('updateDeployment', `/deployments/${second}?expand=release.git_commit&expand=config_instances`, token, {
    error_status: 'retrying',
  });
  await call('updateDeployment', `/deployments/${second}`, token, {
    activity_status: 'archived',
    error_status: 'failed',
    archived_at: new Date().toISOString(),
  });
  await call('getRelease', `/releases/${bare.release}`, token);
  await call('getRelease', `/releases/${kit.release}`, token);
  await call('getGitCommit', `/git_commits/${kit.commit}`, token);
  const content = await call('getConfigInstanceContent', `/config_instances/${kit.instance}/content`, token);
  expect(content).toMatchObject({ status: 200, answer: '{"speed":1}' });
  expect(content.headers.get('content-type')).toBe('application/json');
  expect(content.headers.get('content-disposition')).toBe('inline');
  const attached = `/config_instances/${kit.instance}/content?disposition=attachment`;
  const { headers } = await call('getConfigInstanceContent', attached, token);
  expect(headers.get('content-disposition')).toBe('attachment');
  const again = { public_key_pem: robotKey('again', KEY_BITS).publicPem, agent_version: 'v3' };
  await call('reprovisionDevice', '/devices/reprovision', invitation, again);
  expect(AGENT_OPERATIONS.map((operation) => operation.id).filter((each) => !driven.has(each))).toEqual([]);
});

it('every operation of the agent API refuses with the published error body', async () => {
  const { token } = await enrol('two');
  const kit = await createKit(platform);
  const foreign = await deploy(platform, kit, await createDevice(platform));
  const three = { public_key_pem: robotKey('three', KEY_BITS).publicPem, agent_version: 'v1', name: 'three' };
  const deployed = { activity_status: 'deployed' };
  const refused: [status: number, ...request: Parameters<typeof call>][] = [
    ...['', 'a.b.c'].flatMap((bearer) =>
      AGENT_OPERATIONS.flatMap(({ id, method, path }): typeof refused =>
        method === 'GET' ? [[401, id, path.replace('{id}', 'x'), bearer]] : [],
      ),
    ),
    [401, 'provisionDevice', '/devices/provision', 'wrong', three],
    [401, 'issueDeviceToken', '/devices/token', 'a.b.c'],
    [400, 'listDeployments', '/deployments?activity_status=gone', token],
    [400, 'listDeployments', '/deployments?expand=everything', token],
    [404, 'getDeployment', '/deployments/dpl_nothing', token],
    [404, 'updateDeployment', '/deployments/dpl_nothing', token, deployed],
    [403, 'updateDeviceByAgent', '/devices/dvc_other', token, {}],
    [404, 'getRelease', '/releases/rls_nothing', token],
    [404, 'getGitCommit', '/git_commits/nothing', token],
    [404, 'getConfigInstanceContent', '/config_instances/nothing/content', token],
    [400, 'getConfigInstanceContent', '/config_instances/nothing/content?disposition=x', token],
    [404, 'getDeployment', `/deployments/${foreign}`, token],
    [404, 'updateDeployment', `/deployments/${foreign}`, token, deployed],
    [403, 'getConfigInstanceContent', `/config_instances/${kit.instance}/content`, token],
  ];
  for (const [status, ...request] of refused) expect((await call(...request)).status, request[1]).toBe(status);
});

it.for(DIALECTS)('in dialect %s, device and platform send only published traffic', async (dialect) => {
  using folder = scratch();
  const { versionHeader, agentHeaderPrefix } = NAMES_BY_DIALECT[dialect];
  await using platform = await startPlatform({ mqtt: {}, minKeyBits: KEY_BITS, dialect });
  const line = await wiretap({ url: platform.agentUrl, mqttUrl: platform.mqttUrl ?? '' });
  const kit = await committedKit(platform);
  const options = { platform: line.url, mqtt: line.mqttUrl, dialect, token: platform.provisioningToken };
  const robot = await enrolDevice(folder.path, options);
  const id = robot.deviceId;
  const shown = (deployment: string, activity: string) =>
    eventually(async () => {
      const { body } = await platform.get(`/deployments/${deployment}`);
      expect(body['activity_status']).toBe(activity);
    });
  const first = await deploy(platform, kit, id);
  await shown(first, 'deployed');
  const second = await deploy(platform, await createKit(platform), id);
  await shown(second, 'deployed');
  await shown(first, 'archived');
  const impossible = await deploy(platform, await createKit(platform, `/srv/${'x'.repeat(300)}.json`), id);
  await shown(impossible, 'archived');
  expect((await platform.create(`/devices/${id}/ping`, { timeout_nanos: 9 * SECOND }))['code']).toBe('success');
  await robot[Symbol.asyncDispose]();

  expect(line.exchanges.flatMap(exchangeProblems)).toEqual([]);
  for (const { headers } of line.exchanges) {
    expect(headers[versionHeader.toLowerCase()]).toBe('v0.4');
    for (const name of ['Version', 'Host-Name', 'Arch', 'Language', 'OS'])
      expect(headers[`${agentHeaderPrefix}-${name}`.toLowerCase()]).toMatch(/\S/);
  }
  expect(messages(line).flatMap(({ topic, payload }) => messageProblems(topic, payload.toString()))).toEqual([]);
  expect(new Set(messages(line).map(({ topic }) => topic.split('/').at(-1)))).toEqual(
    new Set(['sync', 'ping', 'pong']),
  );
  const [connected] = line.packets;
  expect(connected).toMatchObject({
    from: 'agent',
    packet: { cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clean: true, clientId: id, keepalive: 20 },
  });
  const subscribed = line.packets.map(({ packet }) => packet).find(({ cmd }) => cmd === 'subscribe');
  const topics = [`cmd/devices/${id}/sync`, `v1/cmd/devices/${id}/ping`];
  expect(subscribed).toMatchObject({ subscriptions: topics.map((topic) => ({ topic, qos: 1 })) });
});

const messages = ({ packets }: Wiretap): IPublishPacket[] =>
  packets.map(({ packet }) => packet).filter((packet) => packet.cmd === 'publish');
