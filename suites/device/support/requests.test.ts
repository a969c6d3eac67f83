import type { RequestListener } from 'node:http';
import { expect, it, onTestFinished, vi } from 'vitest';
import { CURRENT, currentDeployment, request } from './requests.ts';
import { openTarget, runOn } from './testing/device.ts';

it('a request is repeated after a 429 without Retry-After', async () => {
  let asked = 0;
  const answer: RequestListener = (_request, response) => {
    asked += 1;
    if (asked % 2 === 0) response.writeHead(429).end();
    else response.writeHead(200, { 'content-type': 'application/json' }).end('{"id":"dpl_1"}');
  };
  const target = await openTarget(answer, undefined, undefined, CURRENT);
  const result = await runOn(target, async (t) => {
    // One of two requests in a row meets a 429, however many came before.
    for (let times = 0; times < 2; times += 1) expect(await currentDeployment(t)).toEqual({ id: 'dpl_1' });
  });
  expect(result).toMatchObject({ outcome: 'pass' });
});

it.each([429, 503])('a request that was refused for a minute by %i is then sent once', async (status) => {
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  let asked = 0;
  const answer: RequestListener = (_request, response) => {
    asked += 1;
    now = 70_000;
    response.writeHead(status, { 'retry-after': '3600' }).end();
  };
  const target = await openTarget(answer, undefined, undefined, CURRENT);
  const before = asked;
  now = 0;
  const result = await runOn(target, async (t) => {
    for (const due of [1, 2]) {
      expect(await request(t, { path: CURRENT })).toMatchObject({ status });
      expect(asked - before).toBe(due);
    }
  });
  expect(result).toMatchObject({ outcome: 'pass' });
});
