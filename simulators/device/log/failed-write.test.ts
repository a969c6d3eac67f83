import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { random } from '../../common/random.ts';
import { leave } from '../../common/testing/crashed-folder.ts';
import { LogReader } from '../stream/reader.ts';
import { scratch } from '../testing/robot.ts';
import { disk } from './io.ts';
import { drafts, open } from './testing/logs.ts';
import { type Failure, RecordedDisk } from './testing/recorded-disk.ts';

const LOSSES = 60;

test('what a failed write has left does not come back under ids of later events when the machine loses its power', async () => {
  using home = scratch();
  const folder = join(home.path, 'robot');
  mkdirSync(folder);
  const recorded = new RecordedDisk(folder);
  const failing: (Failure | undefined)[] = [];
  recorded.fails = () => failing.shift();
  const delivered = new Map<number, string>();
  const { log } = open(folder, {
    io: recorded.io,
    onStored: (events) => {
      for (const { id, json } of events) delivered.set(id, json);
    },
  });
  await log.append(drafts(3));
  // The write fails, and so does the attempt to cut it off; a compaction makes another file of the log.
  failing.push('short write', 'EIO');
  await expect(log.append(drafts(8, 20))).rejects.toThrow(/ENOSPC/);
  await log.compact();
  await log.append(drafts(5, 40));
  log.abandon();
  for (let at = 0; at < LOSSES; at += 1) {
    const left = join(home.path, `left${at}`);
    mkdirSync(left);
    leave(recorded.steps, recorded.steps.length, left, { lottery: random(at), underWay: false });
    const { log: again } = open(left);
    const reader = new LogReader(again, disk, again.earliest - 1);
    const found = reader.read();
    if (found === 'overtaken') throw new Error('overtaken');
    for (const { id, json } of found) expect(json).toBe(delivered.get(id) ?? json);
    reader.close();
    again.abandon();
  }
});
