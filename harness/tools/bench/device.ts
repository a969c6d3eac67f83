/** Figures of the simulated device: its log and what an idle one costs, each beside the floor that the same run measured. */
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import process from 'node:process';
import { promisify } from 'node:util';
import { systemClock } from '../../../simulators/common/clock.ts';
import { referenceBehaviour, simulateDevice } from '../../../simulators/device/index.ts';
import { EventLog } from '../../../simulators/device/log/event-log.ts';
import { writeMark } from '../../../simulators/device/log/high-water-mark.ts';
import { disk } from '../../../simulators/device/log/io.ts';
import { eventLine, sealed } from '../../../simulators/device/log/line.ts';
import { LOG_FILE } from '../../../simulators/device/log/log-file.ts';
import { fillerEvents } from '../../../simulators/device/state/deployment-store.ts';
import { delivering } from './device-delivery.ts';
import { atMost, type Figure, inScratch, median, ofFloor } from './figure.ts';

const write = promisify(fs.write);
const fdatasync = promisify(fs.fdatasync);

export async function benchDevice(): Promise<Figure[]> {
  const figures: Figure[] = [];
  // One after the other: they would disturb each other.
  for (const measure of [delivering, appending, opening, idling]) figures.push(...(await measure()));
  return figures;
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

/** What ten thousand idle devices in one process cost, against bare listening sockets; each in a fresh process. */
async function idling(): Promise<Figure[]> {
  // Nothing is removed before both are measured: ext4 is slow to make files for minutes after it removed thousands.
  const [device, bare] = await inScratch(
    async (one) => [await cost('devices', one), await inScratch((other) => cost('sockets', other))] as const,
  );
  const start = `inner: start of ${DEVICES.toLocaleString('en')} devices`;
  return [
    atMost('inner: device alone, memory of an idle one', device.bytes, 16_384, 'bytes', bare.bytes),
    atMost(start, device.startMs, 3_000, 'ms', bare.startMs),
  ];
}

async function cost(what: 'sockets' | 'devices', directory: string): Promise<Cost> {
  const args = ['--expose-gc', import.meta.filename, what, directory];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as Cost;
}

/** Makes many of something that listens, and writes what one costs. */
async function makeMany(what: string, directory: string): Promise<void> {
  const kept: unknown[] = [];
  const make = async (name: string): Promise<void> => {
    const path = `${directory}/${name}`;
    kept.push(
      await (what === 'devices' ? simulateDevice({ dir: path, socket: `${path}.sock` }) : listen(`${path}.sock`)),
    );
  };
  // What the first ones bring with them (code, the parser, buffers) is not the price of one more.
  for (let at = 0; at < WARM_UP; at += 1) await make(`w${at}`);
  const before = memory();
  const started = performance.now();
  for (let from = 0; from < DEVICES; from += STARTED_AT_ONCE) {
    await Promise.all(Array.from({ length: STARTED_AT_ONCE }, (_, at) => make(String(from + at))));
  }
  const startMs = performance.now() - started;
  const bytes = (memory() - before) / (kept.length - WARM_UP);
  process.stdout.write(JSON.stringify({ bytes, startMs } satisfies Cost));
  process.exit();
}

const listen = (path: string) =>
  new Promise((resolve) => {
    const server = net.createServer({ allowHalfOpen: true });
    server.listen({ path, backlog: 4_096 }, () => resolve(server));
  });

/** The larger of what the process holds and what the heap accounts for. */
function memory(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  return Math.max(rss, heapUsed + external);
}

if (import.meta.main) {
  const [what = '', directory = ''] = process.argv.slice(2);
  await makeMany(what, directory);
}
