/** Judges watched traffic without a worker thread. For tests. */
import type { Pairs } from '../../common/http-parser.ts';
import { type PlainJudged, TrafficJudge } from '../../watch/judging.ts';
import type { ServerAddress } from '../../watch/traffic.ts';
import { type WatchedApi, watchSuite } from '../watching/suite.ts';

export const KEY: Pairs = [
  ['User-Agent', 'sdk/1'],
  ['X-API-Key', '***'],
  ['Service-Version', '2026-08-17.everglades'],
];

export function eventOf(id: number, when = '2026-01-01T00:00:00Z'): Pairs {
  const type = 'deployment.removed';
  const data = JSON.stringify({ object: 'event', id, type, occurred_at: when, data: {} });
  return [
    ['id', `${id}`],
    ['event', type],
    ['data', data],
  ];
}

export async function judgeOf(api: WatchedApi, change: Partial<ServerAddress> = {}) {
  const found: string[] = [];
  const outcomes: Record<string, PlainJudged> = {};
  const { checks } = await watchSuite(api, api === 'device' ? 'unix' : 'url');
  const base = api === 'device' ? '/v0.2' : '/beta';
  const place = { base, origin: 'http://localhost', variable: 'KEY', ...change };
  const judge = new TrafficJudge({
    checks,
    place,
    found(id, judged) {
      found.push(id);
      outcomes[id] = judged;
    },
  });
  return { judge, found, outcomes };
}
