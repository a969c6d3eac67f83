import type { Check } from '../../../harness/runner/types.ts';
import * as pages from './8-pages.ts';
import * as requests from './requests.ts';
import * as streams from './streams.ts';

export type TransportKind = 'unix' | 'loopback' | 'url';

export function watchedRules(api: 'device' | 'platform', way: TransportKind): readonly Check<unknown>[] {
  if (api === 'platform') return [...requests.platformRules, ...streams.platformRules, ...pages.platformRules];
  const ofWay = { unix: requests.socketRules, loopback: requests.loopbackRules, url: [] }[way];
  return [...requests.deviceRules, ...ofWay, ...streams.deviceRules];
}

export const everyWatchedRule = (): readonly {
  api: 'device' | 'platform';
  way?: TransportKind;
  rules: readonly Check<unknown>[];
}[] => [
  { api: 'device', rules: watchedRules('device', 'url') },
  { api: 'device', way: 'unix', rules: requests.socketRules },
  { api: 'device', way: 'loopback', rules: requests.loopbackRules },
  { api: 'platform', rules: watchedRules('platform', 'url') },
];
