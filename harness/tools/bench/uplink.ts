/** What the agent protocol costs at both ends: memory of an uplink and of its connection at the broker, and pings per second. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Figure } from './figure.ts';
import type { Answer, Task } from './uplink-process.ts';

const UPLINKS = 2_000;
const CONNECTIONS = 10_000;
const PINGS = 40_000;
const PINGS_AT_ONCE = 200;
const KIB = 1024;
/** A larger young generation keeps what a burst of starting robots once needed, which would count as theirs. */
const V8_FLAGS = ['--max-semi-space-size=4'];

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
  const value = (uplinks.bytes ?? 0) / KIB;
  const floor = (sockets.bytes ?? 0) / KIB;
  const name = `uplink: memory of a live MQTT uplink, ${UPLINKS.toLocaleString('en')} in a process`;
  return { name, value, floor, ratio: value / floor, goal: '≤ 24 KiB', unit: 'KiB', met: value <= 24 };
}

async function brokerFigures(): Promise<Figure[]> {
  const broker = await platformEnd('broker', 'clients');
  const floor = await platformEnd('echo', 'sockets');
  const count = CONNECTIONS.toLocaleString('en');
  return [
    {
      name: `broker: ${count} robots connect and subscribe`,
      value: broker.connectS,
      floor: floor.connectS,
      ratio: broker.connectS / floor.connectS,
      goal: '≤ 15 s',
      unit: 's',
      met: broker.connectS <= 15,
    },
    {
      name: `broker: memory of a connected robot, ${count} connected`,
      value: broker.kib,
      floor: floor.kib,
      ratio: broker.kib / floor.kib,
      goal: '≤ 40 KiB',
      unit: 'KiB',
      met: broker.kib <= 40,
    },
    {
      name: `broker: pings there and back, ${PINGS_AT_ONCE} at a time`,
      value: broker.pingsPerSecond,
      floor: floor.pingsPerSecond,
      ratio: broker.pingsPerSecond / floor.pingsPerSecond,
      goal: `≥ 0.33 × floor, none lost (${broker.lost} lost)`,
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
  const child: ChildProcess = fork(fileURLToPath(new URL('uplink-process.ts', import.meta.url)), {
    execArgv: V8_FLAGS,
  });
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
