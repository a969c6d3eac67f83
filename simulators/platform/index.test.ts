import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import type { NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, test, vi } from 'vitest';
import { scratch } from '../common/testing/scratch.ts';
import { isLoopback, reachableHost, urlHost } from './address.ts';
import { simulatePlatform } from './index.ts';
import { createDevice, createKit, deploy, startPlatform } from './testing/kit.ts';

it('a platform has a generated key, and stops once, while a ping waits and a connection idles', async () => {
  const platform = await startPlatform({ mqtt: {} });
  expect(platform.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/beta$/);
  expect(platform.apiKey.length).toBeGreaterThanOrEqual(32);
  const { id } = await platform.create('/devices', { name: 'robot' });
  // Stopped timers keep the ping from timing out.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const ping = platform.post(`/devices/${id}/ping`, { timeout_nanos: 10_000_000_000 }).catch(() => 'cut');
  expect((await platform.get('/principal')).status).toBe(200);
  await Promise.all([platform.stop(), platform.stop(), platform[Symbol.asyncDispose]()]);
  await ping;
  await expect(platform.get('/principal')).rejects.toThrow();
});

it('an unauthorized request is answered before its body is complete, and the server keeps serving', async () => {
  await using platform = await startPlatform();
  const call = request(`${platform.url}/devices`, { method: 'POST', headers: { 'content-length': 1_000_000 } });
  call.on('error', () => {}).write('{');
  const [{ statusCode }] = await once(call, 'response');
  expect(statusCode).toBe(401);
  expect((await platform.get('/devices')).status).toBe(200);
});

it.for([
  ['git@github.com:example/robots.git', 'github', 'https://github.com/example/robots'],
  ['https://gitlab.com/example/group/robots', 'gitlab', 'https://gitlab.com/example/group/robots'],
  ['ssh://git@bitbucket.org:22/example/robots.git', 'bitbucket', 'https://bitbucket.org/example/robots'],
] as const)('a git commit of %s gets the type and URL of its repository', async ([origin, type, url]) => {
  await using platform = await startPlatform();
  const body = { sha: 'ABCDEF1', message: '', origin };
  const made = await platform.create('/git_commits', body);
  expect(made).toMatchObject({ sha: 'abcdef1', repository_type: type, repository_url: url });
  expect((await platform.post('/git_commits', body)).status).toBe(409);
  const reference = { version: '1', config_schema_ids: [], git_commit_ref: { sha: 'abcdef1' } };
  const release = await platform.create('/releases', reference);
  expect(release['git_commit_id']).toBe(made.id);
});

const address = (text: string, internal = false) =>
  ({ address: text, family: text.includes(':') ? 'IPv6' : 'IPv4', internal }) as NetworkInterfaceInfo;
const machine = (own: readonly string[]): typeof networkInterfaces => {
  return () => ({ lo: [address('127.0.0.1', true), address('::1', true)], eth0: own.map((each) => address(each)) });
};

const LOOPBACK = ['127.0.0.1', '127.8.9.10', '::1', '0:0:0:0:0:0:0:1', 'localhost', '127.1'];
const OTHER = ['0.0.0.0', '0', '::', '10.0.0.7', 'fd00::1', 'robots.example', '::ffff:10.0.0.7'];

test.each([...LOOPBACK, ...OTHER])('whether the host %s is loopback is recognised', (host) => {
  expect(isLoopback(host)).toBe(LOOPBACK.includes(host));
});

test.each(['', 'a b', 'http://x', 'x:80', 'user@x', 'x/y', 'x?y', 'fe80::1%eth0', '1.2.3.999', '[::1]'])(
  'the text %j is not a valid host',
  (host) => {
    expect(urlHost(host)).toBeUndefined();
    expect(isLoopback(host)).toBe(false);
  },
);

