/** What the agent protocol costs at both ends: memory of an uplink and of its connection at the broker, and pings per second. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { systemClock } from '../../../simulators/common/clock.ts';
import { createUplink, ensureKey } from '../../../simulators/device/uplink/index.ts';
import { KeepAlive, MqttConnection } from '../../../simulators/device/uplink/mqtt.ts';
import { MemoryDevice } from '../../../simulators/device/uplink/testing/memory-device.ts';
import { systemTime } from '../../../simulators/device/uplink/time.ts';
import { agentHost } from '../../../simulators/platform/agent/testing/agent-host.ts';
import { embeddedBroker } from '../../../simulators/platform/broker/embedded.ts';
import { mqttMessenger } from '../../../simulators/platform/broker/messenger.ts';
import { agentTopics } from '../../contract/agent.ts';
import { atMost, type Figure, KIB, settledMemory } from './figure.ts';

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

/** What a process of one end is asked to do: only in a process of its own can the cost of one end be kept from the other's. */
type Task =
  /** The platform's end: a broker that accepts every client, the whole agent side, or bare sockets that echo. */
  | { kind: 'broker' }
  | { kind: 'agent-side'; robots: number }
  | { kind: 'echo' }
  /** The robots' end. */
  | { kind: 'clients'; count: number; port: number }
  | { kind: 'uplinks'; count: number; url: string; mqttUrl: string; tokens: string[] }
  | { kind: 'sockets'; count: number; port: number }
  /** To a platform's end that is up. */
  | { kind: 'memory' }
  | { kind: 'pings'; total: number; atOnce: number; robots: number };

interface Answer {
  port?: number;
  url?: string;
  mqttUrl?: string;
  tokens?: string[];
  bytes?: number;
  ms?: number;
  succeeded?: number;
}

/** About a minute. */
export async function benchUplink(): Promise<Figure[]> {
  return [await uplinkMemory(), ...(await brokerFigures())];
}

async function uplinkMemory(): Promise<Figure> {
  await using platform = end();
  await using robots = end();
  await using echo = end();
  await using bare = end();
  const { url = '', mqttUrl = '', tokens = [] } = await platform.ask({ kind: 'agent-side', robots: UPLINKS });
  const uplinks = await robots.ask({ kind: 'uplinks', count: UPLINKS, url, mqttUrl, tokens });
  const { port = 0 } = await echo.ask({ kind: 'echo' });
  const sockets = await bare.ask({ kind: 'sockets', count: UPLINKS, port });
  const name = `inner: uplink alone, memory of a live one, ${UPLINKS.toLocaleString('en')} in a process`;
  return atMost(name, (uplinks.bytes ?? 0) / KIB, 24, 'KiB', (sockets.bytes ?? 0) / KIB);
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
  const { port = 0 } = await platform.ask({ kind });
  const { bytes: before = 0 } = await platform.ask({ kind: 'memory' });
  const { ms: connectMs = 0 } = await robots.ask({ kind: clients, count: CONNECTIONS, port });
  const { bytes: after = 0 } = await platform.ask({ kind: 'memory' });
  const task = { kind: 'pings' as const, atOnce: PINGS_AT_ONCE, robots: CONNECTIONS };
  await platform.ask({ ...task, total: PINGS / 4 });
  const { ms = 0, succeeded = 0 } = await platform.ask({ ...task, total: PINGS });
  return {
    connectS: connectMs / 1000,
    kib: (after - before) / CONNECTIONS / KIB,
    pingsPerSecond: PINGS / (ms / 1000),
    lost: PINGS - succeeded,
  };
}

interface End extends AsyncDisposable {
  ask(task: Task): Promise<Answer>;
}

function end(): End {
  const child: ChildProcess = fork(import.meta.filename, { execArgv: V8_FLAGS });
  const exited = once(child, 'exit');
  return {
    ask: async (task) => {
      child.send(task);
      const ended = exited.then(([code]) => Promise.reject(new Error(`a bench process ended with code ${code}`)));
      const [answer] = (await Promise.race([once(child, 'message'), ended])) as [Answer];
      return answer;
    },
    [Symbol.asyncDispose]: async () => {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}

/** Set by the platform's end that this process is. */
let pingOnce: (robot: number) => Promise<boolean> = async () => false;
const robotId = (robot: number) => `dvc_${robot}`;

const tasks: { [K in Task['kind']]: (task: Extract<Task, { kind: K }>) => Promise<Answer> } = {
  broker: async () => {
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
    return { port: Number(new URL(broker.url).port) };
  },

  'agent-side': async ({ robots }) => {
    const { platform, url, mqttUrl } = await agentHost({ minKeyBits: KEY_BITS });
    return { url, mqttUrl, tokens: Array.from({ length: robots }, () => platform.provisioningToken()) };
  },

  echo: async () => {
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
    return { port: (server.address() as AddressInfo).port };
  },

  clients: async ({ count, port }) => {
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

  uplinks: async ({ count, url, mqttUrl, tokens }) => {
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

  sockets: ({ count, port }) =>
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

  memory: async () => ({ bytes: (await settledMemory()).rss }),

  pings: async ({ total, atOnce, robots }) => {
    const began = performance.now();
    let next = 0;
    let succeeded = 0;
    const lane = async (robot: number) => {
      for (let at = robot; next < total; at = (at + atOnce) % robots) {
        next++;
        if (await pingOnce(at)) succeeded++;
      }
    };
    await Promise.all(Array.from({ length: atOnce }, (_, robot) => lane(robot)));
    return { ms: performance.now() - began, succeeded };
  },
};

/** Kept, so that nothing measured is collected. */
const kept: unknown[] = [];

/**
 * Opens `count` of them, `atOnce` at a time, the first quarter before the memory is looked at: code and bursts make the
 * process take memory for good that belongs to no single one.
 */
async function measured(count: number, open: (robot: number) => Promise<unknown>, atOnce = count): Promise<Answer> {
  const all = async (from: number, to: number) => {
    let next = from;
    const lane = async () => {
      while (next < to) kept.push(await open(next++));
    };
    await Promise.all(Array.from({ length: Math.min(atOnce, to - from) }, lane));
  };
  const warm = count / 4;
  await all(0, warm);
  const { rss: before } = await settledMemory();
  const began = performance.now();
  await all(warm, count);
  const ms = performance.now() - began;
  return { ms, bytes: ((await settledMemory()).rss - before) / (count - warm) };
}

if (import.meta.main) {
  process.on('message', async (task: Task) => {
    const run = tasks[task.kind] as (task: Task) => Promise<Answer>;
    process.send?.(await run(task));
  });
  process.on('disconnect', () => process.exit());
}
