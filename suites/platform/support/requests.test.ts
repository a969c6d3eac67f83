import { createServer, type RequestListener } from 'node:http';
import { expect, it, vi } from 'vitest';
import type { HttpClient } from '../../../harness/client/http.ts';
import { clientOf } from '../../../harness/client/testing/served.ts';
import { Session } from '../../../harness/runner/session.ts';
import { Blocked } from '../../../harness/runner/violation.ts';
import { kindOfRequest, type Platform, pauseMs, send } from './requests.ts';

it.for([
  [{ 'retry-after': '2' }, 0, 2000],
  [{ 'retry-after': '0' }, 0, 50],
  [{ 'retry-after': '3600' }, 0, 10_000],
  [{ 'retry-after': 'Sat, 21 Nov 2026 10:00:03 GMT', date: 'Sat, 21 Nov 2026 10:00:00 GMT' }, 0, 3000],
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

const platformOf = (http: HttpClient, signal: AbortSignal): Platform =>
  ({
    ...{ http, session: new Session(), signal, patienceMs: 5000, note: () => {} },
    must: (holds: unknown) => expect(holds).toBe(true),
    blocked: (reason: string) => {
      throw new Blocked(reason);
    },
  }) as unknown as Platform;

it.each([
  ['/devices', 3, [200, 200], 5],
  ['/devices', 9, [503, 503], 5],
  ['/devices/dvc_1/ping', 9, [503, 503], 2],
])('two requests for %s, with %i answers of 503, get %j after %i tries', async (path, busy, due, tries) => {
  let asked = 0;
  const server = createServer((_, response) => {
    asked += 1;
    response.writeHead(asked > busy ? 200 : 503, { 'retry-after': '0' }).end();
  });
  const { signal } = new AbortController();
  const t = platformOf(await clientOf(server), signal);
  const statuses = [await send(t, { path }), await send(t, { path })].map(({ status }) => status);
  expect([statuses, asked]).toEqual([due, tries]);
});

it.each([
  [503, 6],
  [403, 6],
])('a request of a kind that was answered before is sent again after %i, %i times', async (status, busy) => {
  let asked = 0;
  const server = createServer((_, response) => {
    asked += 1;
    response.writeHead(asked === 1 || asked > busy + 1 ? 200 : status, { 'retry-after': '0' }).end();
  });
  const { signal } = new AbortController();
  const t = platformOf(await clientOf(server), signal);
  const statuses = [await send(t, { path: '/devices' }), await send(t, { path: '/devices' })].map((one) => one.status);
  expect([statuses, asked]).toEqual([[200, 200], busy + 2]);
});

it('tries a quota that lasted for a minute once', async ({ onTestFinished }) => {
  let [asked, now] = [0, 0];
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  const server = createServer((_, response) => {
    asked += 1;
    now = 70_000;
    response.writeHead(429, { 'retry-after': '3600' }).end();
  });
  const { signal } = new AbortController();
  const t = platformOf(await clientOf(server), signal);
  for (const due of [1, 2]) {
    await expect(send(t, { path: '/devices' })).rejects.toBeInstanceOf(Blocked);
    expect(asked).toBe(due);
  }
});

it.each<[string, RequestListener]>([
  ['sends a throttled request again', (_, response) => response.writeHead(429, { 'retry-after': '60' }).end()],
  ['waits for an answer', () => {}],
])('no request %s once its check is over', async (_, answer) => {
  let asked = 0;
  const server = createServer((request, response) => {
    asked += 1;
    answer(request, response);
  });
  const over = new AbortController();
  const http = await clientOf(server, { signal: over.signal });
  const t = platformOf(http, over.signal);
  const ended = expect(send(t, { path: '/devices' })).rejects.toThrow();
  await expect.poll(() => asked, { timeout: 5000 }).toBe(1);
  over.abort(new Blocked('over'));
  await ended;
  expect(asked).toBe(1);
});
