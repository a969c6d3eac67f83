import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
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
