/** Measures live delivery and the event log of a simulated device, compared with raw sockets and files. */
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { systemClock } from '../../../simulators/common/clock.ts';
import { scratch } from '../../../simulators/common/testing/scratch.ts';
import { chunk, frame } from '../../../simulators/device/behaviour.ts';
import { simulateDevice } from '../../../simulators/device/index.ts';
import type { EventLog } from '../../../simulators/device/log/event-log.ts';
import { writeMark } from '../../../simulators/device/log/high-water-mark.ts';
import { disk } from '../../../simulators/device/log/io.ts';
import { eventLine, type StoredEvent, sealed } from '../../../simulators/device/log/line.ts';
import { LOG_FILE } from '../../../simulators/device/log/log-file.ts';
import { open as openLog } from '../../../simulators/device/log/testing/recorded-disk.ts';
import { fillerEvents } from '../../../simulators/device/state/deployment-store.ts';
import { type Figure, figureAgainstFloor, inTurns, median, timesFloor } from '../measure/figure.ts';
import { serveTask, Task } from '../measure/process.ts';

const write = promisify(fs.write);
const fdatasync = promisify(fs.fdatasync);

export async function benchDevice(): Promise<Figure[]> {
  return [...(await delivering()), await appending(), await opening()];
}

const SUBSCRIBERS = 1_000;
const EVENTS = 300;
/** Share of the expected bytes to wait for; below 1, because events stored together share the bytes around a chunk. */
const SHARE_COUNTED = 0.97;

async function delivering(): Promise<Figure[]> {
  using home = scratch();
  const { path } = home;
  const { raw, alone, together } = await inTurns(5, {
    raw: (round) => rawSockets(`${path}/raw${round}.sock`),
    alone: (round) => oneDevice(`${path}/a${round}`, 'os', 1),
    together: (round) => oneDevice(`${path}/s${round}`, 'sync', 8),
  });
  const name = 'SSE frames delivered to 1,000 subscribers, one event at a time';
  return [
    figureAgainstFloor(name, median(alone), median(raw), 0.9, 'frames/s'),
    figureAgainstFloor(
      'the same, each event on the disk first, 8 publishers',
      median(together),
      median(raw),
      0.9,
      'frames/s',
    ),
  ];
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
  await using clients = new Task<typeof tasks>(import.meta.url);
  await clients.call('connect', path);
  while (sockets.length < SUBSCRIBERS) await turn();
  const bytes = chunk(Buffer.from(fillerLines(100, 1).map(frame).join('')));
  const rate = await framesPerSecond(clients, bytes.length, async () => {
    for (let at = 0; at < EVENTS; at += 1) {
      for (const socket of sockets) socket.write(bytes);
      await turn();
    }
  });
  server.close();
  for (const socket of sockets) socket.destroy();
  return rate;
}

async function oneDevice(directory: string, durability: 'os' | 'sync', publishers: number): Promise<number> {
  const socket = `${directory}.sock`;
  await using device = await simulateDevice({ dir: directory, socket, durability, heartbeatMs: 600_000 });
  await using clients = new Task<typeof tasks>(import.meta.url);
  await clients.call('connect', socket);
  while (device.stats().subscribers < SUBSCRIBERS) await turn();
  await turn();
  // All further events have ids of three digits, and the same number of bytes.
  await device.publish(100);
  const before = await clients.call('settle');
  await device.publish(1);
  const each = ((await clients.call('settle')) - before) / SUBSCRIBERS;
  return await framesPerSecond(clients, each, async () => {
    const publish = async (): Promise<void> => {
      for (let at = 0; at < EVENTS / publishers; at += 1) await device.publish(1);
    };
    await Promise.all(Array.from({ length: publishers }, publish));
  });
}

async function framesPerSecond(
  clients: Task<typeof tasks>,
  bytes: number,
  write: () => Promise<void>,
): Promise<number> {
  // Begins to count received bytes before the first write.
  await clients.call('expect', Math.floor(bytes * EVENTS * SUBSCRIBERS * SHARE_COUNTED));
  const read = clients.call('read');
  const started = performance.now();
  await write();
  await read;
  return (EVENTS * SUBSCRIBERS * SHARE_COUNTED * 1_000) / (performance.now() - started);
}

const eventLog = (directory: string, retain: number): EventLog =>
  openLog(directory, {
    retain,
    durable: true,
    onStored: () => {},
    onNotice: (notice) => {
      throw new Error(notice);
    },
  }).log;

const fillerLines = (from: number, count: number): StoredEvent[] =>
  fillerEvents(from, count, systemClock).map(({ type, data }, at) =>
    eventLine(from + at + 1, type, '2026-01-01T00:00:00.000Z', data),
  );
const textOf = (events: readonly StoredEvent[]): string => events.map(({ json }) => `${json}\n`).join('');

const APPENDING_ROBOTS = 32;
const BATCH = 10;
const APPENDS = 30;

async function appending(): Promise<Figure> {
  using home = scratch();
  // Many short rounds, so that other work of the disk slows both measurements alike.
  const { raw, own } = await inTurns(15, {
    raw: async (round) => {
      const directory = `${home.path}/raw${round}`;
      fs.mkdirSync(directory);
      const bytes = Buffer.from(textOf(fillerLines(0, BATCH)));
      const files = Array.from({ length: APPENDING_ROBOTS }, (_, at) => fs.openSync(`${directory}/${at}`, 'w'));
      const rate = await perSecond(files, async (fd, at) => {
        await write(fd, bytes, 0, bytes.length, at * bytes.length);
        await fdatasync(fd);
      });
      for (const fd of files) fs.closeSync(fd);
      return rate;
    },
    own: async (round) => {
      const directory = `${home.path}/logs${round}`;
      const open = Array.from({ length: APPENDING_ROBOTS }, (_, at) => {
        fs.mkdirSync(`${directory}/${at}`, { recursive: true });
        return eventLog(`${directory}/${at}`, Number.MAX_SAFE_INTEGER);
      });
      const drafts = fillerEvents(0, BATCH, systemClock);
      // The first append also creates files.
      await Promise.all(open.map((log) => log.append(drafts)));
      const rate = await perSecond(open, (log) => log.append(drafts));
      await Promise.all(open.map((log) => log.close()));
      return rate;
    },
  });
  const name = `inner: durable append, ${APPENDING_ROBOTS} robots, ${BATCH} events at a time`;
  return figureAgainstFloor(name, median(own), median(raw), 0.9, 'events/s');
}

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

async function opening(): Promise<Figure> {
  using home = scratch();
  const { path } = home;
  const file = `${path}/${LOG_FILE}`;
  const fd = fs.openSync(file, 'w');
  for (let id = 0; id < LOG_EVENTS; id += PORTION) fs.writeSync(fd, sealed(textOf(fillerLines(id, PORTION))));
  fs.closeSync(fd);
  const mark = { highest: LOG_EVENTS, from: LOG_EVENTS, clean: true, durable: true, gaps: [] };
  await writeMark(disk, path, mark, false);
  const { raw, own } = await inTurns(5, {
    raw: () => timed(() => read(file)),
    own: () => timed(() => open(path)),
  });
  const name = `inner: opening a log of ${LOG_EVENTS.toLocaleString('en')} events`;
  return timesFloor(name, median(own), median(raw), 3, 'ms');
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

let total = 0;
let from = 0;
let until = Number.POSITIVE_INFINITY;
let reached = Promise.withResolvers<void>();

const tasks = {
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
  settle: async (): Promise<number> => {
    for (let before = -1; before !== total; await wait(200)) before = total;
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
