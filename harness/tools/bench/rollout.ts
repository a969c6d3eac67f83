/** Measures a roll-out to connected robots, compared with bare sockets and files that do the same work. */
import { once } from 'node:events';
import { mkdirSync, openSync, renameSync, symlinkSync, writeFileSync, writeSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { baseDirFor } from '../../../simulators/fleet/run/capacity.ts';
import { defined } from '../../common/defined.ts';
import { inParallel } from '../../common/parallel.ts';
import { atMost, type Figure } from '../measure/figure.ts';
import { listenAnywhere, serveTask, Task } from '../measure/process.ts';
import { fleetCommand, partsOf, ROBOT_BYTES } from './fleet.ts';

const ROBOTS = 10_000;

export async function benchRollout(): Promise<Figure[]> {
  const floor = await bareSeconds();
  const phases = '  - { do: ramp, over: 25s }\n  - { do: rollout, over: 0s, within: 120s }\n';
  const scenario = `name: bench\nkey_bits: 1024\nphases:\n${phases}`;
  const result = await fleetCommand({ robots: ROBOTS, platform: 'embedded', scenario });
  const missed = result.counters['rollout.missed'] ?? 0;
  const last = missed > 0 ? Number.POSITIVE_INFINITY : (result.metrics['rollout.ms']?.max ?? Number.NaN) / 1000;
  const seconds = partsOf(result, (part) => part.cpu_seconds, 's');
  const took = (result.phases.find((phase) => phase.do === 'rollout')?.duration_ms ?? 0) / 1000;
  const beside = `${missed} missed, ${result.violations.length} violations`;
  const why = seconds && `processor time of the whole run: ${seconds}, on ${availableParallelism()} cores`;
  const more = (result.costs?.parts.whole.robot_marginal_bytes ?? Number.NaN) / 1000;
  return [
    {
      name: `muster fleet: roll-out to ${ROBOTS.toLocaleString('en')} connected robots, first POST to last event`,
      value: last,
      floor,
      goal: `≤ 2.5 × floor (${beside}, ${took.toFixed(1)} s until all were reported)`,
      unit: 's',
      met: last <= 2.5 * floor && result.violations.length === 0,
      ...defined({ why }),
    },
    atMost('the same: memory (PSS) of all processes that one more robot takes', more, 40, 'KB'),
  ];
}

/** Maximum robots of a process, because each robot needs five descriptors. */
const ROBOTS_OF_A_PROCESS = 3000;

async function bareSeconds(): Promise<number> {
  using place = scratch(baseDirFor(ROBOTS * ROBOT_BYTES));
  await using stack = new AsyncDisposableStack();
  const platform = stack.use(new Task<typeof tasks>(import.meta.url));
  const ports = await platform.call('platform');
  const workers = [];
  for (let from = 0; from < ROBOTS; from += ROBOTS_OF_A_PROCESS) {
    const worker = stack.use(new Task<typeof tasks>(import.meta.url));
    await worker.call('robots', place.path, from, Math.min(ROBOTS, from + ROBOTS_OF_A_PROCESS), ports);
    workers.push(worker);
  }
  const began = performance.now();
  await Promise.all(workers.map((worker) => worker.call('rollout')));
  return (performance.now() - began) / 1000;
}

/** About as many bytes as in a real fleet. */
const MESSAGE = Buffer.alloc(150, 'x');
const EVENT = Buffer.alloc(500, 'x');
/** Requests of a robot in a roll-out; `body` and `answer`: bytes, as in a real fleet. */
const REQUESTS = [
  { method: 'POST', path: '/deployments', body: 199, answer: 438 },
  { method: 'GET', path: '/agent/deployments', body: 0, answer: 931 },
  { method: 'GET', path: '/agent/content', body: 0, answer: 36 },
  { method: 'PATCH', path: '/agent/deployment', body: 93, answer: 348 },
] as const;
const LANES = 64;

interface BareRobot {
  folder: string;
  log: number;
  uplink: Socket;
  /** Robot's end of a local client's connection; `client` is the other end. */
  stream: Socket;
  client: Socket;
}

let pool: Pool;
const robots: BareRobot[] = [];

const tasks = {
  platform: async (): Promise<{ http: number; uplink: number }> => {
    const uplinks = new Map<string, Socket>();
    const broker = createServer((socket) => {
      socket.setNoDelay(true).once('data', (name) => {
        uplinks.set(String(name), socket);
        socket.write(MESSAGE);
      });
    });
    const answers = new Map(REQUESTS.map(({ path, answer }) => [path as string, Buffer.alloc(answer, 'x')]));
    const api = createHttpServer(async (request: IncomingMessage, response) => {
      const [path = '', robot = ''] = (request.url ?? '').split('?');
      for await (const _ of request);
      response.end(answers.get(path));
      if (request.method === 'POST') uplinks.get(robot)?.write(MESSAGE);
    });
    return { http: await listenAnywhere(api, 8192), uplink: await listenAnywhere(broker, 8192) };
  },

  robots: async (place: string, from: number, to: number, ports: { http: number; uplink: number }): Promise<void> => {
    pool = new Pool(`http://127.0.0.1:${ports.http}`, { connections: LANES });
    const numbers = Array.from({ length: to - from }, (_, index) => from + index);
    await inParallel(numbers, LANES, async (number) => {
      const folder = join(place, String(number));
      mkdirSync(folder);
      const server = createServer().listen(join(folder, 'socket'));
      await once(server, 'listening');
      const client = connect(join(folder, 'socket'));
      const [stream] = (await once(server, 'connection')) as [Socket];
      const uplink = connect({ port: ports.uplink, host: '127.0.0.1', noDelay: true });
      uplink.write(folder);
      await once(uplink, 'data');
      robots.push({ folder, log: openSync(join(folder, 'log'), 'a'), uplink, stream, client });
    });
  },

  rollout: async (): Promise<void> => void (await Promise.all(robots.map(receive))),
};

async function receive(robot: BareRobot): Promise<void> {
  const [post, list, content, report] = REQUESTS;
  const { folder } = robot;
  const told = once(robot.uplink, 'data');
  const arrived = once(robot.client, 'data');
  await send(post, robot);
  await told;
  await send(list, robot);
  const config = await send(content, robot);
  // Renames files, the least disk work that survives a crash.
  const [set, state] = [join(folder, 'set'), join(folder, 'state')];
  mkdirSync(set);
  writeFileSync(join(set, 'config'), config);
  symlinkSync(set, `${set}-link`);
  renameSync(`${set}-link`, join(folder, 'root'));
  writeFileSync(`${state}-new`, EVENT);
  renameSync(`${state}-new`, state);
  writeSync(robot.log, EVENT);
  robot.stream.write(EVENT);
  await Promise.all([arrived, send(report, robot)]);
}

async function send({ method, path, body }: (typeof REQUESTS)[number], { folder }: BareRobot): Promise<Uint8Array> {
  const sent = body === 0 ? null : Buffer.alloc(body, 'x');
  const answer = await pool.request({ method, path: `${path}?${folder}`, body: sent });
  return await answer.body.bytes();
}

if (import.meta.main) serveTask(tasks);