test.each<[host: string, own: string[], advertised: string]>([
  ['127.0.0.1', ['10.0.0.7'], '127.0.0.1'],
  ['10.1.1.1', ['10.0.0.7'], '10.1.1.1'],
  ['robots.example', ['10.0.0.7'], 'robots.example'],
  ['fd00::1', ['10.0.0.7'], '[fd00::1]'],
  ['0.0.0.0', ['fd00::1', '10.0.0.7'], '10.0.0.7'],
  ['0', ['10.0.0.7'], '10.0.0.7'],
  ['::', ['fe80::1', 'fd00::1', '10.0.0.7'], '10.0.0.7'],
  ['::', ['fe80::1', 'fd00::1'], '[fd00::1]'],
  ['0.0.0.0', ['fd00::1'], '127.0.0.1'],
  ['::', [], '127.0.0.1'],
])('the host %s of a machine with the addresses %j is advertised as %s', (host, own, advertised) => {
  expect(reachableHost(host, machine(own))).toBe(advertised);
});

it('a database file is reopened with its lists and deployments, and with every device disconnected', async () => {
  using folder = scratch();
  const db = join(folder.path, 'platform.db');
  const robot = await (async () => {
    await using platform = await startPlatform({ db, seed: 1 });
    const kit = await createKit(platform);
    const id = await createDevice(platform);
    const token = await platform.provisioningToken();
    const { name } = platform.port.deviceById(id) ?? { name: '' };
    platform.port.provision(token, { name, agent_version: 'v1', public_key_pem: 'pem', fingerprint: 'f' });
    platform.port.setConnected(id, true);
    platform.port.report(id, await deploy(platform, kit, id), { activity_status: 'deployed' });
    return id;
  })();
  await using platform = await startPlatform({ db, seed: 1, devices: 50 });
  const shown = (await platform.get(`/devices/${robot}?expand=current_deployment`)).body;
  expect(shown).toMatchObject({ status: 'offline', current_deployment: { status: 'deployed' } });
  // `devices` adds no devices to a database that has some.
  expect((await platform.get('/devices?expand=total_count')).body).toMatchObject({ total_count: 1 });
  expect((await createDevice(platform)).startsWith('dvc_')).toBe(true);
  expect(platform.port.deviceByFingerprint('f')?.id).toBe(robot);
});

it('a database file remembers after a restart which deployments each agent has seen', async () => {
  using folder = scratch();
  const db = join(folder.path, 'platform.db');
  const query = { activity: ['queued', 'deployed'], limit: 10, offset: 0, expand: [] };
  const [robot, kit, told] = await (async () => {
    await using platform = await startPlatform({ db, seed: 1 });
    const [made, id] = [await createKit(platform), await createDevice(platform)];
    const deployment = await deploy(platform, made, id);
    expect(platform.port.deployments(id, query).total).toBe(1);
    return [id, made, deployment] as const;
  })();
  await using platform = await startPlatform({ db, seed: 1 });
  const replacement = await deploy(platform, kit, robot);
  const { items } = platform.port.deployments(robot, query);
  const listed = items.map(({ id, target_status }) => `${id} ${target_status}`);
  expect(listed).toEqual([`${told} archived`, `${replacement} deployed`]);
});

/** More than the 511 connections that Node queues by default. */
const CLIENTS = 1000;
const SYSTEM = '/proc/sys/net/core/somaxconn';
const allowed = existsSync(SYSTEM) ? Number(readFileSync(SYSTEM, 'utf8')) : 0;

const CONNECT = `
const net = require('node:net');
let left = ${CLIENTS};
for (let client = 0; client < ${CLIENTS}; client += 1)
  net.connect(Number(process.argv[1]), '127.0.0.1', () => (left -= 1) === 0 && process.exit(0))
    .on('error', () => process.exit(1));
`;

test.skipIf(allowed <= CLIENTS)(
  `a platform that is busy for a while keeps ${CLIENTS} clients that ` +
    `connect${allowed <= CLIENTS ? ` (skipped: ${SYSTEM} allows fewer)` : ''}`,
  async () => {
    await using platform = await simulatePlatform({ seed: 1 });
    const { port } = new URL(platform.url);
    const { status, signal } = spawnSync(process.execPath, ['-e', CONNECT, port], { timeout: 30_000 });
    expect({ status, signal }).toEqual({ status: 0, signal: null });
  },
);
