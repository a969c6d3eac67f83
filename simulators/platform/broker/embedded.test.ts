import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { localhostTls } from '../../../harness/common/testing/localhost-tls.ts';
import { agentTopics } from '../../../harness/contract/agent.ts';
import { eventually } from '../../common/testing/scratch.ts';
import { type AgentHost, agentHost } from '../agent/testing/agent-host.ts';
import { connectClient, provisionRobot, type Robot, type TestClient } from './testing/mosquitto.ts';

const SUBSCRIPTION_REFUSED = 128;

let host: AgentHost;
let robot: Robot;
beforeEach(async () => {
  host = await agentHost();
  robot = await provisionRobot(host, 'robot');
});
afterEach(() => host[Symbol.asyncDispose]());

const closeOf = ({ mqtt }: TestClient) => new Promise<void>((resolve) => mqtt.once('close', () => resolve()));
const statusOf = ({ device }: Robot) => host.platform.devices.get(device.id)?.status;

describe('the embedded broker', () => {
  it('refuses any wrong combination of id, session and token', async () => {
    const other = await provisionRobot(host, 'other');
    const wrong = [
      { ...robot.credentials, password: 'wrong' },
      { ...robot.credentials, password: other.token },
      { ...robot.credentials, username: other.device.session_id ?? '' },
      { ...robot.credentials, clientId: other.device.id },
      { ...robot.credentials, clientId: 'constructor' },
      { clientId: robot.device.id },
    ];
    for (const credentials of wrong) {
      await expect(connectClient(host.mqttUrl, credentials)).rejects.toThrow(/Bad username or password|Not authorized/);
    }
    expect(statusOf(robot)).toBe('offline');
  });

  it('lets a device subscribe only to its own command topics', async () => {
    const other = await provisionRobot(host, 'other');
    await using client = await connectClient(host.mqttUrl, robot.credentials);
    const { id } = robot.device;
    const granted = await client.mqtt.subscribeAsync([agentTopics.sync(id), agentTopics.ping(id)], { qos: 1 });
    expect(granted.map(({ qos }) => qos)).toEqual([1, 1]);
    const wildcards = ['#', 'cmd/devices/+/sync', '$SYS/#'];
    for (const topic of [agentTopics.sync(other.device.id), agentTopics.pong(id), ...wildcards]) {
      const answers: unknown[] = [];
      client.mqtt.on('packetreceive', (packet) => packet.cmd === 'suback' && answers.push(...packet.granted));
      await client.mqtt.subscribeAsync(topic).catch(() => {});
      expect(answers).toEqual([SUBSCRIPTION_REFUSED]);
      client.mqtt.removeAllListeners('packetreceive');
    }
    host.side.messenger.requestSync(other.device.id);
    host.side.messenger.requestSync(id);
    await eventually(() => expect(client.received).toHaveLength(1));
    expect(client.received[0]).toMatchObject({ topic: agentTopics.sync(id) });
  });

  it.each([
    ['another device’s', (other: string) => agentTopics.sync(other)],
    ['its own ping', (_: string, own: string) => agentTopics.ping(own)],
    ['a system', () => '$SYS/x'],
    ['any other', () => 'x'],
  ])('ends the connection of a device that publishes on %s topic', async (_, topic) => {
    const other = await provisionRobot(host, 'other');
    await using victim = await connectClient(host.mqttUrl, other.credentials);
    await victim.mqtt.subscribeAsync(agentTopics.sync(other.device.id), { qos: 1 });
    await using client = await connectClient(host.mqttUrl, robot.credentials);
    const closed = closeOf(client);
    client.mqtt.publish(topic(other.device.id, robot.device.id), '{"is_synced":true}', { retain: true });
    await closed;
    expect(victim.received).toEqual([]);
  });

  it('delivers a request to sync at once, and retains the last message for the next connection', async () => {
    const { id } = robot.device;
    host.side.messenger.requestSync(id);
    const client = await connectClient(host.mqttUrl, robot.credentials);
    await client.mqtt.subscribeAsync(agentTopics.sync(id), { qos: 1 });
    await eventually(() => expect(client.received).toHaveLength(1));
    host.side.messenger.requestSync(id);
    await eventually(() => expect(client.received).toHaveLength(2));
    const received = client.received.map(({ text, retain }) => `${text} ${retain}`);
    expect(received).toEqual(['{"is_synced":false} true', '{"is_synced":false} false']);
    await client.mqtt.publishAsync(agentTopics.sync(id), '{"is_synced":true}', { qos: 1, retain: true });
    await client.mqtt.endAsync();
    await using next = await connectClient(host.mqttUrl, robot.credentials);
    await next.mqtt.subscribeAsync(agentTopics.sync(id), { qos: 1 });
    await eventually(() => expect(next.received).toHaveLength(1));
    expect(next.received[0]).toMatchObject({ text: '{"is_synced":true}', retain: true });
  });

  it('delivers every request to sync among other messages', async () => {
    const { id } = robot.device;
    await using client = await connectClient(host.mqttUrl, robot.credentials);
    await client.mqtt.subscribeAsync([agentTopics.sync(id), agentTopics.ping(id)], { qos: 1 });
    const pings: Promise<unknown>[] = [];
    for (let round = 0; round < 50; round++) {
      host.side.messenger.requestSync(id);
      pings.push(host.side.messenger.ping(id, 1e7));
      client.mqtt.publish(agentTopics.sync(id), '{"is_synced":true}', { qos: 1, retain: true });
    }
    await eventually(() => expect(client.received.filter(({ text }) => text.includes('false'))).toHaveLength(50));
    await Promise.all(pings);
  });

  it('moves a device to its newer connection without showing it offline', async () => {
    const seen: boolean[] = [];
    const original = host.platform.setConnected.bind(host.platform);
    host.platform.setConnected = (id, connected) => {
      seen.push(connected);
      original(id, connected);
    };
    await using first = await connectClient(host.mqttUrl, robot.credentials);
    const closed = closeOf(first);
    await using second = await connectClient(host.mqttUrl, robot.credentials);
    await closed;
    await second.mqtt.subscribeAsync(agentTopics.ping(robot.device.id));
    second.mqtt.on('message', (_topic, payload) => {
      second.mqtt.publish(agentTopics.pong(robot.device.id), payload);
    });
    expect(await host.side.messenger.ping(robot.device.id, 5e9)).toMatchObject({ code: 'success' });
    expect(statusOf(robot)).toBe('online');
    expect(seen.at(-1)).toBe(true);
  });

  it('starts a clean session even when the client asks for the old one', async () => {
    const lasting = { ...robot.credentials, clean: false };
    const first = await connectClient(host.mqttUrl, lasting);
    await first.mqtt.subscribeAsync(agentTopics.sync(robot.device.id), { qos: 1 });
    await first.mqtt.endAsync();
    const second = await connectClient(host.mqttUrl, lasting);
    const present: boolean[] = [];
    second.mqtt.on('connect', ({ sessionPresent }) => present.push(sessionPresent));
    second.mqtt.reconnect();
    await eventually(() => expect(present).toEqual([false]));
    await second.mqtt.endAsync();
  });
});

