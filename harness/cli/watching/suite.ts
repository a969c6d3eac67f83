import { type TransportKind, watchedRules } from '../../../suites/client/watched/index.ts';
import { suite } from '../../runner/define.ts';
import { allPremises } from '../../runner/plan.ts';
import type { Check, Suite } from '../../runner/types.ts';

export type { TransportKind } from '../../../suites/client/watched/index.ts';

export const WATCHED_APIS = ['device', 'platform'] as const;
export type WatchedApi = (typeof WATCHED_APIS)[number];

export async function watchSuite(api: WatchedApi, way: TransportKind): Promise<Suite<never>> {
  const { watchedRules: ofServer } =
    api === 'device'
      ? await import('../../../suites/device/watched.ts')
      : await import('../../../suites/platform/watched/index.ts');
  const ofTraffic = [...ofServer, ...watchedRules(api, way)] as readonly Check<never>[];
  return rulesOf(api, [...(await checksOf(api)), ...ofTraffic]);
}

export async function serverRules(api: WatchedApi): Promise<Suite<never>> {
  return rulesOf(api, await checksOf(api));
}

export async function checksOf(api: WatchedApi): Promise<readonly Check<never>[]> {
  const server =
    api === 'device'
      ? (await import('../../../suites/device/index.ts')).deviceSuite
      : (await import('../../../suites/platform/index.ts')).platformSuite;
  return server.checks as readonly Check<never>[];
}

function rulesOf(api: WatchedApi, all: readonly Check<never>[]): Suite<never> {
  const below = allPremises(all);
  const rules = all.filter(({ rule }) => rule !== undefined);
  // The traffic of any client may decide a rule, so no capability is required.
  const judging = rules.map(({ needs: _, ...check }) => {
    // A watch runs no checks, so rules of the same requirements replace presupposed checks.
    const presupposed = new Set(below.get(check.id)?.map(({ requirement }) => requirement.id));
    presupposed.delete(check.requirement.id);
    const premises = rules.filter(({ requirement }) => presupposed.has(requirement.id)).map(({ id }) => id);
    return { ...check, premises };
  });
  return suite<never>(api, [judging]);
}
