import { expect, it, onTestFinished, vi } from 'vitest';
import { CURRENT, currentDeployment, request } from './requests.ts';
import { openTarget, runNamed, runOn } from './testing/device.ts';

it('a request is repeated after a 429 without Retry-After', async () => {
  let asked = 0;
  const target = await openTarget({ path: CURRENT }, (_request, response) => {
    asked += 1;
    if (asked % 2 === 0) response.writeHead(429).end();
    else response.writeHead(200, { 'content-type': 'application/json' }).end('{"id":"dpl_1"}');
  });
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
  const target = await openTarget({ path: CURRENT }, (_request, response) => {
    asked += 1;
    now = 70_000;
    response.writeHead(status, { 'retry-after': '3600' }).end();
  });
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

it.for([
  ['each request', 'pass', undefined],
  ['the request before it on the connection', 'warn', /^2\d\d, 2\d\d, 404$/],
  ['each request until the connection closes, after the first one', 'pass', undefined],
] as const)('a pipeline whose answers are those of %s: %s', async ([whose, outcome, statuses]) => {
  const before = new WeakMap<object, number>();
  const target = await openTarget({ path: '/' }, ({ url = '', socket }, response) => {
    const due = /^\/v0\.2(\/events|\/deployments\/current)(\?|$)/.test(url) ? 200 : 404;
    const status = whose.startsWith('each request') ? due : (before.get(socket) ?? due);
    before.set(socket, due);
    if (whose.endsWith('first one')) {
      response.shouldKeepAlive = false;
      response.removeHeader('connection');
    }
    if (status === 404) return void response.writeHead(404).end();
    const isStream = url.includes('/events');
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
    if (isStream) response.flushHeaders();
    else response.end('{"id":"dpl_1","activity_status":"deployed"}');
  });
  const { actual = '', ...result } = await runNamed(target, 'device.robust.requests');
  expect([result.outcome, actual]).toEqual([outcome, expect.stringMatching(statuses ?? /^$/)]);
});

it('a body of more than 16 MiB in place of one deployment is a finding', async () => {
  const body = Buffer.alloc(2 ** 24 + 1, ' ');
  const target = await openTarget({ path: CURRENT }, (_, response) => void response.end(body));
  expect(await runOn(target, (t) => currentDeployment(t))).toMatchObject({
    outcome: 'fail',
    actual: expect.stringContaining('a body larger than 16 MiB'),
  });
});
