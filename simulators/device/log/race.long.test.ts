/** Readers of a log that is compacted meanwhile; `race.long.test.ts` runs more of the same. */
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { scratch } from '../testing/robot.ts';
import { Client, connectDuringCompaction, drafts, gap, HeldDisk, open, raceProperty } from './testing/race.ts';

test('a reader that begins at any step of a compaction gets every event after its cursor', async () => {
  using home = scratch();
  const slow = new HeldDisk();
  const log = open(home.path, slow.io, 1_000_000);
  const appending = log.append(drafts(1_000));
  await slow.letAllGo();
  await appending;
  slow.held = true;
  const compacting = log.compact();
  await turn();
  const clients: Client[] = [];
  let steps = 0;
  do {
    steps += 1;
    for (const cursor of [0, 100, 199, 200, 201, 600, 999, 1_000]) {
      const client = new Client(log, cursor);
      client.read();
      // The second client begins to read after the compaction.
      clients.push(client, new Client(log, cursor));
    }
  } while (await slow.letGo());
  await slow.letAllGo();
  await compacting;
  expect(steps).toBeGreaterThanOrEqual(3);
  expect(log.earliest).toBe(201);
  for (const client of clients) {
    client.readAll();
    expect(gap(client.cursor, client.ids)).toBe('');
    if (!client.cutOff) expect(client.ids.at(-1) ?? client.cursor).toBe(1_000);
    if (client.cursor >= 200) expect(client.cutOff).toBe(false);
  }
  await log.close();
});

test('in any order of appends, compactions, disk and slow readers, no client misses an event without knowing', async () => {
  await fc.assert(raceProperty(), { numRuns: 12 });
});

test.for(['os', 'sync'] as const)('clients that connect during a compaction miss nothing, %s', async (durability) => {
  expect(await connectDuringCompaction(durability, 6)).toBeGreaterThan(6);
});
