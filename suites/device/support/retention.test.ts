import { expect, it } from 'vitest';
import type { CheckResult } from '../../../harness/runner/types.ts';
import { publish, readUpTo } from './drive.ts';
import { mostEvents, requireRoomFor } from './retention.ts';
import { frame, growingLog, openTarget, runOn } from './testing/device.ts';

async function replayOf({ keeps, says }: Record<'keeps' | 'says', number>): Promise<CheckResult & { runs: number }> {
  const log = growingLog();
  const target = await openTarget(
    (request, response) => {
      const after = Number(new URL(request.url ?? '', 'http://device').searchParams.get('after'));
      if (after < log.newest - keeps + 1) return void response.writeHead(410).end();
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let id = after + 1; id <= log.newest; id += 1) response.write(frame(id));
      response.flushHeaders();
    },
    log.publish,
    says,
  );
  let runs = 0;
  const result = await runOn(target, async (t, streams) => {
    runs += 1;
    const { last: cursor } = await publish(t, 1);
    const published = await publish(t, Math.min(40, Math.max(1, mostEvents(t))));
    await readUpTo(await streams.open({ after: cursor }), published);
  });
  return { ...result, runs };
}

it('a check decides nothing where the events after its cursor may be gone', async () => {
  expect(await replayOf({ keeps: 1, says: 1 })).toMatchObject({
    outcome: 'undecided',
    reason: 'needs the events from 3 on, and they were compacted away: the log keeps at most 1',
    runs: 2,
  });
});

it('a log that keeps fewer events than control declares is found', async () => {
  expect(await replayOf({ keeps: 6, says: 200 })).toMatchObject({
    outcome: 'fail',
    expected: '200 with an event stream for GET /events with after=1',
    runs: 1,
  });
});

it('a check names the retained events that it needs', async () => {
  const target = await openTarget((_request, response) => void response.end(), undefined, 2);
  expect(await runOn(target, async (t) => requireRoomFor(t, 2))).toMatchObject({
    outcome: 'undecided',
    reason: 'needs 3 retained events: the log keeps at most 2',
  });
});
