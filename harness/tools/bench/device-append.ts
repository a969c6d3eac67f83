/** Durable appends of many robots at once, against a raw write and fdatasync of the same bytes to as many files. */
import fs from 'node:fs';
import { promisify } from 'node:util';
import { systemClock } from '../../../simulators/common/clock.ts';
import { eventLine } from '../../../simulators/device/log/line.ts';
import { fillerEvents } from '../../../simulators/device/state/filler.ts';
import { eventLog, inScratch, median } from './device-scratch.ts';
import type { Figure } from './figure.ts';

const ROBOTS = 32;
const BATCH = 10;
const APPENDS = 30;
/** Many short ones in turn, so that what else the disk is doing strikes both alike. */
const ROUNDS = 15;

const write = promisify(fs.write);
const fdatasync = promisify(fs.fdatasync);

export async function appending(): Promise<Figure[]> {
  return await inScratch(async (directory) => {
    const floors: number[] = [];
    const values: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const floor = async () => floors.push(await rawFiles(`${directory}/raw${round}`));
      const value = async () => values.push(await logs(`${directory}/logs${round}`));
      for (const measure of round % 2 === 0 ? [floor, value] : [value, floor]) await measure();
    }
    const floor = median(floors);
    const value = median(values);
    const ratio = value / floor;
    const name = `durable append, ${ROBOTS} robots, ${BATCH} events at a time`;
    return [{ name, value, floor, ratio, goal: '≥ 0.9 × floor', unit: 'events/s', met: ratio >= 0.9 }];
  });
}

async function rawFiles(directory: string): Promise<number> {
  fs.mkdirSync(directory);
  const drafts = fillerEvents(0, BATCH, systemClock);
  const lines = drafts.map(({ type, data }, at) => eventLine(at + 1, type, '2026-01-01T00:00:00.000Z', data).json);
  const bytes = Buffer.from(`${lines.join('\n')}\n`);
  const files = Array.from({ length: ROBOTS }, (_, at) => fs.openSync(`${directory}/${at}`, 'w'));
  const rate = await perSecond(files, async (fd, at) => {
    await write(fd, bytes, 0, bytes.length, at * bytes.length);
    await fdatasync(fd);
  });
  for (const fd of files) fs.closeSync(fd);
  return rate;
}

async function logs(directory: string): Promise<number> {
  const open = Array.from({ length: ROBOTS }, (_, at) => {
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
