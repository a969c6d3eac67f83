import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { storedAfter } from '../stream/reader.ts';
import { useScratch } from '../testing/robot.ts';
import type { EventLog } from './event-log.ts';
import { disk } from './io.ts';
import { drafts, idsIn, opened, range } from './testing/recorded-disk.ts';

const home = useScratch();
const textsIn = (log: EventLog): Map<number, string> =>
  new Map(Array.from(storedAfter(log, disk, 0), ({ id, json }) => [id, json]));

async function written(directory: string, count: number, size = 30) {
  const { log } = opened(directory, { durable: true });
  await log.append(drafts(count, size));
  const texts = textsIn(log);
  await log.close();
  return { path: log.path, texts };
}

const jump = (text: string) => text.replace(/"id":\d+/, '$&000');

test.for([
  ['a misspelt checksum member', 3, (text: string) => text.replace('"sum"', '"sun"')],
  ...[2, 20, 39].map((line) => ['an id out of order and no checksum', line, jump] as const),
] as const)('a line with %s is skipped as damaged (line %s)', async ([, line, change]) => {
  const { path } = await written(home.path, 40);
  if (change === jump) withoutSums(path);
  changeLine(path, line, change);
  const { log } = opened(home.path, { durable: true });
  const { first } = await log.append(drafts(3));
  expect(first).toBe(41);
  expect(idsIn(log)).toEqual([...range(1, 40).filter((id) => id !== line), 41, 42, 43]);
  expect(idsIn(log, 38)).toEqual([39, 40, 41, 42, 43].filter((id) => id !== line));
});

test('a log of an older version, without checksums, is read and continued', async () => {
  const { path, texts } = await written(home.path, 500, 300);
  withoutSums(path);
  const { log, notices } = opened(home.path, { durable: true, retain: 400 });
  expect(notices).toEqual([]);
  expect(textsIn(log)).toEqual(texts);
  await log.append(drafts(1));
  expect(idsIn(log, log.earliest - 1)).toEqual(range(182, 501));
});

test('damaged lines are reported once in notices, and counted by inspect', async () => {
  const { path } = await written(home.path, 30);
  for (let line = 3; line < 20; line += 1) changeLine(path, line, (text) => text.replace('xxx', 'xyx'));
  const { log, notices } = opened(home.path, { durable: true });
  expect(notices.splice(0).join()).toMatch(/17 unreadable lines at the end of the log are skipped/);
  idsIn(log);
  idsIn(log);
  expect(notices).toHaveLength(10);
  expect(notices[0]).toMatch(/events\.jsonl: the line of \d+ bytes at offset \d+ is damaged, and skipped$/);
  const { skipped, ...report } = await log.inspect();
  expect(report).toMatchObject({ events: 13, earliest_id: 1, latest_id: 30, skipped_lines: 17 });
  expect(report.repairs.join()).toMatch(/17 unreadable lines/);
  expect(skipped).toHaveLength(10);
});

function changeLine(path: string, line: number, change: (text: string) => string): void {
  const lines = readFileSync(path, 'utf8').split('\n');
  const before = lines[line - 1] ?? '';
  lines[line - 1] = change(before);
  expect(lines[line - 1]).not.toBe(before);
  writeFileSync(path, lines.join('\n'));
}

const withoutSums = (path: string): void =>
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/,"sum":"[0-9a-f]{8}"\}$/gm, '}'));
