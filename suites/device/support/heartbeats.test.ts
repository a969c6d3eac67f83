import { expect, it } from 'vitest';
import type { CheckResult } from '../../../harness/runner/types.ts';
import { publish } from './drive.ts';
import { awaitHeartbeats } from './heartbeats.ts';
import { frame, openTarget, runOn } from './testing/device.ts';

/** What becomes of a check whose filtered replay is cut, on a device that keeps so many events. */
async function cutOn(retention: number): Promise<CheckResult> {
  let newest = 0;
  const target = await openTarget(
    ({ url }, response) => {
      if (!url?.includes('/events')) return void response.writeHead(404).end();
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      if (url?.includes('deployment.removed')) response.write(': heartbeat\n\n', () => response.destroy());
      else for (let id = 1; id <= newest; id += 1) response.write(frame(id));
    },
    async (count) => {
      newest += count;
      return { first_id: newest - count + 1, last_id: newest };
    },
    retention,
  );
  return runOn(target, async (t, streams) => {
    const { last } = await publish(t, 1);
    const opening = { lastEventId: last, types: ['deployment.removed'] };
    await awaitHeartbeats(t, streams.follow(await streams.try(opening)), 1, { opening });
  });
}

it('tells nothing of a replay that was cut where its events may be compacted away', async () => {
  expect(await cutOn(2)).toMatchObject({
    outcome: 'undecided',
    reason: expect.stringMatching(/compacted away: the log keeps at most 2/),
  });
});

it('finds a stream that is cut instead of a heartbeat', async () => {
  expect(await cutOn(1000)).toMatchObject({
    outcome: 'fail',
    expected: expect.stringMatching(/a comment line within 45 s/),
  });
});