it('the embedded broker with a certificate accepts only TLS connections', async () => {
  await using secure = await agentHost({ tls: localhostTls });
  expect(secure.mqttUrl).toMatch(/^mqtts:/);
  const inside = await provisionRobot(secure, 'robot');
  await using client = await connectClient(secure.mqttUrl, { ...inside.credentials, ca: localhostTls.cert });
  expect(client.mqtt.connected).toBe(true);
  await expect(connectClient(secure.mqttUrl, inside.credentials)).rejects.toThrow(/self.signed/);
  const plain = { ...inside.credentials, connectTimeout: 1000 };
  await expect(connectClient(secure.mqttUrl.replace('mqtts:', 'mqtt:'), plain)).rejects.toThrow();
});

/** MQTT length fields that announce 256 MB and 1 MB. */
const ENDLESS = [0xff, 0xff, 0xff, 0x7f];
const MEGABYTE = [0x80, 0x80, 0x40];

it.for([
  ['CONNECT', [0x10, ...ENDLESS]],
  ['CONNECT of a megabyte', [0x10, ...MEGABYTE]],
  ['PUBLISH before CONNECT', [0x30, ...ENDLESS]],
] as const)('a packet that is too large ends the connection at once: %s', async ([, first]) => {
  const { hostname, port } = new URL(host.mqttUrl);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  await once(socket, 'connect');
  let open = true;
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve())).finally(() => (open = false));
  socket.write(Buffer.from(first));
  const piece = Buffer.alloc(65_536);
  while (open) {
    if (socket.write(piece)) await new Promise(setImmediate);
    else await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
  }
  expect(socket.bytesWritten).toBeLessThan(8_000_000);
});

it('a packet that is too large ends the connection of a device, and is not published', async () => {
  await using client = await connectClient(host.mqttUrl, robot.credentials);
  const closed = closeOf(client);
  const topic = agentTopics.sync(robot.device.id);
  client.mqtt.publish(topic, Buffer.alloc(1_000_000), { qos: 1, retain: true }, () => {});
  await closed;
  await using again = await connectClient(host.mqttUrl, robot.credentials);
  await again.mqtt.subscribeAsync(topic, { qos: 1 });
  await again.mqtt.publishAsync(topic, Buffer.alloc(60_000, 'x'), { qos: 1 });
  await eventually(() => expect(again.received.map(({ text }) => text.length)).toEqual([60_000]));
});
