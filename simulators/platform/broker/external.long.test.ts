/** The platform and a device over a real Mosquitto. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { agentTopics } from '../../../harness/contract/agent.ts';
import { eventually } from '../../common/testing/eventually.ts';
import { scratch } from '../../common/testing/scratch.ts';
import { createUplink } from '../../device/uplink/index.ts';
import { MemoryDevice } from '../../device/uplink/testing/memory-device.ts';
import { type AgentHost, agentHost } from '../agent/testing/agent-host.ts';
import { type Mosquitto, mosquittoPath, runMosquitto } from './testing/mosquitto.ts';
import { connectClient, provisionRobot } from './testing/robot.ts';

const reason = mosquittoPath === undefined ? ' (skipped: mosquitto is not installed)' : '';

describe.skipIf(mosquittoPath === undefined)(`an external broker${reason}`, () => {
  let mosquitto: Mosquitto;
  beforeEach(async () => {
    mosquitto = await runMosquitto(mosquittoPath ?? '');
  });
  afterEach(() => mosquitto[Symbol.asyncDispose]());

  const enrol = async (host: AgentHost, directory: string) => {
    const device = new MemoryDevice();
    const options = { platform: host.url, mqtt: host.mqttUrl, token: host.platform.provisioningToken() };
    const uplink = createUplink({ kind: 'agent', ...options })(device, { name: 'robot', directory });
    await uplink.start();
    return { device, uplink, id: uplink.deviceId ?? '' };
  };

  it('carries pings, requests to sync and their answers', async () => {
    using folder = scratch();
    await using host = await agentHost({ mqtt: { url: mosquitto.url } });
    const { device, uplink, id } = await enrol(host, folder.path);
    await using _ = uplink;
    expect(host.platform.devices.get(id)?.status).toBe('online');
    expect(await host.side.messenger.ping(id, 5e9)).toMatchObject({ code: 'success' });
    const deployment = host.deploy(id, { '/a.json': '1' });
    await eventually(() => expect(host.platform.stored(deployment).status).toBe('deployed'));
    expect(device.files.get('/a.json')).toBe('1');
  });

  it('retains a request to sync for a device that connects later', async () => {
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

  it('can stop and restart', async () => {
    using folder = scratch();
    await using host = await agentHost({ mqtt: { url: mosquitto.url } });
    const { uplink, id } = await enrol(host, folder.path);
    await using _ = uplink;
    await mosquitto.stop();
    await eventually(() => expect(uplink.status).toBe('offline'));
    const deployment = host.deploy(id, { '/a.json': '1' });
    await mosquitto.start();
    await eventually(() => expect(uplink.status).toBe('online'));
    await eventually(() => expect(host.platform.stored(deployment).status).toBe('deployed'));
    await eventually(async () => expect(await host.side.messenger.ping(id, 1e8)).toMatchObject({ code: 'success' }));
  });
});

describe('an external broker that cannot be used', () => {
  it('is named in the error, without its password', async () => {
    const url = 'mqtt://user:secret@127.0.0.1:1';
    const failure = await agentHost({ mqtt: { url } }).catch((error: Error) => error);
    expect(String(failure)).toMatch(/127\.0\.0\.1:1 cannot be used: .*ECONNREFUSED/);
    expect(String(failure)).not.toContain('secret');
    await expect(agentHost({ mqtt: { url: 'http://127.0.0.1:1' } })).rejects.toThrow(
      /mqtt:\/\/ and mqtts:\/\/ are accepted/,
    );
  });
});
