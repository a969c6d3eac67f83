/** A simulated device on the platform, over HTTP and MQTT: it enrols, connects, answers pings and deploys. */
import { expect, it } from 'vitest';
import { enrolDevice, KEY_BITS } from '../../harness/tools/subjects/simulators.ts';
import { eventually } from '../common/testing/eventually.ts';
import { scratch } from '../common/testing/scratch.ts';
import { isLoopback, toldHost } from './address.ts';
import { mosquittoPath, runMosquitto } from './broker/testing/mosquitto.ts';
import { referenceBehaviour } from './reference.ts';
import { startPlatform, type TestPlatform } from './testing/client.ts';
import { createDevice, createKit, deploy } from './testing/kit.ts';

const enrol = ({ agentUrl, mqttUrl, provisioningToken }: TestPlatform, directory: string) =>
  enrolDevice(directory, { platform: agentUrl, mqtt: mqttUrl, token: provisioningToken });

const statusBecomes = (platform: TestPlatform, path: string, status: string) =>
  eventually(async () => expect((await platform.get(path)).body['status']).toBe(status));

async function connectPingAndDeploy(platform: TestPlatform): Promise<void> {
  using folder = scratch();
  const kit = await createKit(platform);
  const robot = await enrol(platform, folder.path);
  const path = `/devices/${robot.deviceId}`;
  await statusBecomes(platform, path, 'online');
  const ping = await platform.post(`${path}/ping`, { timeout_nanos: 5_000_000_000 });
  expect(ping.body).toMatchObject({ code: 'success', round_trip_nanos: expect.any(Number) });
  await statusBecomes(platform, `/deployments/${await deploy(platform, kit, robot.deviceId)}`, 'deployed');
  await robot[Symbol.asyncDispose]();
  const late = await platform.post(`${path}/ping`, { timeout_nanos: 50_000_000 });
  expect(late.body).toEqual({ code: 'timeout' });
}

it('a device connects, answers a ping and deploys over the embedded broker', async () => {
  await using platform = await startPlatform({ mqtt: {}, minKeyBits: KEY_BITS });
  await connectPingAndDeploy(platform);
});

const outside = toldHost('0.0.0.0');
it.skipIf(isLoopback(outside))(
  'a device connects, answers a ping and deploys at an address that other machines reach (skipped where there is none)',
  async () => {
    await using platform = await startPlatform({ mqtt: {}, minKeyBits: KEY_BITS, host: '0.0.0.0' });
    const told = [platform.url, platform.agentUrl, platform.mqttUrl ?? ''].map((url) => new URL(url).hostname);
    expect(told).toEqual([outside, outside, outside]);
    await connectPingAndDeploy(platform);
  },
);

it.skipIf(mosquittoPath === undefined)(
  'a device connects, answers a ping and deploys over a real Mosquitto (skipped where it is not installed)',
  async () => {
    await using mosquitto = await runMosquitto(mosquittoPath ?? '');
    await using platform = await startPlatform({ mqtt: { url: mosquitto.url }, minKeyBits: KEY_BITS });
    expect(platform.mqttUrl).toBe(mosquitto.url);
    await connectPingAndDeploy(platform);
  },
);

it('a device that disconnects from the embedded broker is shown offline', async () => {
  using folder = scratch();
  await using platform = await startPlatform({ mqtt: {}, minKeyBits: KEY_BITS });
  const robot = await enrol(platform, folder.path);
  await statusBecomes(platform, `/devices/${robot.deviceId}`, 'online');
  await robot[Symbol.asyncDispose]();
  await statusBecomes(platform, `/devices/${robot.deviceId}`, 'offline');
});

it('a ping of a disconnected device waits as long as it asks, and one of an unknown device is not found', async () => {
  const waits: number[] = [];
  const ping: typeof referenceBehaviour.ping = (messenger, deviceId, timeoutNanos) => {
    waits.push(timeoutNanos);
    return messenger.ping(deviceId, timeoutNanos);
  };
  await using platform = await startPlatform({ mqtt: {}, behaviour: { ...referenceBehaviour, ping } });
  const id = await createDevice(platform);
  const send = (device: string, timeout_nanos: unknown) => platform.post(`/devices/${device}/ping`, { timeout_nanos });
  expect(await send(id, 100_000_000)).toMatchObject({ status: 200, body: { code: 'timeout' } });
  expect((await send('dvc_nothing', 100_000_000)).status).toBe(404);
  for (const wrong of [0, -1, 10_000_000_001, 1.5, '1', null, 2 ** 63])
    expect((await send(id, wrong)).status).toBe(400);
  expect(waits).toEqual([100_000_000]);
});
