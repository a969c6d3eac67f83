/** The agent uplink against the agent side, on real sockets: the main path, and what survives a restart of either end. */

import { access, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { generate, type Packet } from 'mqtt-packet';
import { describe, expect, it } from 'vitest';
import { agentTopics } from '../../../harness/contract/agent.ts';
import { eventually } from '../../common/testing/eventually.ts';
import { agentHost } from '../../platform/agent/testing/agent-host.ts';
import { localhostTls } from '../../platform/agent/testing/localhost-tls.ts';
import { DeployError } from '../ports.ts';
import { createUplink } from './index.ts';
import { MemoryDevice } from './testing/memory-device.ts';
import { KEY_BITS, testRobot } from './testing/robot.ts';
import { scriptedBroker, welcoming } from './testing/scripted-broker.ts';

const count = (requests: string[], request: string) => requests.filter((each) => each === request).length;
const portOf = (url: string) => Number(new URL(url).port);

describe('the agent uplink', () => {
  it('enrols, says its version, connects, deploys what is wanted, reports it, and answers pings', async () => {
    await using robot = await testRobot({ uplink: { agentVersion: 'v9.9.9' } });
    const { host, uplink, device } = robot;
    expect([uplink.status, uplink.deviceId, uplink.lastSyncedAt]).toEqual(['starting', undefined, undefined]);
    await uplink.start();
    const id = robot.id();
    expect(uplink.status).toBe('online');
    expect(host.platform.devices.get(id)).toMatchObject({ name: 'robot', status: 'online', agent_version: 'v9.9.9' });
    expect(robot.requests).toEqual([
      'POST /devices/provision',
      'POST /devices/token',
      `PATCH /devices/${id}`,
      'GET /deployments',
    ]);
    expect(uplink.lastConnectedAt).toBeDefined();
    expect(uplink.lastSyncedAt).toBeDefined();
    expect(await host.side.messenger.ping(id, 5e9)).toMatchObject({ code: 'success' });
    const deployment = host.deploy(id, { '/a.json': '{"a":1}' });
    await eventually(() => expect(host.platform.stored(deployment).status).toBe('deployed'));
    expect(device.files.get('/a.json')).toBe('{"a":1}');
    await uplink.stop();
    expect(uplink.status).toBe('stopped');
    await eventually(() => expect(host.platform.devices.get(id)?.status).toBe('offline'));
    expect(robot.time.waiting).toEqual([]);
  });

  it('is the same device after a restart, without a provisioning token', async () => {
    await using robot = await testRobot();
    await robot.uplink.start();
    await robot.uplink.stop();
    await using next = createUplink({
      kind: 'agent',
      platform: robot.host.url,
      mqtt: robot.host.mqttUrl,
      time: robot.time,
    })(robot.device, { name: 'robot', directory: robot.directory });
    await next.start();
    expect(next.deviceId).toBe(robot.uplink.deviceId);
    expect(count(robot.requests, 'POST /devices/provision')).toBe(1);
  });

  it('is the same device even if the run that was provisioned ended before it could write that down', async () => {
    await using robot = await testRobot();
    await robot.uplink.start();
    await robot.uplink.stop();
    await rm(`${robot.directory}/identity/device.json`);
    const next = robot.anotherRun({ token: 'spent' });
    await next.start();
    expect(next.deviceId).toBe(robot.uplink.deviceId);
    await expect(access(`${robot.directory}/identity/device.json`)).resolves.toBeUndefined();
  });

  it('deploys what was queued while it was away, once, and only the latest', async () => {
    await using robot = await testRobot();
    const { host, device } = robot;
    await robot.uplink.start();
    await robot.uplink.stop();
    const first = host.deploy(robot.id(), { '/a.json': '1' });
    const second = host.deploy(robot.id(), { '/b.json': '2' });
    await robot.anotherRun().start();
    await eventually(() => expect(host.platform.stored(second).status).toBe('deployed'));
    expect(host.platform.stored(first).status).toBe('archived');
    expect(device.events).toEqual([`deployed ${second}`]);
  });

  it('ends with the newer deployment when one is replaced while it is being applied', async () => {
    await using robot = await testRobot();
    const { host, device } = robot;
    await robot.uplink.start();
    const gate = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    device.beforeDeploy = ({ id }) => {
      if (id !== first) return undefined;
      reached.resolve();
      return gate.promise;
    };
    const first = host.deploy(robot.id(), { '/a.json': '1' });
    await reached.promise;
    const second = host.deploy(robot.id(), { '/b.json': '2' });
    gate.resolve();
    await eventually(() => expect(host.platform.stored(second).status).toBe('deployed'));
    await eventually(() => expect(host.platform.stored(first).activity_status).toBe('archived'));
    expect([...device.files.keys()]).toEqual(['/b.json']);
    expect(device.active()).toHaveLength(1);
  });

  it('loses no request to sync when its connection breaks while it syncs', async () => {
    await using robot = await testRobot();
    const { host, device, uplink } = robot;
    await uplink.start();
    const gate = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    device.beforeDeploy = ({ id }) => {
      if (id !== first) return undefined;
      reached.resolve();
      return gate.promise;
    };
    const first = host.deploy(robot.id(), { '/a.json': '1' });
    await reached.promise;
    host.side.messenger.disconnect(robot.id());
    await eventually(() => expect(uplink.status).toBe('offline'));
    const second = host.deploy(robot.id(), { '/b.json': '2' });
    gate.resolve();
    await robot.eventually(() => expect(host.platform.stored(second).status).toBe('deployed'));
    expect(device.events).toEqual([`deployed ${first}`, `removed ${first}`, `deployed ${second}`]);
    expect(uplink.status).toBe('online');
  });

  it('tells the broker that it is synced, and listens neither to itself nor to what was retained', async () => {
    const topic = (packet: Packet) => (packet.cmd === 'publish' ? packet.topic : undefined);
    await using broker = await scriptedBroker(welcoming);
    await using robot = await testRobot({ uplink: { mqtt: `mqtt://127.0.0.1:${broker.port}` } });
    await robot.uplink.start();
    const sync = agentTopics.sync(robot.id());
    await eventually(() => expect(broker.received.at(-1)).toMatchObject({ cmd: 'publish', topic: sync }));
    expect(broker.received.at(-1)).toMatchObject({ retain: true, qos: 1, payload: Buffer.from('{"is_synced":true}') });
    const send = (payload: string, retain: boolean) => {
      const packet: Packet = { cmd: 'publish', topic: sync, payload, retain, qos: 1, dup: false, messageId: 1 };
      for (const socket of broker.sockets) socket.write(generate(packet));
    };
    send('{"is_synced":true}', false);
    send('{"is_synced":false}', true);
    send('nonsense', false);
    send('{"is_synced":false}', false);
    const synced = () => broker.received.filter((packet) => topic(packet) === sync).length;
    await eventually(() => expect(synced()).toBe(2));
    expect(broker.received.filter(({ cmd }) => cmd === 'puback')).toHaveLength(4);
    expect(count(robot.requests, 'GET /deployments')).toBe(2);
  });

  it('reads every page of what is wanted', async () => {
    await using robot = await testRobot();
    const { host, device, time } = robot;
    await robot.uplink.start();
    const ids = Array.from({ length: 250 }, (_, index) => {
      time.advance(10);
      return host.platform.deploy(robot.id(), { [`/${index}.json`]: '1' }).id;
    });
    for (const id of ids)
      Object.assign(host.platform.stored(id), { target_status: 'deployed', activity_status: 'queued' });
    await robot.uplink.sync();
    expect(device.events).toEqual([`deployed ${ids.at(-1)}`]);
    expect(count(robot.requests, 'GET /deployments')).toBe(1 + 3);
  });

  it('tells of a deployment that failed, and of one that it retries until it works', async () => {
    await using robot = await testRobot();
    const { host, device } = robot;
    await robot.uplink.start();
    device.beforeDeploy = () => new DeployError('no such place', false);
    const failed = host.deploy(robot.id(), { '/a.json': '1' });
    await eventually(() => expect(host.platform.stored(failed).status).toBe('failed'));
    expect(host.platform.stored(failed).activity_status).toBe('archived');
    device.beforeDeploy = () => new DeployError('the disk is full', true);
    const retried = host.deploy(robot.id(), { '/b.json': '2' });
    await eventually(() => expect(host.platform.stored(retried).status).toBe('retrying'));
    device.beforeDeploy = () => undefined;
    await robot.eventually(() => expect(host.platform.stored(retried).status).toBe('deployed'));
    expect([...device.files.keys()]).toEqual(['/b.json']);
  });

  it('polls twice a day when nobody tells it anything', async () => {
    await using robot = await testRobot();
    await robot.uplink.start();
    const { id } = robot.host.platform.deploy(robot.id(), { '/a.json': '1' });
    robot.time.advance(43_200_000);
    await eventually(() => expect(robot.host.platform.stored(id).status).toBe('deployed'));
  });

  it('works over TLS, with a certificate it trusts', async () => {
    await using robot = await testRobot({ host: { tls: localhostTls }, uplink: { ca: localhostTls.cert } });
    await robot.uplink.start();
    expect(robot.host.url).toMatch(/^https:/);
    expect(await robot.host.side.messenger.ping(robot.id(), 5e9)).toMatchObject({ code: 'success' });
    const deployment = robot.host.deploy(robot.id(), { '/a.json': '1' });
    await eventually(() => expect(robot.host.platform.stored(deployment).status).toBe('deployed'));
  });
});

describe('the agent uplink and its tokens', () => {
  it('gets a new one before the old expires', async () => {
    await using robot = await testRobot({ host: { tokenLifetimeMs: 120_000 } });
    const { host, time } = robot;
    await robot.uplink.start();
    for (let round = 2; round <= 4; round++) {
      time.advance(100_000);
      const deployment = host.deploy(robot.id(), { '/a.json': '1' });
      await robot.eventually(() => expect(host.platform.stored(deployment).status).toBe('deployed'));
      expect(count(robot.requests, 'POST /devices/token')).toBe(round);
    }
  });

  it('gets a new one when the platform no longer takes the old, for HTTP and for MQTT', async () => {
    await using robot = await testRobot();
    const { host, uplink } = robot;
    await uplink.start();
    await host[Symbol.asyncDispose]();
    await eventually(() => expect(uplink.status).toBe('offline'));
    const same = { port: portOf(host.url), mqtt: { port: portOf(host.mqttUrl) }, minKeyBits: KEY_BITS };
    await using next = await agentHost({ platform: host.platform, clock: robot.time, ...same });
    await robot.eventually(() => expect(uplink.status).toBe('online'));
    const deployment = next.deploy(robot.id(), { '/a.json': '1' });
    await eventually(() => expect(next.platform.stored(deployment).status).toBe('deployed'));
    expect(await next.side.messenger.ping(robot.id(), 5e9)).toMatchObject({ code: 'success' });
  });

  it('stays away, and keeps trying, when its device is gone', async () => {
    await using robot = await testRobot();
    const { host, uplink } = robot;
    await uplink.start();
    host.platform.deleteDevice(robot.id());
    host.side.messenger.disconnect(robot.id());
    await eventually(() => expect(uplink.status).toBe('offline'));
    const before = count(robot.requests, 'POST /devices/token');
    await robot.eventually(() => expect(count(robot.requests, 'POST /devices/token')).toBeGreaterThan(before + 2));
    expect(await uplink.sync()).toMatchObject({ code: 'in_cooldown' });
    expect(uplink.status).toBe('offline');
  });
});

describe('the agent uplink cannot start', () => {
  it.each([
    ['without a provisioning token', { token: 'wrong' }, /HTTP 401/],
    ['with a key that is too small', { keyBits: 512 }, /HTTP 400.*1024/],
  ])('%s, and says so', async (_, uplink, message) => {
    await using robot = await testRobot({ uplink });
    await expect(robot.uplink.start()).rejects.toThrow(message);
    expect(robot.uplink.deviceId).toBeUndefined();
    expect(robot.host.platform.devices.size).toBe(0);
  });

  it('with an address that is none', () => {
    const options = { kind: 'agent' as const, platform: 'http://127.0.0.1:1' };
    expect(() => createUplink({ ...options, platform: 'nowhere' })).toThrow(/platform is no address: http:/);
    expect(() => createUplink({ ...options, mqtt: 'http://127.0.0.1:1' })).toThrow(/mqtt is no address: mqtt:/);
  });

  it('until the platform is there', async () => {
    await using robot = await testRobot();
    const { host, uplink, time } = robot;
    await host[Symbol.asyncDispose]();
    const starting = uplink.start();
    await robot.eventually(() => expect(uplink.status).toBe('offline'));
    const same = { port: portOf(host.url), mqtt: { port: portOf(host.mqttUrl) }, minKeyBits: KEY_BITS };
    await using next = await agentHost({ platform: host.platform, clock: time, ...same });
    await robot.eventually(() => expect(uplink.status).toBe('online'));
    await starting;
    expect(next.platform.devices.size).toBe(1);
  });
});

describe('asked to sync', () => {
  it('before the platform knows it, a robot says so, and is not held up by that afterwards', async () => {
    await using robot = await testRobot();
    expect(await robot.uplink.sync()).toMatchObject({ code: 'network_connection_error' });
    await robot.uplink.start();
    expect(robot.uplink.lastSyncedAt).toBeDefined();
    expect(await robot.uplink.sync()).toMatchObject({ code: 'success' });
    await robot.uplink.stop();
    const before = robot.requests.length;
    expect(await robot.uplink.sync()).toMatchObject({ code: 'network_connection_error' });
    expect(robot.requests).toHaveLength(before);
  });
});

describe('the agent uplink stops', () => {
  it('before it was started', async () => {
    await using robot = await testRobot();
    await robot.uplink.stop();
    await expect(robot.uplink.start()).rejects.toThrow(/stopped/);
    expect(robot.requests).toEqual([]);
  });

  it('while the platform cannot be reached', async () => {
    await using robot = await testRobot();
    await robot.host[Symbol.asyncDispose]();
    const starting = robot.uplink.start();
    starting.catch(() => {});
    await robot.eventually(() => expect(robot.uplink.status).toBe('offline'));
    await robot.uplink.stop();
    await expect(starting).rejects.toThrow(/stopped/);
    expect(robot.time.waiting).toEqual([]);
  });

  it.each(['POST /devices/provision', 'POST /devices/token', 'GET /deployments'])(
    'while %s is under way, and can be started again afterwards',
    async (request) => {
      await using robot = await testRobot();
      const { uplink } = robot;
      const starting = uplink.start().catch((error: Error) => error);
      await eventually(() => expect(robot.requests).toContain(request));
      await uplink.stop();
      await starting;
      expect(robot.time.waiting).toEqual([]);
      const next = robot.anotherRun();
      await next.start();
      expect(next.status).toBe('online');
      expect(robot.host.platform.devices.size).toBe(1);
    },
  );

  it('at any moment of its start', async () => {
    await using robot = await testRobot();
    await robot.uplink.start();
    await robot.uplink.stop();
    for (let turns = 0; turns < 200; turns += 2) {
      // Every other run is provisioned again.
      if (turns % 4 === 0) await rm(join(robot.directory, 'identity', 'device.json'));
      const run = robot.anotherRun();
      const starting = run.start().catch((error: Error) => error);
      for (let turn = 0; turn < turns; turn++) await setImmediate();
      await run.stop();
      await starting;
      expect(robot.time.waiting).toEqual([]);
      if (turns % 4 === 0) {
        const restored = robot.anotherRun();
        await restored.start();
        await restored.stop();
      }
    }
    expect(robot.host.platform.devices.size).toBe(1);
  });

  it('while it deploys: the deployment is finished, and reported by the next run', async () => {
    await using robot = await testRobot();
    const { host, device, uplink } = robot;
    await uplink.start();
    const gate = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    device.beforeDeploy = () => {
      reached.resolve();
      return gate.promise;
    };
    const deployment = host.deploy(robot.id(), { '/a.json': '1' });
    await reached.promise;
    const stopping = uplink.stop();
    gate.resolve();
    await stopping;
    expect(device.events).toEqual([`deployed ${deployment}`]);
    await robot.anotherRun().start();
    expect(host.platform.stored(deployment).status).toBe('deployed');
    expect(device.events).toHaveLength(1);
  });

  it('once, however often it is asked, leaving no socket', async () => {
    await using robot = await testRobot();
    const device = new MemoryDevice();
    await robot.uplink.start();
    await Promise.all([robot.uplink.stop(), robot.uplink.stop()]);
    const connections = () =>
      new Promise<number>((resolve) => robot.host.app.server.getConnections((_, open) => resolve(open)));
    await eventually(async () => expect(await connections()).toBe(0));
    expect(device.events).toEqual([]);
  });
});
