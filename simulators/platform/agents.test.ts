/** A real agent on the platform: provisioned, connected, synced, pinged, all over HTTP and MQTT. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { simulateDevice } from '../device/index.ts';
import { createUplink } from '../device/uplink/index.ts';
import { mosquittoPath, runMosquitto } from './broker/testing/mosquitto.ts';
import { type Json, startPlatform, type TestPlatform } from './testing/client.ts';
import { createDevice, createKit, deploy } from './testing/kit.ts';

const KEY_BITS = 1024;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'muster-agents-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Waits for what happens elsewhere; the time limit of the test ends it. */
async function eventually(read: () => Promise<Json>, holds: (value: Json) => boolean): Promise<Json> {
  for (;;) {
    const value = await read();
    if (holds(value)) return value;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function startRobot(platform: TestPlatform) {
  const robot = await simulateDevice({
    dir: folder,
    socket: join(folder, 'robot.sock'),
    uplink: createUplink({
      kind: 'agent',
      platform: platform.agentUrl,
      ...(platform.mqttUrl !== undefined && { mqtt: platform.mqttUrl }),
      keyBits: KEY_BITS,
      token: async () => (await platform.create('/provisioning_tokens'))['token'] as string,
    }),
  });
  await robot.uplink?.start();
  return robot;
}

/** Online, pinged, deployed to. */
async function liveThrough(platform: TestPlatform): Promise<void> {
  const kit = await createKit(platform);
  const robot = await startRobot(platform);
  const id = robot.uplink?.deviceId ?? '';
  const device = async () => (await platform.get(`/devices/${id}`)).body;
  await eventually(device, ({ status }) => status === 'online');
  const ping = await platform.call('POST', `/devices/${id}/ping`, { timeout_nanos: 5_000_000_000 });
  expect(ping.body).toMatchObject({ code: 'success', round_trip_nanos: expect.any(Number) });
  const deployment = await deploy(platform, kit, id);
  await eventually(
    async () => (await platform.get(`/deployments/${deployment}`)).body,
    ({ status }) => status === 'deployed',
  );
  await robot[Symbol.asyncDispose]();
  const late = await platform.call('POST', `/devices/${id}/ping`, { timeout_nanos: 50_000_000 });
  expect(late.body).toEqual({ code: 'timeout' });
}

describe('with an agent', () => {
  it('over the embedded broker, a device does all that it should', async () => {
    await using platform = await startPlatform({ mqtt: {}, minKeyBits: KEY_BITS });
    await liveThrough(platform);
  });

  it.skipIf(mosquittoPath === undefined)(
    'over a real Mosquitto (skipped where it is not installed) it does the same',
    async () => {
      await using mosquitto = await runMosquitto(mosquittoPath ?? '');
      await using platform = await startPlatform({ mqtt: { url: mosquitto.url }, minKeyBits: KEY_BITS });
      expect(platform.mqttUrl).toBe(mosquitto.url);
      await liveThrough(platform);
    },
  );

  it('over the embedded broker, a device that goes away is offline', async () => {
    await using platform = await startPlatform({ mqtt: {}, minKeyBits: KEY_BITS });
    const robot = await startRobot(platform);
    const id = robot.uplink?.deviceId ?? '';
    const device = async () => (await platform.get(`/devices/${id}`)).body;
    await eventually(device, ({ status }) => status === 'online');
    await robot[Symbol.asyncDispose]();
    await eventually(device, ({ status }) => status === 'offline');
  });

  it('a device that is not there times out, and one that is unknown is not found', async () => {
    await using platform = await startPlatform({ mqtt: {} });
    const id = await createDevice(platform);
    const ping = (device: string, timeout_nanos: unknown) =>
      platform.call('POST', `/devices/${device}/ping`, { timeout_nanos });
    const start = performance.now();
    expect(await ping(id, 100_000_000)).toMatchObject({ status: 200, body: { code: 'timeout' } });
    expect(performance.now() - start).toBeLessThan(10_000);
    expect((await ping('dvc_nothing', 100_000_000)).status).toBe(404);
    for (const wrong of [0, -1, 10_000_000_001, 1.5, '1', null, 2 ** 63])
      expect((await ping(id, wrong)).status).toBe(400);
  });
});
