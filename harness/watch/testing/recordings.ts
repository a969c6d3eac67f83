import { expect } from 'vitest';
import { TrafficRedactor } from '../../common/traffic-redactor.ts';
import { recordTo } from '../recording.ts';
import { recordingHead, replayTraffic } from '../replaying.ts';
import type { Traffic } from '../traffic.ts';

export const SECRET = 'mk_0123456789abcdef';
export const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl';

/** Two exchanges of one connection, with a secret in each place that may hold one. */
export const TRAFFIC: readonly Traffic[] = [
  { kind: 'opened', at: 1000, connection: 1 },
  {
    ...{ kind: 'request', at: 1001, connection: 1, exchange: 1, method: 'POST' },
    target: `/beta/x?api_key=${SECRET}&a=1`,
    headers: [
      ['Host', 'api.example.com'],
      ['X-API-Key', SECRET],
      ['Authorization', `Bearer ${JWT}`],
      ['Cookie', `session=${SECRET}`],
    ],
  },
  { kind: 'asked', at: 1002, exchange: 1, body: { text: `{"token":"${SECRET}","a":1}`, size: 40 } },
  { kind: 'response', at: 1003, exchange: 1, status: 200, headers: [['Set-Cookie', `session=${SECRET}`]] },
  { kind: 'over', at: 1004, exchange: 1, ended: 'whole', body: { text: `["${SECRET}","${JWT}"]`, size: 80 } },
  { kind: 'request', at: 1005, connection: 1, exchange: 2, method: 'GET', target: '/v0.2/events', headers: [] },
  { kind: 'asked', at: 1005, exchange: 2 },
  { kind: 'response', at: 1006, exchange: 2, status: 200, headers: [['Content-Type', 'text/event-stream']] },
  {
    kind: 'frame',
    at: 1007,
    exchange: 2,
    fields: [
      ['id', '1'],
      ['data', `{"api_key":"${SECRET}"}`],
    ],
  },
  { kind: 'over', at: 1008, exchange: 2, ended: 'server', torn: `id: 2\ndata: {"token":"${SECRET}` },
  { kind: 'closed', at: 1009, connection: 1 },
];

export const HEAD = {
  ...({ muster_watch: 1, muster: '0.0.0', api: 'platform', way: 'url', base: '/beta' } as const),
  ...{ address: 'https://api.example.com/beta', started_at: '2026-11-26T10:00:00.000Z' },
};

export function recordedTo(path: string, { limit = 1_000_000, times = 1, traffic = TRAFFIC } = {}): string {
  const redactor = new TrafficRedactor([SECRET]);
  const recording = recordTo({ path, limit, head: HEAD, redactor, trouble: (why) => expect.fail(why) });
  for (let time = 0; time < times; time += 1) for (const each of traffic) recording.take(each);
  recording.close();
  return path;
}

export async function replayed(path: string): Promise<{ traffic: Traffic[]; lacks: string[] }> {
  const traffic: Traffic[] = [];
  const { lacks } = await replayTraffic(path, await recordingHead(path), (each) => void traffic.push(each));
  return { traffic, lacks };
}
