/**
 * Compares the lateness that `muster fleet` reports for its requests with the lateness measured at the server, and
 * measures the requests that 1 to 8 shards send together, each limited to a tenth of a core.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import type { FleetResult } from '../../../simulators/fleet/result/result.ts';
import { Running } from '../../cli/testing/muster.ts';
import { atMost, type Figure, figureAgainstFloor } from '../measure/figure.ts';
import { listenAnywhere, serveTask, startMuster, Task, wordsOf } from '../measure/process.ts';
import { fleetCommand } from './fleet.ts';

const WARM_UP_S = 2;
const MEASURED_S = 6;
const STALL_MS = 500;
/** Tolerated difference between fleet and server: a share of the server's value, or `ms` if larger. */
const TOLERANCE = { share: 0.1, ms: 2 };

interface Seen {
  result: FleetResult;
  /** Lateness of the measured requests at the server, in milliseconds, ascending. */
  wire: number[];
}

/** Requests per second of an almost idle fleet, in which each request waits for a timer. */
const AT_REST = 100;

export async function benchLateness(): Promise<Figure[]> {
  const { p99 = Number.NaN } = (await run(AT_REST, false)).result.metrics['schedule.lateness.ms'] ?? {};
  const figures = [atMost(`muster fleet: p99 of the lateness at rest, ${AT_REST} requests a second`, p99, 2, 'ms')];
  for (const rate of [1000, 5000, 10_000, 20_000]) {
    for (const stalls of [false, true]) figures.push(...figuresOf(rate, stalls, await run(rate, stalls)));
  }
  return figures;
}

function figuresOf(rate: number, stalls: boolean, { result, wire }: Seen): Figure[] {
  const own = result.metrics['schedule.lateness.ms'];
  const where = `${rate.toLocaleString('en')}/s${stalls ? `, target stands still for ${STALL_MS} ms` : ''}`;
  const wanted = rate * MEASURED_S;
  const load = loadavg()[0]?.toFixed(1);
  const beside = `${wire.length} of ${wanted} arrived, verdict ${result.verdict}, load ${load}`;
  return ([50, 99] as const).map((percent) => {
    const told = (percent === 50 ? own?.p50 : own?.p99) ?? Number.NaN;
    const seen = wire[Math.min(wire.length - 1, Math.floor((percent / 100) * wire.length))] ?? Number.NaN;
    const allowed = Math.max(TOLERANCE.ms, TOLERANCE.share * seen);
    return {
      name: `lateness: p${percent} at ${where}`,
      value: told,
      floor: seen,
      goal: `within 10 % or 2 ms of the wire (${beside})`,
      unit: 'ms',
      met: wire.length === wanted && Math.abs(told - seen) <= allowed,
    };
  });
}

async function run(rate: number, stalls: boolean): Promise<Seen> {
  const warmUp = rate * WARM_UP_S;
  await using server = arrivalServer();
  const port = await server.call('listen', stalls ? warmUp + (rate * MEASURED_S) / 2 : undefined);
  const result = await openLoop({ port, rate, seconds: MEASURED_S }, WARM_UP_S);
  return { result, wire: latenessOf((await server.call('arrivals')).slice(warmUp), rate) };
}

/** Lateness in milliseconds, ascending; without a common clock of both ends, the earliest request counts as on time. */
export function latenessOf(arrivals: readonly number[], rate: number): number[] {
  const slot = 1000 / rate;
  const early = arrivals.reduce((least, at, number) => Math.min(least, at - number * slot), Number.POSITIVE_INFINITY);
  return arrivals.map((at, number) => at - number * slot - early).sort((a, b) => a - b);
}

export interface Load {
  port: number;
  rate: number;
  seconds: number;
}

export function openLoop({ port, rate, seconds }: Load, warmUpS = 0): Promise<FleetResult> {
  const hold = (during: number, measured: boolean): string =>
    `  - { do: hold, for: ${during}s, lists: ${rate}/s, arrivals: constant, measure: ${measured} }\n`;
  const head = 'name: open loop\nuplink: polling\npoll_every: 1h\nsubscribers: 0\n';
  const ramp = 'phases:\n  - { do: ramp, over: 0s, measure: false }\n';
  const scenario = `${head}${ramp}${warmUpS > 0 ? hold(warmUpS, false) : ''}${hold(seconds, true)}`;
  return fleetCommand({ robots: 1, workers: 1, platform: `http://127.0.0.1:${port}/beta`, scenario });
}

const LOAD = Buffer.from('GET /beta/devices?limit=100&offset=');
const END = Buffer.from('\r\n\r\n');
const arrivals: number[] = [];
let stallAt: number | undefined;
let held: Socket[] | undefined;

const EMPTY = listAnswer([]);

