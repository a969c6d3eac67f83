/**
 * What the agent protocol costs at both ends: memory of an uplink and of its connection at the broker, and pings per
 * second.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { systemClock } from '../../../simulators/common/clock.ts';
import { createUplink, ensureKey } from '../../../simulators/device/uplink/index.ts';
import { KeepAlive, MqttConnection } from '../../../simulators/device/uplink/mqtt.ts';
import { MemoryDevice } from '../../../simulators/device/uplink/testing/uplinks.ts';
import { systemTime } from '../../../simulators/device/uplink/time.ts';
import { agentHost } from '../../../simulators/platform/agent/testing/agent-host.ts';
import { embeddedBroker } from '../../../simulators/platform/broker/embedded.ts';
import { mqttMessenger } from '../../../simulators/platform/broker/messenger.ts';
import { agentTopics } from '../../contract/agent.ts';
import { atMost, type Figure, grown, KIB, settledMemory } from '../measure/figure.ts';
import { serveTask, Task } from '../measure/process.ts';

const UPLINKS = 2_000;
const CONNECTIONS = 10_000;
const PINGS = 40_000;
const PINGS_AT_ONCE = 200;
const PING_BYTES = 150;
const message = Buffer.alloc(PING_BYTES, 'x');
/** A larger young generation keeps what a burst of starting robots once needed, which would count as theirs. */
const V8_FLAGS = ['--max-semi-space-size=4'];
const KEY_BITS = 1024;
const STARTING_AT_ONCE = 64;
const PING_TIMEOUT_NANOS = 10e9;

/** About a minute. */
export async function benchUplink(): Promise<Figure[]> {
  return [await uplinkMemory(), ...(await brokerFigures())];
}

/** Only in a process of its own can the cost of one end be kept from the other's. */
const end = () => new Task<typeof tasks>(import.meta.url, { flags: V8_FLAGS });

async function uplinkMemory(): Promise<Figure> {
  await using platform = end();
  await using robots = end();
  await using echo = end();
  await using bare = end();
  const uplinks = await robots.call('uplinks', UPLINKS, await platform.call('agentSide', UPLINKS));
  const sockets = await bare.call('sockets', UPLINKS, await echo.call('echo'));
  const name = `inner: uplink alone, memory of a live one, ${UPLINKS.toLocaleString('en')} in a process`;
  return atMost(name, uplinks.bytes / KIB, 24, 'KiB', sockets.bytes / KIB);
}

async function brokerFigures(): Promise<Figure[]> {
  const broker = await platformEnd('broker', 'clients');
  const floor = await platformEnd('echo', 'sockets');
  const count = CONNECTIONS.toLocaleString('en');
  return [
    atMost(`inner: broker alone, ${count} robots connect and subscribe`, broker.connectS, 15, 's', floor.connectS),
    atMost(`inner: broker alone, memory of a connected robot, ${count} connected`, broker.kib, 40, 'KiB', floor.kib),
    {
      name: `inner: broker alone, pings there and back, ${PINGS_AT_ONCE} at a time`,
      value: broker.pingsPerSecond,
      floor: floor.pingsPerSecond,
      ratio: broker.pingsPerSecond / floor.pingsPerSecond,
      goal: `≥ 0.33 × bare sockets with the same three messages, none lost (${broker.lost} lost)`,
      unit: '/s',
      met: broker.pingsPerSecond >= 0.33 * floor.pingsPerSecond && broker.lost === 0,
    },
  ];
}

/** Connects as many clients as the goal names, weighs the platform's end before and after, and pings. */
async function platformEnd(kind: 'broker' | 'echo', clients: 'clients' | 'sockets') {
  await using platform = end();
  await using robots = end();
  const port = await platform.call(kind);
  const before = await platform.call('memory');
  const connected = await robots.call(clients, CONNECTIONS, port);
  const after = await platform.call('memory');
  await platform.call('pings', PINGS / 4);
  const { ms, succeeded } = await platform.call('pings', PINGS);
  return {
    connectS: connected.ms / 1000,
    kib: (after - before) / CONNECTIONS / KIB,
    pingsPerSecond: PINGS / (ms / 1000),
    lost: PINGS - succeeded,
  };
}

interface AgentSide {
  url: string;
  mqttUrl: string;
  tokens: string[];
}

interface Measured {
  /** Until all were open, and memory of each. */
  ms: number;
  bytes: number;
}

/** Set by the platform's end that this process is. */
let pingOnce: (robot: number) => Promise<boolean> = async () => false;
const robotId = (robot: number) => `dvc_${robot}`;

/**
 * The platform's end: a broker that accepts every client, the whole agent side, or bare sockets that echo. And the
 * robots' end.
 */
