import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { Session } from '../../../harness/runner/session.ts';
import type { Device } from './check.ts';
import { compactAway } from './compaction.ts';
import { frame, openTarget, runOn } from './testing/device.ts';

/** Events that the log keeps. */
const RETENTION = 600;

/** What becomes of a check that needs lost events, where each of the last two that were published took so long. */
async function compactedAfter(eachMs: number): Promise<unknown> {
  let [newest, earliest] = [0, 1];
  const open = new Set<ServerResponse>();
  const target = await openTarget(
    (request, response) => {
      const after = new URL(request.url ?? '', 'http://device').searchParams.get('after');
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      for (let id = Number(after ?? newest) + 1; id <= newest; id += 1) response.write(frame(id));
      open.add(response);
    },
    async (count) => {
      const first_id = newest + 1;
      newest += count;
      for (const response of open) for (let id = first_id; id <= newest; id += 1) response.write(frame(id));
      return { first_id, last_id: newest };
    },
    RETENTION,
    async () => {
      earliest = Math.max(earliest, newest - RETENTION + 1);
      return { earliest_id: earliest, latest_id: newest };
    },
  );
  const session = new Session();
  const { outcome, reason } = await runOn(
    target,
    async (t: Device, streams) => {
      for (const ms of [eachMs, eachMs]) session.took('publish', ms);
      const { lost } = await compactAway(t, streams);
      t.must(lost.length > 1, { expected: 'lost events', actual: String(lost.length) });
    },
    session,
  );
  return { outcome, reason };
}

it('fills a log whose single events have waited for a busy machine', async () => {
  expect(await compactedAfter(500)).toMatchObject({ outcome: 'pass' });
});
