/** A real agent on the platform: provisioned, connected, synced, pinged, all over HTTP and MQTT. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { simulateDevice } from '../device/index.ts';
import { createUplink } from '../device/uplink/index.ts';
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

describe('with an agent', () => {
  it('a device is online, answers pings, and takes what is deployed to it', async () => {
    await using platform = await startPlatform({ mqtt: {}, minKeyBits: KEY_BITS });
    const kit = await createKit(platform);
    const robot = await startRobot(platform);
    const id = robot.uplink?.deviceId ?? '';
    await eventually(
      async () => (await platform.get(`/devices/${id}`)).body,
      (device) => device['status'] === 'online',
    );
    const ping = await platform.call('POST', `/devices/${id}/ping`, { timeout_nanos: 5_000_000_000 });
    expect(ping.body).toMatchObject({ code: 'success', round_trip_nanos: expect.any(Number) });
    const deployment = await deploy(platform, kit, id);
    const read = async () => (await platform.get(`/deployments/${deployment}`)).body;
    await eventually(read, (shown) => shown['status'] === 'deployed');
    await robot[Symbol.asyncDispose]();
    await eventually(
      async () => (await platform.get(`/devices/${id}`)).body,
      (device) => device['status'] === 'offline',
    );
    const late = await platform.call('POST', `/devices/${id}/ping`, { timeout_nanos: 50_000_000 });
    expect(late.body).toEqual({ code: 'timeout' });
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
    await platform.stop();
  });
});
