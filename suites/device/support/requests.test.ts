import type { RequestListener } from 'node:http';
import { expect, it } from 'vitest';
import { CURRENT, currentDeployment } from './requests.ts';
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
