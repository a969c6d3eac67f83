import { describe, expect, it } from 'vitest';
import { agentTopics } from '../../harness/contract/agent.ts';
import { enrolDevice, KEY_BITS } from '../../harness/tools/subjects/simulators.ts';
import { eventually, scratch } from '../common/testing/scratch.ts';
import { agentHost } from './agent/testing/agent-host.ts';
import { connectClient, mosquittoPath, provisionRobot, runMosquitto } from './broker/testing/mosquitto.ts';
import { createKit, deploy, startPlatform } from './testing/kit.ts';

const reason = mosquittoPath === undefined ? ' (skipped: mosquitto is not installed)' : '';

describe.skipIf(mosquittoPath === undefined)(`an external broker${reason}`, () => {
  it('lets a device connect, answer a ping and deploy', async () => {
    using folder = scratch();
    await using mosquitto = await runMosquitto(mosquittoPath ?? '');
    await using platform = await startPlatform({ mqtt: { url: mosquitto.url }, minKeyBits: KEY_BITS });
    expect(platform.mqttUrl).toBe(mosquitto.url);
    const { agentUrl, provisioningToken: token } = platform;
    const kit = await createKit(platform);
    const robot = await enrolDevice(folder.path, { platform: agentUrl, mqtt: mosquitto.url, token });
    const shows = (path: string, status: string) =>
      eventually(async () => expect((await platform.get(path)).body['status']).toBe(status));
    const path = `/devices/${robot.deviceId}`;
    await shows(path, 'online');
    const ping = await platform.post(`${path}/ping`, { timeout_nanos: 5_000_000_000 });
    expect(ping.body).toMatchObject({ code: 'success', round_trip_nanos: expect.any(Number) });
    await shows(`/deployments/${await deploy(platform, kit, robot.deviceId)}`, 'deployed');
    await robot[Symbol.asyncDispose]();
    const late = await platform.post(`${path}/ping`, { timeout_nanos: 50_000_000 });
    expect(late.body).toEqual({ code: 'timeout' });
  });

  it('retains a request to sync for a device that connects later', async () => {
    await using mosquitto = await runMosquitto(mosquittoPath ?? '');
    await using host = await agentHost({ mqtt: { url: mosquitto.url } });
    const { device } = await provisionRobot(host, 'robot');
    host.side.messenger.requestSync(device.id);
    await using client = await connectClient(mosquitto.url, { clientId: 'bystander' });
    await eventually(async () => {
      await client.mqtt.subscribeAsync(agentTopics.sync(device.id), { qos: 1 });
      expect(client.received.at(-1)).toMatchObject({ text: '{"is_synced":false}', retain: true });
    });
  });

  it('shows a device online when it sends a message, and ignores unknown devices', async () => {
    await using mosquitto = await runMosquitto(mosquittoPath ?? '');
    await using host = await agentHost({ mqtt: { url: mosquitto.url } });
    const { device } = await provisionRobot(host, 'robot');
    host.side.messenger.disconnect(device.id);
    expect(host.platform.devices.get(device.id)?.status).toBe('offline');
    await using client = await connectClient(mosquitto.url, { clientId: 'bystander' });
    const pong = JSON.stringify({ message_id: 'unasked', timestamp: 'now' });
    await client.mqtt.publishAsync(agentTopics.pong('dvc_none'), pong, { qos: 1 });
    await client.mqtt.publishAsync(agentTopics.sync(device.id), '{', { qos: 1 });
    await client.mqtt.publishAsync(agentTopics.sync(device.id), '{"is_synced":true}', { qos: 1, retain: true });
    await eventually(() => expect(host.platform.devices.get(device.id)?.status).toBe('online'));
    expect(host.platform.devices.has('dvc_none')).toBe(false);
  });
});

it('an external broker that cannot be used is named in the error, without its password', async () => {
  const url = 'mqtt://user:secret@127.0.0.1:1';
  const failure = await agentHost({ mqtt: { url } }).catch((error: Error) => error);
  expect(String(failure)).toMatch(/127\.0\.0\.1:1 cannot be used: .*ECONNREFUSED/);
  expect(String(failure)).not.toContain('secret');
  await expect(agentHost({ mqtt: { url: 'http://127.0.0.1:1' } })).rejects.toThrow(
    /mqtt:\/\/ and mqtts:\/\/ are accepted/,
  );
});
