/** Opening a log of a million events, against reading its file once. Both find it in the page cache. */
import fs from 'node:fs';
import { systemClock } from '../../../simulators/common/clock.ts';
import { eventLine } from '../../../simulators/device/log/line.ts';
import { LOG_FILE } from '../../../simulators/device/log/log-file.ts';
import { fillerEvents } from '../../../simulators/device/state/filler.ts';
import { eventLog, inScratch, median } from './device-scratch.ts';
import type { Figure } from './figure.ts';

const EVENTS = 1_000_000;
const PORTION = 10_000;
const ROUNDS = 5;

export async function opening(): Promise<Figure[]> {
  return await inScratch(async (directory) => {
    const path = `${directory}/${LOG_FILE}`;
    writeLog(path);
    const floors: number[] = [];
    const values: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      floors.push(timed(() => read(path)));
      values.push(timed(() => open(directory)));
    }
    const floor = median(floors);
    const value = median(values);
    const ratio = value / floor;
    const name = `opening a log of ${EVENTS.toLocaleString('en')} events`;
    return [{ name, value, floor, ratio, goal: '≤ 3 × floor', unit: 'ms', met: ratio <= 3 }];
  });
}

function writeLog(path: string): void {
  const fd = fs.openSync(path, 'w');
  for (let id = 0; id < EVENTS; id += PORTION) {
    const lines = fillerEvents(id, PORTION, systemClock).map(({ type, data }, at) => {
      return eventLine(id + at + 1, type, '2026-01-01T00:00:00.000Z', data).json;
    });
    fs.writeSync(fd, `${lines.join('\n')}\n`);
  }
  fs.closeSync(fd);
}

function read(path: string): void {
  const fd = fs.openSync(path, 'r');
  const buffer = Buffer.allocUnsafe(1_048_576);
  while (fs.readSync(fd, buffer) > 0);
  fs.closeSync(fd);
}

function open(directory: string): void {
  const log = eventLog(directory, EVENTS);
  if (log.count !== EVENTS) throw new Error(`the log was opened with ${log.count} events`);
}

function timed(run: () => void): number {
  const started = performance.now();
  run();
  return performance.now() - started;
}
