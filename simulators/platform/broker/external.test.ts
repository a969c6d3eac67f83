/** The platform and a device over a real Mosquitto. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { agentTopics } from '../../../harness/contract/agent.ts';
import { eventually } from '../../common/testing/eventually.ts';
import { createUplink } from '../../device/uplink/index.ts';
import { MemoryDevice } from '../../device/uplink/testing/memory-device.ts';
import { agentHost } from '../agent/testing/agent-host.ts';
import { MemoryPlatform } from '../agent/testing/memory-platform.ts';
import { type Mosquitto, mosquittoPath, runMosquitto } from './testing/mosquitto.ts';
import { connectClient, provisionRobot } from './testing/robot.ts';

const reason = mosquittoPath === undefined ? ' (skipped: mosquitto is not installed)' : '';

describe.skipIf(mosquittoPath === undefined)(`an external broker${reason}`, () => {
  let mosquitto: Mosquitto;
  let directory: string;
  beforeEach(async () => {
    mosquitto = await runMosquitto(mosquittoPath ?? '');
    directory = await mkdtemp(join(tmpdir(), 'muster-external-'));
  });
  afterEach(async () => {
    await mosquitto[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });

  it('carries pings, requests to sync and their answers', async () => {
    await using host = await agentHost({ mqtt: { url: mosquitto.url } });
    const device = new MemoryDevice();
    const options = {
      kind: 'agent',
      platform: host.url,
      mqtt: host.mqttUrl,
      token: host.platform.provisioningToken(),
    };
    await using uplink = createUplink({ ...options, kind: 'agent' })(device, { name: 'robot', directory });
    await uplink.start();
    const id = uplink.deviceId ?? '';
    expect(host.platform.devices.get(id)?.status).toBe('online');
    expect(await host.side.messenger.ping(id, 5e9)).toMatchObject({ code: 'success' });
    const deployment = host.deploy(id, { '/a.json': '1' });
    await eventually(() => expect(host.platform.stored(deployment).status).toBe('deployed'));
    expect(device.files.get('/a.json')).toBe('1');
  });

  it('keeps a request for a device that comes later', async () => {
    await using host = await agentHost({ mqtt: { url: mosquitto.url } });
    const { device } = await provisionRobot(host, 'robot');
    host.side.messenger.requestSync(device.id);
    await using client = await connectClient(mosquitto.url, { clientId: 'anybody' });
    await eventually(async () => {
      await client.mqtt.subscribeAsync(agentTopics.sync(device.id), { qos: 1 });
      expect(client.received.at(-1)).toMatchObject({ text: '{"is_synced":false}', retain: true });
    });
  });

  it('tells of devices that answer, and not of names that are none', async () => {
    await using host = await agentHost({ mqtt: { url: mosquitto.url } });
    const { device } = await provisionRobot(host, 'robot');
    host.side.messenger.disconnect(device.id);
    expect(host.platform.devices.get(device.id)?.status).toBe('offline');
    await using client = await connectClient(mosquitto.url, { clientId: 'anybody' });
    const pong = JSON.stringify({ message_id: 'unasked', timestamp: 'now' });
    await client.mqtt.publishAsync(agentTopics.pong('dvc_none'), pong, { qos: 1 });
    await client.mqtt.publishAsync(agentTopics.sync(device.id), '{', { qos: 1 });
    await client.mqtt.publishAsync(agentTopics.sync(device.id), '{"is_synced":true}', { qos: 1, retain: true });
    await eventually(() => expect(host.platform.devices.get(device.id)?.status).toBe('online'));
    expect(host.platform.devices.has('dvc_none')).toBe(false);
  });

  it('may go away and come back', async () => {
    const platform = new MemoryPlatform();
    await using host = await agentHost({ mqtt: { url: mosquitto.url }, platform });
    const options = { platform: host.url, mqtt: host.mqttUrl, token: platform.provisioningToken() };
    const device = new MemoryDevice();
    await using uplink = createUplink({ kind: 'agent', ...options })(device, { name: 'robot', directory });
    await uplink.start();
    const id = uplink.deviceId ?? '';
    await mosquitto.stop();
    await eventually(() => expect(uplink.status).toBe('offline'));
    const deployment = host.deploy(id, { '/a.json': '1' });
    await mosquitto.start();
    await eventually(() => expect(uplink.status).toBe('online'));
    await eventually(() => expect(platform.stored(deployment).status).toBe('deployed'));
    await eventually(async () => expect(await host.side.messenger.ping(id, 1e8)).toMatchObject({ code: 'success' }));
  });
});

describe('a broker that cannot be used', () => {
  it('is named, without its password', async () => {
    const url = 'mqtt://user:secret@127.0.0.1:1';
    const failure = await agentHost({ mqtt: { url } }).catch((error: Error) => error);
    expect(String(failure)).toMatch(/127\.0\.0\.1:1 cannot be used: .*ECONNREFUSED/);
    expect(String(failure)).not.toContain('secret');
    await expect(agentHost({ mqtt: { url: 'http://127.0.0.1:1' } })).rejects.toThrow(
      /mqtt:\/\/ and mqtts:\/\/ are accepted/,
    );
  });
});
