import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { Session } from '../../../harness/runner/session.ts';
import type { Device } from './check.ts';
import { type Streams, withStreams } from './streams.ts';
import { openTarget, runOn } from './testing/device.ts';

/** `isPool`: lets a stream that is one too many wait until another one ends. `noticedMs`: after its end. */
async function startDevice(capacity: number, { isPool = false, noticedMs = 0 } = {}) {
  const served = new Set<ServerResponse>();
  const waiting = new Set<ServerResponse>();
  let requests = 0;
  const serve = (response: ServerResponse): void => {
    waiting.delete(response);
    served.add(response);
    response.once('close', async () => {
      if (noticedMs > 0) await sleep(noticedMs);
      served.delete(response);
      const [next] = waiting;
      if (next !== undefined) serve(next);
    });
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('id: 1\nevent: a.b\ndata: {}\n\n');
  };
  const target = await openTarget({}, (_request, response) => {
    requests += 1;
    if (served.size < capacity) return serve(response);
    if (!isPool) return void response.writeHead(503).end();
    waiting.add(response);
    response.once('close', () => waiting.delete(response));
  });
  return { target, requests: () => requests };
}

it('a throttled check does not wait for a stream of another target', async () => {
  const serving = await startDevice(1);
  const throttling = await startDevice(0);
  const outcomes: string[] = [];
  const holding = await runOn(serving.target, async (_t, streams) => {
    await streams.open();
    const result = await runOn(throttling.target, (_other, its) => its.open());
    outcomes.push(result.outcome);
  });
  expect([...outcomes, holding.outcome]).toEqual(['fail', 'pass']);
  expect(throttling.requests()).toBe(1);
});

it('a stream that waits for the end of another one counts as refused', async () => {
  const { target, requests } = await startDevice(1, { isPool: true });
  const session = new Session();
  session.waits.device.timedOut('stream');
  const seen: unknown[] = [];
  const holding = await runOn(
    target,
    async (_t, streams) => {
      const first = await streams.open();
      seen.push(await streams.openAnother({}), session.isSmall);
      const other = runOn(target, (_other, its) => its.open(), session);
      // The other check sends its third request once two have counted as refused.
      await vi.waitFor(() => expect(requests()).toBeGreaterThanOrEqual(5), { timeout: 30_000 });
      await first.close();
      seen.push((await other).outcome);
    },
    session,
  );
  expect([...seen, holding.outcome]).toEqual([undefined, true, 'pass', 'pass']);
});

it('streams that are opened at once and wait beside others count as refused', async () => {
  const { target } = await startDevice(3, { isPool: true });
  const session = new Session();
  session.waits.device.timedOut('stream');
  const openBeside = async (_t: Device, streams: Streams) => {
    await streams.open();
    const more = await Promise.all(Array.from({ length: 4 }, () => streams.openAnother({})));
    expect(more.filter((stream) => stream === undefined)).toHaveLength(2);
  };
  expect(await runOn(target, openBeside, session)).toMatchObject({ outcome: 'pass' });
});

it('a device that answers no stream is not one whose streams wait', async () => {
  const { target } = await startDevice(0, { isPool: true });
  const session = new Session();
  session.waits.device.timedOut('stream');
  expect(await runOn(target, (_t, streams) => streams.open(), session)).toMatchObject({ outcome: 'fail' });
});

it.for([
  [10, 5000, 'pass'],
  [2.5, 9000, 'fail'],
] as const)('a device of heartbeats every %f s that notices the end of a stream after %i ms: %s', async (given) => {
  const [heartbeatSeconds, noticedMs, outcome] = given;
  const { target } = await startDevice(1, { noticedMs });
  const comeBack = (t: Device) =>
    withStreams({ ...t, heartbeatSeconds }, async (streams) => {
      await (await streams.open()).close();
      await streams.open();
    });
  expect((await runOn(target, comeBack)).outcome).toBe(outcome);
});
