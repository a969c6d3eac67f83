/** Selects the rules for watched traffic, both of the server and of its clients. */
import { type Way, watchedRules } from '../../../suites/client/watched/index.ts';
import { suite } from '../../runner/define.ts';
import { inOrder, premisesOf } from '../../runner/plan.ts';
import type { Check, Suite } from '../../runner/types.ts';

export type { Way } from '../../../suites/client/watched/index.ts';

export const WATCHED_APIS = ['device', 'platform'] as const;
export type WatchedApi = (typeof WATCHED_APIS)[number];

const OR_ELSE = 'no traffic was seen that decides it, as `muster explain ID` states it';

export async function watchSuite(api: WatchedApi, way: Way): Promise<Suite<never>> {
  const { watchedRules: ofServer } =
    api === 'device'
      ? await import('../../../suites/device/watched.ts')
      : await import('../../../suites/platform/watched/index.ts');
  const ofTraffic = [...ofServer, ...watchedRules(api, way)] as readonly Check<never>[];
  return rulesOf(api, [...(await checksOf(api)), ...ofTraffic]);
}

/** Selects the rules for answers of the server, without the rules for clients. */
export async function serverRules(api: WatchedApi): Promise<Suite<never>> {
  return rulesOf(api, await checksOf(api));
}

async function checksOf(api: WatchedApi): Promise<readonly Check<never>[]> {
  const server =
    api === 'device'
      ? (await import('../../../suites/device/index.ts')).deviceSuite
      : (await import('../../../suites/platform/index.ts')).platformSuite;
  return server.checks as readonly Check<never>[];
}

function rulesOf(api: WatchedApi, all: readonly Check<never>[]): Suite<never> {
  const rules = all.filter(({ rule }) => rule !== undefined);
  const premises = premisesAmong(rules, all);
  // Removes required capabilities, because the traffic of any client may decide a rule.
  return suite<never>(api, [
    rules.map(({ needs: _, ...check }) => ({ ...check, ...premises(check), orElse: OR_ELSE })),
  ]);
}

/** Replaces the checks that a rule presupposes by rules of the same requirements, because a watch runs no checks. */
function premisesAmong(rules: readonly Check<never>[], all: readonly Check<never>[]) {
  const ordered = inOrder(all);
  const below = new Map<string, Set<Check<never>>>();
  for (const check of ordered) {
    const direct = premisesOf(check, all);
    below.set(check.id, new Set(direct.flatMap((premise) => [premise, ...(below.get(premise.id) ?? [])])));
  }
  return ({ id, requirement }: Pick<Check<never>, 'id' | 'requirement'>): Pick<Check<never>, 'premises'> => {
    const requirements = new Set([...(below.get(id) ?? [])].map((premise) => premise.requirement.id));
    requirements.delete(requirement.id);
    return { premises: rules.filter((rule) => requirements.has(rule.requirement.id)).map((rule) => rule.id) };
  };
}
