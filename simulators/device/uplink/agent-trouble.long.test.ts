import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { eventually } from '../../common/testing/scratch.ts';
import { agentHost } from '../../platform/agent/testing/agent-host.ts';
import { createUplink } from './index.ts';
import { KEY_BITS, testRobot } from './testing/uplinks.ts';

const portOf = (url: string) => Number(new URL(url).port);

it('the token of the agent uplink is replaced before it expires', async () => {
  await using robot = await testRobot({ host: { tokenLifetimeMs: 120_000 } });
  const { host, time } = robot;
  await robot.uplink.start();
  for (let round = 2; round <= 4; round++) {
    time.advance(100_000);
    const deployment = host.deploy(robot.id(), { '/a.json': '1' });
    await robot.eventually(() => expect(host.platform.stored(deployment).status).toBe('deployed'));
    expect(robot.count('POST /devices/token')).toBe(round);
  }
});

it('the token of the agent uplink is replaced when the platform refuses it, for HTTP and for MQTT', async () => {
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

it('the token of the agent uplink is requested repeatedly after the device is deleted', async () => {
  await using robot = await testRobot();
  const { host, uplink } = robot;
  await uplink.start();
  host.platform.devices.delete(robot.id());
  host.side.messenger.disconnect(robot.id());
  await eventually(() => expect(uplink.status).toBe('offline'));
  const before = robot.count('POST /devices/token');
  await robot.eventually(() => expect(robot.count('POST /devices/token')).toBeGreaterThan(before + 2));
  expect(await uplink.sync()).toMatchObject({ code: 'in_cooldown' });
  expect(uplink.status).toBe('offline');
});

it.each([
  ['without a provisioning token', { token: 'wrong' }, /HTTP 401/],
  ['with a key that is too small', { keyBits: 512 }, /HTTP 400.*1024/],
])('the agent uplink cannot start %s, and reports the reason', async (_, uplink, message) => {
  await using robot = await testRobot({ uplink });
  await expect(robot.uplink.start()).rejects.toThrow(message);
  expect(robot.uplink.deviceId).toBeUndefined();
  expect(robot.host.platform.devices.size).toBe(0);
});

it('the agent uplink cannot start with an invalid address', () => {
  const options = { kind: 'agent' as const, platform: 'http://127.0.0.1:1' };
  expect(() => createUplink({ ...options, platform: 'nowhere' })).toThrow(/platform is no address: http:/);
  expect(() => createUplink({ ...options, mqtt: 'http://127.0.0.1:1' })).toThrow(/mqtt is no address: mqtt:/);
});

it('the agent uplink cannot start until the platform is reachable', async () => {
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

it('a sync request fails before start and after stop, and succeeds in between', async () => {
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

it('the agent uplink stops before its start, and then refuses to start', async () => {
  await using robot = await testRobot();
  await robot.uplink.stop();
  await expect(robot.uplink.start()).rejects.toThrow(/stopped/);
  expect(robot.requests).toEqual([]);
});

it('the agent uplink stops while the platform cannot be reached', async () => {
  await using robot = await testRobot();
  await robot.host[Symbol.asyncDispose]();
  const starting = robot.uplink.start();
  starting.catch(() => {});
  await robot.eventually(() => expect(robot.uplink.status).toBe('offline'));
  await robot.uplink.stop();
  await expect(starting).rejects.toThrow(/stopped/);
  expect(robot.time.waiting).toEqual([]);
});

it('the agent uplink stops at any moment of its start', async () => {
  await using robot = await testRobot();
  await robot.uplink.start();
  await robot.uplink.stop();
  for (let turns = 0; turns < 200; turns += 2) {
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

it('the agent uplink stops after it finishes a deployment in progress, which the next run reports', async () => {
  await using robot = await testRobot();
  const { host, device, uplink } = robot;
  await uplink.start();
  const { deployment, finish } = await robot.beginDeployment();
  const stopping = uplink.stop();
  finish();
  await stopping;
  expect(device.events).toEqual([`deployed ${deployment}`]);
  await robot.anotherRun().start();
  expect(host.platform.stored(deployment).status).toBe('deployed');
  expect(device.events).toHaveLength(1);
});

it('the agent uplink stops without leaving a socket, even when `stop` is called twice', async () => {
  await using robot = await testRobot();
  await robot.uplink.start();
  await Promise.all([robot.uplink.stop(), robot.uplink.stop()]);
  const connections = () =>
    new Promise<number>((resolve) => robot.host.app.server.getConnections((_, open) => resolve(open)));
  await eventually(async () => expect(await connections()).toBe(0));
});
