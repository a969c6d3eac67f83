/** What traffic is judged by: the rules of the suite of its server, and those of its clients. */
import { type Way, watchedRules } from '../../../suites/client/watched/index.ts';
import { suite } from '../../runner/define.ts';
import type { Check, Suite } from '../../runner/types.ts';

export type { Way } from '../../../suites/client/watched/index.ts';

/** What can be watched. */
export const WATCHED = ['device', 'platform'] as const;
export type WatchedApi = (typeof WATCHED)[number];

const OR_ELSE = 'no traffic was seen that decides it';

/** All that judges traffic between a server and its clients. */
export async function watchSuite(api: WatchedApi, way: Way): Promise<Suite<never>> {
  const { checks } = await serverRules(api);
  return rulesOf(api, [...checks, ...(watchedRules(api, way) as readonly Check<never>[])]);
}

/** What judges the server alone. */
export async function serverRules(api: WatchedApi): Promise<Suite<never>> {
  const server =
    api === 'device'
      ? (await import('../../../suites/device/index.ts')).deviceSuite
      : (await import('../../../suites/platform/index.ts')).platformSuite;
  return rulesOf(api, server.checks as readonly Check<never>[]);
}

function rulesOf(api: WatchedApi, all: readonly Check<never>[]): Suite<never> {
  const rules = all.filter(({ rule }) => rule !== undefined);
  // Whether a capability is declared says nothing about traffic of others.
  return suite<never>(api, [rules.map(({ needs: _, ...check }) => ({ ...check, orElse: OR_ELSE }))]);
}
