import { expect, it } from 'vitest';
import { publish, readUpTo } from './drive.ts';
import { mostEvents, requireRoomFor } from './retention.ts';
import { cursorIn, growingLog, openTarget, replay, runOn } from './testing/device.ts';

const GONE = 'needs the events from 3 on, and they were compacted away: the log keeps at most 1';
const DUE = '200 with an event stream for GET /events with after=1';
it.for([
  [
    { keeps: 1, says: 1 },
    { outcome: 'undecided', reason: GONE, runs: 2 },
  ],
  [
    { keeps: 6, says: 200 },
    { outcome: 'fail', expected: DUE, runs: 1 },
  ],
] as const)('lost events are a finding only where the log should keep them: %j', async ([{ keeps, says }, due]) => {
  const log = growingLog();
  const target = await openTarget({ ...log, retention: says }, ({ url }, response) => {
    if (cursorIn(url) < log.newest - keeps + 1) response.writeHead(410).end();
    else replay(response, url, log.newest);
  });
  let runs = 0;
  const result = await runOn(target, async (t, streams) => {
    runs += 1;
    const { last: cursor } = await publish(t, 1);
    const published = await publish(t, Math.min(40, Math.max(1, mostEvents(t))));
    await readUpTo(await streams.open({ after: cursor }), published);
  });
  expect({ ...result, runs }).toMatchObject(due);
});

it('a log of which nothing is known is not said to keep fewer than Infinity', async () => {
  const target = await openTarget({}, (_, response) => void response.writeHead(404).end());
  const result = await runOn(target, async (t) => requireRoomFor(t, 1000));
  expect(result).toMatchObject({
    outcome: 'undecided',
    reason: 'needs 1001 retained events: nothing tells how many the log keeps',
  });
});