function listAnswer(data: object[]): Buffer {
  const body = JSON.stringify({ object: 'list', data, limit: 100, offset: 0, has_more: false });
  const length = Buffer.byteLength(body);
  return Buffer.from(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`);
}

function onRequest(socket: Socket, head: Buffer): void {
  if (!head.subarray(0, LOAD.length).equals(LOAD)) {
    const name = /^GET \/beta\/devices\?limit=\d+&name=([\w-]+)/.exec(head.toString('latin1'))?.[1];
    socket.write(name === undefined ? EMPTY : listAnswer([{ object: 'device', id: `dvc_${name}`, name }]));
    return;
  }
  arrivals.push(performance.now());
  if (arrivals.length === stallAt) {
    held = [];
    setTimeout(() => {
      const waiting = held ?? [];
      held = undefined;
      answerSome(waiting, 0);
    }, STALL_MS);
  }
  if (held === undefined) socket.write(EMPTY);
  else held.push(socket);
}

/** Answers 32 sockets per turn of the event loop, so that new requests get correct times of arrival. */
function answerSome(sockets: readonly Socket[], from: number): void {
  for (const socket of sockets.slice(from, from + 32)) socket.write(EMPTY);
  if (from + 32 < sockets.length) setImmediate(answerSome, sockets, from + 32);
}

const server = createServer({ noDelay: true }, (socket) => {
  let rest: Buffer = Buffer.alloc(0);
  socket.on('error', () => {});
  socket.on('data', (bytes: Buffer) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    for (let at = rest.indexOf(END); at >= 0; at = rest.indexOf(END)) {
      onRequest(socket, rest.subarray(0, at));
      rest = rest.subarray(at + END.length);
    }
  });
});

const tasks = {
  listen: (at: number | undefined): Promise<number> => {
    stallAt = at;
    // Above Node's default backlog of 511, so that no connection is refused during a stall.
    return listenAnywhere(server, 16_384);
  },
  arrivals: (): readonly number[] => arrivals,
};

export const arrivalServer = (): Task<typeof tasks> => new Task(import.meta.url);

/** Wanted requests per second of a shard, above what a tenth of a core can send. */
const SHARD_RATE = 4000;
const SHARD_SECONDS = 10;
const PERIOD_US = 50_000;
const V1 = '/sys/fs/cgroup/cpu';
const LIMIT: readonly [file: string, text: string] = existsSync(V1)
  ? [join(V1, 'NAME/cpu.cfs_quota_us'), String(PERIOD_US / 10)]
  : ['/sys/fs/cgroup/NAME/cpu.max', `${PERIOD_US / 10} ${PERIOD_US}`];

export async function benchShards(): Promise<Figure[]> {
  const figures: Figure[] = [];
  let one = Number.NaN;
  for (const count of [1, 2, 4, 8]) {
    const { perSecond, arrived, merged, why } = await throughput(count).catch(({ message }: Error) => ({
      ...{ perSecond: Number.NaN, arrived: 0, merged: 0 },
      why: `not measured: ${message}`,
    }));
    if (count === 1) one = perSecond;
    const name = `muster fleet: ${count} shards with a tenth of a core each, floor one × ${count}`;
    const figure = figureAgainstFloor(name, perSecond, one * count, 0.9, 'requests/s');
    const goal = `${figure.goal} (of ${arrived} requests, the merged result has ${merged})`;
    figures.push({ ...figure, goal, met: figure.met && merged === arrived, why });
  }
  return figures;
}

/** `perSecond`: requests per second at the server, in the middle half of the time between the first and the last. */
async function throughput(count: number) {
  using home = scratch();
  const scenario = join(home.path, 'scenario.yaml');
  const hold = `  - { do: hold, for: ${SHARD_SECONDS}s, lists: ${SHARD_RATE * count}/s, arrivals: constant }\n`;
  const head = 'name: shards\nuplink: polling\npoll_every: 1h\nsubscribers: 0\n';
  writeFileSync(scenario, `${head}phases:\n  - { do: ramp, over: 0s, measure: false }\n${hold}`);
  await using server = arrivalServer();
  const platform = `http://127.0.0.1:${await server.call('listen', undefined)}/beta`;
  const run = { robots: count, workers: 1, platform, 'api-key': 'bench', scenario, out: home.path, 'run-id': 'bench' };
  const ended = Array.from({ length: count }, async (_, index) => {
    using group = limitedGroup(index);
    const own = {
      ...run,
      shard: `${index + 1}/${count}`,
      state: join(home.path, `state${index}`),
      'start-within': '2m',
    };
    const under = ['sh', '-c', 'echo $$ > "$0" && exec "$@"', group.processes];
    const { code, stderr } = await new Running(['fleet', ...wordsOf(own)], { under, detached: false }).ended;
    // 98: the shard could not keep up, as intended.
    if (code !== 0 && code !== 98) throw new Error(`a shard ended with exit code ${code}: ${stderr}`);
  });
  const failed = (await Promise.allSettled(ended)).find((end) => end.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  const arrivals = await server.call('arrivals');
  const [first = Number.NaN, last = Number.NaN] = [arrivals[0], arrivals.at(-1)];
  const quarter = (last - first) / 4;
  const middle = arrivals.filter((at) => at >= first + quarter && at < last - quarter);
  const perSecond = middle.length / ((2 * quarter) / 1000);
  await startMuster(['merge', home.path, '--run-id', 'bench']).ended;
  const result = JSON.parse(readFileSync(join(home.path, 'bench', 'result.json'), 'utf8')) as FleetResult;
  const merged = result.metrics['schedule.lateness.ms']?.count ?? 0;
  return { perSecond, arrived: arrivals.length, merged, why: '' };
}

/** Control group of version 1 or 2; throws without the right to make it. */
function limitedGroup(index: number): Disposable & { processes: string } {
  const [file, text] = LIMIT;
  const limit = file.replace('NAME', `muster-bench-${process.pid}-${index}`);
  const folder = join(limit, '..');
  mkdirSync(folder);
  try {
    if (existsSync(V1)) writeFileSync(join(folder, 'cpu.cfs_period_us'), String(PERIOD_US));
    writeFileSync(limit, text);
  } catch (error) {
    rmdirSync(folder);
    throw error;
  }
  return { processes: join(folder, 'cgroup.procs'), [Symbol.dispose]: () => rmdirSync(folder) };
}

if (import.meta.main) serveTask(tasks);
