/**
 * Figures of the simulated device: live delivery, its log, and what an idle one costs, each beside the floor that the
 * same run measured. Clients are in a process of their own that only counts bytes; the floor of delivery writes the
 * same bytes, framed before, to as many raw sockets.
 */
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { systemClock } from '../../../simulators/common/clock.ts';
import { referenceBehaviour, simulateDevice } from '../../../simulators/device/index.ts';
import { EventLog } from '../../../simulators/device/log/event-log.ts';
import { writeMark } from '../../../simulators/device/log/high-water-mark.ts';
import { disk } from '../../../simulators/device/log/io.ts';
import { eventLine, sealed } from '../../../simulators/device/log/line.ts';
import { LOG_FILE } from '../../../simulators/device/log/log-file.ts';
import { fillerEvents } from '../../../simulators/device/state/deployment-store.ts';
import { chunk, frame } from '../../../simulators/device/stream/protocol.ts';
import { atMost, type Figure, grown, inScratch, median, ofFloor, settledMemory } from '../measure/figure.ts';
import { serveTask, Task } from '../measure/process.ts';

const write = promisify(fs.write);
const fdatasync = promisify(fs.fdatasync);

export async function benchDevice(): Promise<Figure[]> {
  const figures: Figure[] = [];
  // One after the other: they would disturb each other.
  for (const measure of [delivering, appending, opening, idling]) figures.push(...(await measure()));
  return figures;
}

const SUBSCRIBERS = 1_000;
const EVENTS = 300;
const ROUNDS = 5;
const SETTLE_MS = 200;

async function delivering(): Promise<Figure[]> {
  return await inScratch(async (directory) => {
    const floors: number[] = [];
    const alone: number[] = [];
    const together: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      floors.push(await rawSockets(`${directory}/raw${round}.sock`));
      alone.push(await oneDevice(`${directory}/a${round}`, 'os', 1));
      together.push(await oneDevice(`${directory}/s${round}`, 'sync', 8));
    }
    const floor = median(floors);
    return [
      ofFloor('SSE frames delivered to 1,000 subscribers, one event at a time', median(alone), floor, 0.9, 'frames/s'),
      ofFloor('the same, each event on the disk first, 8 publishers', median(together), floor, 0.9, 'frames/s'),
    ];
  });
}

async function rawSockets(path: string): Promise<number> {
  const sockets: net.Socket[] = [];
  const server = net.createServer((socket) => {
    socket.resume();
    socket.on('error', () => {});
    sockets.push(socket);
  });
  server.listen({ path, backlog: 4_096 });
  await once(server, 'listening');
  const clients = await Clients.connect(path);
  while (sockets.length < SUBSCRIBERS) await turn();
  const bytes = chunk(Buffer.from(frame(sample())));
  const rate = await clients.measure(bytes.length * EVENTS, async () => {
    for (let at = 0; at < EVENTS; at += 1) {
      for (const socket of sockets) socket.write(bytes);
      await turn();
    }
  });
  await clients.close();
  server.close();
  for (const socket of sockets) socket.destroy();
  return rate;
}

async function oneDevice(directory: string, durability: 'os' | 'sync', publishers: number): Promise<number> {
  const socket = `${directory}.sock`;
  const device = await simulateDevice({ dir: directory, socket, durability, heartbeatMs: 600_000 });
  const clients = await Clients.connect(socket);
  while (device.stats().subscribers < SUBSCRIBERS) await turn();
  await turn();
  // Filler events are all of one length; the first shows how many bytes a client gets for each.
  const before = await clients.settled();
  await device.publish(1);
  const each = (await clients.settled()) - before;
  const rate = await clients.measure(each * EVENTS, async () => {
    const publish = async (): Promise<void> => {
      for (let at = 0; at < EVENTS / publishers; at += 1) await device.publish(1);
    };
    await Promise.all(Array.from({ length: publishers }, publish));
  });
  await clients.close();
  await device[Symbol.asyncDispose]();
  return rate;
}

const sample = () =>
  eventLine(1_000_000, 'deployment.deployed', '2026-01-01T00:00:00.000Z', {
    deployment_id: 'dpl_filler1000000',
    release_id: 'rls_filler1000000',
    status: 'deployed',
    activity_status: 'deployed',
    error_status: 'none',
    target_status: 'deployed',
    deployed_at: '2026-01-01T00:00:00.000Z',
  });

/** Clients of one socket in a process of their own, which count the bytes that all of them have read. */
class Clients {
  readonly #task: Task<typeof tasks>;

  private constructor(task: Task<typeof tasks>) {
    this.#task = task;
  }

  static async connect(path: string): Promise<Clients> {
    const task = new Task<typeof tasks>(import.meta.url);
    await task.call('connect', path);
    return new Clients(task);
  }

