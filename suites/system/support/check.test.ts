import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { clientOf } from '../../../harness/client/testing/served.ts';
import { Session } from '../../../harness/runner/session.ts';
import { Blocked, Violation } from '../../../harness/runner/violation.ts';
import { EventFollower, type System, whileOffline } from './check.ts';

const violation = new Violation({ expected: 'queued', actual: 'deployed' });

function systemThat(online: () => Promise<void>) {
  const calls: string[] = [];
  const t = {
    offline: async () => void calls.push('offline'),
    online: () => {
      calls.push('online');
      return online();
    },
  } as unknown as System;
  return { t, calls };
}
const refusing = () => Promise.reject(new Blocked('control refused'));

describe('after a check of an offline device', () => {
  it('the device is reconnected, even if the check failed', async () => {
    const { t, calls } = systemThat(async () => {});
    await whileOffline(t, async () => void calls.push('check'));
    await expect(whileOffline(t, () => Promise.reject(violation))).rejects.toBe(violation);
    expect(calls).toEqual(['offline', 'check', 'online', 'offline', 'online']);
  });

  it('a refusing control keeps a violation, and blocks a check without one', async () => {
    const { t } = systemThat(refusing);
    await expect(whileOffline(t, () => Promise.reject(violation))).rejects.toBe(violation);
    await expect(whileOffline(t, async () => {})).rejects.toThrow('control refused');
  });
});

it('an event is read by a replay if the first stream ended before any event', async () => {
  const event = { id: 1, type: 'deployment.deployed', data: { deployment_id: 'dpl_1' } };
  const asked: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    asked.push(url);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (asked.length === 1) response.end();
    else response.write(url.endsWith('?after=0') ? `id: 1\ndata: ${JSON.stringify(event)}\n\n` : ': heartbeat\n\n');
  });
  const device = { http: await clientOf(server), patienceMs: 2000 };
  const { signal } = new AbortController();
  const t = { device, platform: { patienceMs: 2000 }, session: new Session(), signal } as unknown as System;
  await using events = await EventFollower.open(t);
  expect(await events.until(event.type, 'dpl_1')).toEqual(event);
  expect(asked).toEqual(['/events', '/events?after=0']);
});