const tasks = {
  broker: async (): Promise<number> => {
    const messenger = mqttMessenger(systemClock);
    const broker = await embeddedBroker({
      host: '127.0.0.1',
      port: 0,
      onPong: messenger.onPong,
      onConnected: () => {},
      authenticate: () => true,
      onError: (error) => {
        throw error;
      },
    });
    messenger.use(broker);
    pingOnce = async (robot) => (await messenger.ping(robotId(robot), PING_TIMEOUT_NANOS)).code === 'success';
    return Number(new URL(broker.url).port);
  },

  agentSide: async (robots: number): Promise<AgentSide> => {
    const { platform, url, mqttUrl } = await agentHost({ minKeyBits: KEY_BITS });
    return { url, mqttUrl, tokens: Array.from({ length: robots }, () => platform.provisioningToken()) };
  },

  echo: async (): Promise<number> => {
    const acknowledgement = Buffer.alloc(4, 'x');
    const sockets: Socket[] = [];
    const waiting = new Map<Socket, () => void>();
    const server = createServer((socket) => {
      socket.setNoDelay(true).on('error', () => {});
      socket.on('data', () => {
        // A pong has QoS 1: the broker acknowledges it.
        socket.write(acknowledgement);
        waiting.get(socket)?.();
      });
      sockets.push(socket);
    });
    await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0, backlog: 8192 }, resolve));
    pingOnce = (robot) =>
      new Promise((resolve) => {
        const socket = sockets[robot];
        if (!socket) return resolve(false);
        waiting.set(socket, () => resolve(true));
        socket.write(message);
      });
    return (server.address() as AddressInfo).port;
  },

  clients: (count: number, port: number): Promise<Measured> => {
    const keepAlive = new KeepAlive(systemTime);
    const open = (robot: number) => {
      const id = robotId(robot);
      const answer = agentTopics.pong(id);
      return MqttConnection.open({
        endpoint: { host: '127.0.0.1', port, tls: false, ca: undefined },
        clientId: id,
        username: 'session',
        password: 'token',
        topics: [agentTopics.sync(id), agentTopics.ping(id)],
        listener: {
          onMessage: (connection, _topic, payload) =>
            connection.publish(answer, JSON.parse(payload.toString()), { retain: false }),
          onClose: () => {},
        },
        keepAlive,
        signal: new AbortController().signal,
      });
    };
    return measured(count, open);
  },

  uplinks: async (count: number, { url, mqttUrl, tokens }: AgentSide): Promise<Measured> => {
    const directory = mkdtempSync(join(tmpdir(), 'muster-bench-'));
    process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
    const home = (robot: number) => join(directory, String(robot));
    for (let robot = 0; robot < count; robot += 8) {
      const some = Array.from({ length: Math.min(8, count - robot) }, (_, index) => home(robot + index));
      await Promise.all(some.map((each) => ensureKey(each, KEY_BITS)));
    }
    const make = createUplink({
      kind: 'agent',
      platform: url,
      mqtt: mqttUrl,
      token: () => tokens.pop() ?? '',
    });
    const start = async (robot: number) => {
      const uplink = make(new MemoryDevice(), { name: `robot-${robot}`, directory: home(robot) });
      await uplink.start();
      return uplink;
    };
    return measured(count, start, STARTING_AT_ONCE);
  },

  sockets: (count: number, port: number): Promise<Measured> =>
    measured(
      count,
      () =>
        new Promise((resolve, reject) => {
          const socket = connect({ host: '127.0.0.1', port, noDelay: true }, () => resolve(socket));
          socket.on('error', reject);
          socket.on('data', (bytes) => {
            // Not to the acknowledgement, which may share a packet with the next ping.
            if (bytes.length >= PING_BYTES) socket.write(message);
          });
        }),
    ),

  memory: async (): Promise<number> => (await settledMemory()).rss,

  pings: async (total: number): Promise<{ ms: number; succeeded: number }> => {
    const began = performance.now();
    let next = 0;
    let succeeded = 0;
    const lane = async (robot: number) => {
      for (let at = robot; next < total; at = (at + PINGS_AT_ONCE) % CONNECTIONS) {
        next++;
        if (await pingOnce(at)) succeeded++;
      }
    };
    await Promise.all(Array.from({ length: PINGS_AT_ONCE }, (_, robot) => lane(robot)));
    return { ms: performance.now() - began, succeeded };
  },
};

/** Kept, so that nothing measured is collected. */
const kept: unknown[] = [];

/**
 * Opens `count` of them, `atOnce` at a time, the first quarter before the memory is looked at: code and bursts make the
 * process take memory for good that belongs to no single one.
 */
async function measured(count: number, open: (robot: number) => Promise<unknown>, atOnce = count): Promise<Measured> {
  const all = async (from: number, to: number) => {
    let next = from;
    const lane = async () => {
      while (next < to) kept.push(await open(next++));
    };
    await Promise.all(Array.from({ length: Math.min(atOnce, to - from) }, lane));
  };
  const warm = count / 4;
  await all(0, warm);
  const before = await settledMemory();
  const began = performance.now();
  await all(warm, count);
  const ms = performance.now() - began;
  return { ms, bytes: grown(before, await settledMemory()) / (count - warm) };
}

if (import.meta.main) serveTask(tasks);
