import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { Session } from '../../../harness/runner/session.ts';
import type { OpenDeviceTarget } from '../../../harness/targets/opened.ts';
import { OPEN_STREAMS } from './requests.ts';
import { openTarget, runOn } from './testing/device.ts';

async function startDevice(capacity: number) {
  const served = new Set<ServerResponse>();
  let requests = 0;
  const target = await openTarget((request, response) => {
    // Opening the target sends other requests.
    if (request.method === 'GET' && request.url?.endsWith('/events') === true) requests += 1;
    if (served.size >= capacity) return void response.writeHead(503).end();
    served.add(response);
    response.once('close', () => served.delete(response));
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('id: 1\nevent: a.b\ndata: {}\n\n');
  });
  return { target, requests: () => requests };
}

const sessions = new Map<OpenDeviceTarget, Session>();

function run(target: OpenDeviceTarget, body: Parameters<typeof runOn>[1]) {
  const session = sessions.get(target) ?? new Session();
  sessions.set(target, session);
  return runOn(target, body, session);
}

describe('a throttled check', () => {
  it('does not wait for a stream of another target', async () => {
    const serving = await startDevice(1);
    const throttling = await startDevice(0);
    const outcomes: string[] = [];
    const holding = await run(serving.target, async (_t, streams) => {
      await streams.open();
      const result = await run(throttling.target, (_other, its) => its.open());
      outcomes.push(result.outcome);
    });
    expect([...outcomes, holding.outcome]).toEqual(['fail', 'pass']);
    expect(throttling.requests()).toBe(1);
  });

  it('shares the count of open streams only with checks of its target', async () => {
    const [one, other] = [await startDevice(1), await startDevice(1)];
    const counts: number[] = [];
    await run(one.target, async (_t, streams) => {
      await streams.open();
      for (const { target } of [one, other])
        await run(target, async (beside) => counts.push(beside.session.get(OPEN_STREAMS).count));
    });
    expect(counts).toEqual([1, 0]);
  });
});
