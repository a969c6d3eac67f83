import type { RequestListener } from 'node:http';
import { expect, it, vi } from 'vitest';
import { Blocked } from '../../../harness/runner/violation.ts';
import { platformThat } from '../testing/platform.ts';
import { kindOfRequest, pauseMs, send } from './requests.ts';

it.for([
  [{ 'retry-after': '2' }, 0, 2000],
  [{ 'retry-after': '0' }, 0, 50],
  [{ 'retry-after': '3600' }, 0, 10_000],
  [{ 'retry-after': 'soon' }, 1, 200],
  [{}, 0, 100],
  [{}, 30, 3200],
] as const)('a pause with %j at attempt %i lasts %i ms', ([headers, attempt, expected]) => {
  expect(pauseMs(headers, attempt)).toBe(expected);
});

it('counts requests for any id as one kind', () => {
  expect(kindOfRequest('POST', '/devices/dvc_1/ping')).toBe(kindOfRequest('POST', '/devices/dvc_2/ping'));
  expect(kindOfRequest('GET', '/devices/dvc_1')).not.toBe(kindOfRequest('GET', '/devices'));
});

it.each([
  ['/devices', 3, [200, 200], 5],
  ['/devices', 9, [503, 503], 5],
  ['/devices/dvc_1/ping', 9, [503, 503], 2],
])('two requests for %s, with %i answers of 503, get %j after %i tries', async (path, busy, due, tries) => {
  const { t, asked } = await platformThat((_, response) =>
    response.writeHead(asked.length > busy ? 200 : 503, { 'retry-after': '0' }).end(),
  );
  const statuses = [await send(t, { path }), await send(t, { path })].map(({ status }) => status);
  expect([statuses, asked.length]).toEqual([due, tries]);
});

it.each([
  ['group', '7'],
  ['deployment', 7],
])('reads the integer id of a %s as %j', async (object, id) => {
  const { t } = await platformThat((_, response) => response.end(JSON.stringify({ object, id: 7 })));
  expect((await send(t, { path: '/things/7' })).json).toEqual({ object, id });
});

it.each([503, 403])(
  'a request of a kind that was answered before is sent again after %i, six times',
  async (status) => {
    const { t, asked } = await platformThat((_, response) => {
      const isServed = asked.length === 1 || asked.length === 8;
      response.writeHead(isServed ? 200 : status, { 'retry-after': '0' }).end();
    });
    const statuses = [await send(t, { path: '/devices' }), await send(t, { path: '/devices' })].map(
      (one) => one.status,
    );
    expect([statuses, asked.length]).toEqual([[200, 200], 8]);
  },
);

it('tries a quota that lasted for a minute once', async ({ onTestFinished }) => {
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  const { t, asked } = await platformThat((_, response) => {
    now = 70_000;
    response.writeHead(429, { 'retry-after': '3600' }).end();
  });
  for (const due of [1, 2]) {
    await expect(send(t, { path: '/devices' })).rejects.toBeInstanceOf(Blocked);
    expect(asked).toHaveLength(due);
  }
});

it.each<[string, RequestListener]>([
  ['sends a throttled request again', (_, response) => response.writeHead(429, { 'retry-after': '60' }).end()],
  ['waits for an answer', () => {}],
])('no request %s once its check is over', async (_, answer) => {
  const over = new AbortController();
  const { t, asked } = await platformThat(answer, over);
  const ended = expect(send(t, { path: '/devices' })).rejects.toThrow();
  await expect.poll(() => asked, { timeout: 5000 }).toHaveLength(1);
  over.abort(new Blocked('over'));
  await ended;
  expect(asked).toHaveLength(1);
});
