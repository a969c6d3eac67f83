/** Tests of pauses after a 429, and of kinds of requests. */

import { createServer, type RequestListener } from 'node:http';
import { describe, expect, it } from 'vitest';
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

async function started(answer: RequestListener): Promise<{ t: Platform; end(): void; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    answer(request, response);
  });
  const over = new AbortController();
  const http = await clientOf(server, { signal: over.signal });
  const t = {
    http,
    session: new Session(),
    signal: over.signal,
    patienceMs: 5000,
    note: () => {},
    must: (holds: unknown) => expect(holds).toBe(true),
    blocked: (reason: string) => {
      throw new Blocked(reason);
    },
  } as unknown as Platform;
  return { t, end: () => over.abort(new Blocked('over')), asked };
}
const askedTimes = (asked: readonly string[], times: number) =>
  expect.poll(() => asked.length, { timeout: 5000 }).toBeGreaterThanOrEqual(times);

describe('when a check is over', () => {
  it('does not send a throttled request again', async () => {
    const { t, end, asked } = await started((_, response) => response.writeHead(429, { 'retry-after': '60' }).end());
    const sending = send(t, { path: '/devices' });
    const ended = expect(sending).rejects.toThrow();
    await askedTimes(asked, 1);
    end();
    await ended;
    expect(asked).toHaveLength(1);
  });

  it('aborts a request under way', async () => {
    const { t, end, asked } = await started(() => {});
    const sending = send(t, { path: '/devices' });
    const ended = expect(sending).rejects.toThrow();
    await askedTimes(asked, 1);
    end();
    await ended;
  });
});
