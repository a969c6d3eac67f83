/** Rules that judge observed traffic of clients by the requirements of the client suite. */
import type { Check } from '../../../harness/runner/types.ts';
import * as requests from './4-requests.ts';
import * as credentials from './5-credentials.ts';
import * as streams from './6-streams.ts';
import * as pauses from './7-pauses.ts';
import * as pages from './8-pages.ts';

export type Way = 'unix' | 'loopback' | 'url';

const ofDevice = (ofWay: readonly Check<unknown>[]): readonly Check<unknown>[] => [
  ...requests.deviceRules,
  ...ofWay,
  ...streams.deviceRules,
  ...pauses.deviceRules,
];

export function watchedRules(api: 'device' | 'platform', way: Way): readonly Check<unknown>[] {
  if (api === 'platform')
    return [...requests.platformRules, ...credentials.platformRules, ...pauses.platformRules, ...pages.platformRules];
  return ofDevice(way === 'unix' ? credentials.socketRules : way === 'loopback' ? credentials.loopbackRules : []);
}

export const everyWatchedRule = (): readonly {
  api: 'device' | 'platform';
  way?: Way;
  rules: readonly Check<unknown>[];
}[] => [
  { api: 'device', rules: ofDevice([]) },
  { api: 'device', way: 'unix', rules: credentials.socketRules },
  { api: 'device', way: 'loopback', rules: credentials.loopbackRules },
  { api: 'platform', rules: watchedRules('platform', 'url') },
];