  /** Bytes read by one client on average, once no more have come for a moment. */
  async settled(): Promise<number> {
    return (await this.#task.call('settle')) / SUBSCRIBERS;
  }

  /** Frames a second, when `write` makes each client read about `bytes` more: until 99 % of all have been read. */
  async measure(bytes: number, write: () => Promise<void>): Promise<number> {
    // Bytes that arrive before the clients know where to begin would be missing at the end.
    await this.#task.call('expect', Math.floor(bytes * SUBSCRIBERS * 0.99));
    const read = this.#task.call('read');
    const started = performance.now();
    await write();
    await read;
    return (EVENTS * SUBSCRIBERS * 0.99 * 1_000) / (performance.now() - started);
  }

  async close(): Promise<void> {
    await this.#task[Symbol.asyncDispose]();
  }
}

/** The log of a robot, that stores on the disk before it says so. Throws what it would only have noted. */
function eventLog(directory: string, retain: number): EventLog {
  return new EventLog({
    directory,
    retain,
    retainBytes: Number.MAX_SAFE_INTEGER,
    durable: true,
    io: disk,
    clock: systemClock,
    behaviour: referenceBehaviour,
    onStored: () => {},
    onNotice: (notice) => {
      throw new Error(notice);
    },
  });
}

/** Stored lines of filler events, the first with the id after `from`. */
const fillerLines = (from: number, count: number): string =>
  fillerEvents(from, count, systemClock)
    .map(({ type, data }, at) => `${eventLine(from + at + 1, type, '2026-01-01T00:00:00.000Z', data).json}\n`)
    .join('');

const APPENDING_ROBOTS = 32;
const BATCH = 10;
const APPENDS = 30;
/** Many short ones in turn, so that other work of the disk slows both alike. */
const APPEND_ROUNDS = 15;

/** Durable appends of many robots at once, against a raw write and fdatasync of the same bytes to as many files. */
async function appending(): Promise<Figure[]> {
  return await inScratch(async (directory) => {
    const floors: number[] = [];
    const values: number[] = [];
    for (let round = 0; round < APPEND_ROUNDS; round += 1) {
      const floor = async () => floors.push(await rawFiles(`${directory}/raw${round}`));
      const value = async () => values.push(await logs(`${directory}/logs${round}`));
      for (const measure of round % 2 === 0 ? [floor, value] : [value, floor]) await measure();
    }
    const name = `inner: durable append, ${APPENDING_ROBOTS} robots, ${BATCH} events at a time`;
    return [ofFloor(name, median(values), median(floors), 0.9, 'events/s')];
  });
}

async function rawFiles(directory: string): Promise<number> {
  fs.mkdirSync(directory);
  const bytes = Buffer.from(fillerLines(0, BATCH));
  const files = Array.from({ length: APPENDING_ROBOTS }, (_, at) => fs.openSync(`${directory}/${at}`, 'w'));
  const rate = await perSecond(files, async (fd, at) => {
    await write(fd, bytes, 0, bytes.length, at * bytes.length);
    await fdatasync(fd);
  });
  for (const fd of files) fs.closeSync(fd);
  return rate;
}

async function logs(directory: string): Promise<number> {
  const open = Array.from({ length: APPENDING_ROBOTS }, (_, at) => {
    fs.mkdirSync(`${directory}/${at}`, { recursive: true });
    return eventLog(`${directory}/${at}`, Number.MAX_SAFE_INTEGER);
  });
  const drafts = fillerEvents(0, BATCH, systemClock);
  // The first append makes the files; what is measured is a log in use.
  await Promise.all(open.map((log) => log.append(drafts)));
  const rate = await perSecond(open, (log) => log.append(drafts));
  await Promise.all(open.map((log) => log.close()));
  return rate;
}

/** Events a second when every robot appends as often as it can, each after the one before. */
async function perSecond<T>(robots: readonly T[], append: (robot: T, at: number) => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await Promise.all(
    robots.map(async (robot) => {
      for (let at = 0; at < APPENDS; at += 1) await append(robot, at);
    }),
  );
  return (robots.length * APPENDS * BATCH * 1_000) / (performance.now() - started);
}

const LOG_EVENTS = 1_000_000;
const PORTION = 10_000;
const OPEN_ROUNDS = 5;

/** Opening a log of a million events, against reading its file once. Both find it in the page cache. */
async function opening(): Promise<Figure[]> {
  return await inScratch(async (directory) => {
    const path = `${directory}/${LOG_FILE}`;
    await writeLog(directory);
    const floors: number[] = [];
    const values: number[] = [];
    for (let round = 0; round < OPEN_ROUNDS; round += 1) {
      floors.push(timed(() => read(path)));
      values.push(timed(() => open(directory)));
    }
    const [value, floor] = [median(values), median(floors)];
    const ratio = value / floor;
    const name = `inner: opening a log of ${LOG_EVENTS.toLocaleString('en')} events`;
    return [{ name, value, floor, ratio, goal: '≤ 3 × floor', unit: 'ms', met: ratio <= 3 }];
  });
}

/** As after a clean stop. */
async function writeLog(directory: string): Promise<void> {
  const fd = fs.openSync(`${directory}/${LOG_FILE}`, 'w');
  for (let id = 0; id < LOG_EVENTS; id += PORTION) fs.writeSync(fd, sealed(fillerLines(id, PORTION)));
  fs.closeSync(fd);
  const mark = { highest: LOG_EVENTS, from: LOG_EVENTS, clean: true, durable: true, gaps: [] };
  await writeMark(disk, directory, mark, false);
}

function read(path: string): void {
  const fd = fs.openSync(path, 'r');
  const buffer = Buffer.allocUnsafe(1_048_576);
  while (fs.readSync(fd, buffer) > 0);
  fs.closeSync(fd);
}

function open(directory: string): void {
  const log = eventLog(directory, LOG_EVENTS);
  if (log.count !== LOG_EVENTS) throw new Error(`the log was opened with ${log.count} events`);
}

function timed(run: () => void): number {
  const started = performance.now();
  run();
  return performance.now() - started;
}

const DEVICES = 10_000;
const STARTED_AT_ONCE = 500;
const WARM_UP = 100;

interface Cost {
  /** Resident, heap and external memory each beyond the first ones. */
  bytes: number;
  startMs: number;
}

/** What ten thousand idle devices in one process cost, against bare listening sockets. */
async function idling(): Promise<Figure[]> {
  // Nothing is removed before both are measured: ext4 is slow to make files for minutes after it removed thousands.
  const measured = (what: 'sockets' | 'devices', place: string) => costOfMany(what, DEVICES, place, ['--expose-gc']);
  const [device, bare] = await inScratch(
    async (one) => [await measured('devices', one), await inScratch((other) => measured('sockets', other))] as const,
  );
  const start = `inner: start of ${DEVICES.toLocaleString('en')} devices`;
  return [
    atMost('inner: device alone, memory of an idle one', device.bytes, 16_384, 'bytes', bare.bytes),
    atMost(start, device.startMs, 3_000, 'ms', bare.startMs),
  ];
}

/** What one of many costs that listen in a directory, in a fresh process. */
export async function costOfMany(
  what: 'sockets' | 'devices',
  count: number,
  directory: string,
  flags: readonly string[],
): Promise<Cost> {
  await using task = new Task<typeof tasks>(import.meta.url, { flags });
  return await task.call('makeMany', what, count, directory);
}

/** Kept, so that nothing measured is collected. */
const kept: unknown[] = [];

async function makeMany(what: 'sockets' | 'devices', count: number, directory: string): Promise<Cost> {
  const make = async (name: string): Promise<void> => {
    const path = `${directory}/${name}`;
    kept.push(
      await (what === 'devices' ? simulateDevice({ dir: path, socket: `${path}.sock` }) : listen(`${path}.sock`)),
    );
  };
  // What the first ones bring with them (code, the parser, buffers) is not the price of one more.
  for (let at = 0; at < WARM_UP; at += 1) await make(`w${at}`);
  const before = await settledMemory();
  const started = performance.now();
  for (let from = 0; from < count; from += STARTED_AT_ONCE) {
    const some = Math.min(STARTED_AT_ONCE, count - from);
    await Promise.all(Array.from({ length: some }, (_, at) => make(String(from + at))));
  }
  const startMs = performance.now() - started;
  return { bytes: grown(before, await settledMemory()) / count, startMs };
}

const listen = (path: string) =>
  new Promise((resolve) => {
    const server = net.createServer({ allowHalfOpen: true });
    server.listen({ path, backlog: 4_096 }, () => resolve(server));
  });

/** The clients of this process, and what they have read. */
let total = 0;
let from = 0;
let until = Number.POSITIVE_INFINITY;
let reached = Promise.withResolvers<void>();

const tasks = {
  makeMany,
  connect: async (path: string): Promise<void> => {
    const connected = Array.from({ length: SUBSCRIBERS }, () => {
      const socket = net.connect(path);
      socket.write('GET /v0.2/events HTTP/1.1\r\nHost: device\r\n\r\n');
      socket.on('error', () => {});
      socket.on('data', ({ length }) => {
        total += length;
        if (total - from >= until) reached.resolve();
      });
      return once(socket, 'connect');
    });
    await Promise.all(connected);
  },
  /** Resolves with the bytes once nothing has come for a while. */
  settle: async (): Promise<number> => {
    for (let before = -1; before !== total; await wait(SETTLE_MS)) before = total;
    return total;
  },
  expect: (bytes: number): void => {
    from = total;
    until = bytes;
    reached = Promise.withResolvers();
  },
  read: () => reached.promise,
};

if (import.meta.main) serveTask(tasks);
