import { defined } from '../common/defined.ts';
import { sectionTitle } from '../contract/sentences.ts';
import { isHeld, requirementSet } from '../runner/define.ts';
import { profilesOf } from '../runner/plan.ts';
import type { Api, Check, Requirement, Suite } from '../runner/types.ts';

type Shown = 'id' | 'needs' | 'sharing' | 'writes' | 'least' | 'premises' | 'essential';

export type CataloguedCheck = Required<Pick<Check<never>, Shown>> & {
  waits: boolean;
  /** True for a check that sends no requests and only judges traffic of other checks. */
  rule: boolean;
  profiles: string[];
};

export interface CataloguedRequirement extends Omit<Requirement, 'until'> {
  api: Api;
  title: string;
  checks: CataloguedCheck[];
  watched?: WatchedRule[];
}

export type Catalogue = { requirements_version: string; requirements: CataloguedRequirement[] };

export async function loadSuites(): Promise<Suite<never>[]> {
  const [{ deviceSuite }, { platformSuite }, { systemSuite }, { clientSuite }] = await Promise.all([
    import('../../suites/device/index.ts'),
    import('../../suites/platform/index.ts'),
    import('../../suites/system/index.ts'),
    import('../../suites/client/index.ts'),
  ]);
  return [deviceSuite, platformSuite, systemSuite, clientSuite] as unknown as Suite<never>[];
}

export async function loadWatched(): Promise<Watched[]> {
  const [{ watchedRules: ofDevice }, { watchedRules: ofPlatform }, { everyWatchedRule }] = await Promise.all([
    import('../../suites/device/watched.ts'),
    import('../../suites/platform/watched/index.ts'),
    import('../../suites/client/watched/index.ts'),
  ]);
  const ofServers: ReturnType<typeof everyWatchedRule> = [
    { api: 'device', rules: ofDevice },
    { api: 'platform', rules: ofPlatform },
  ];
  return [...ofServers, ...everyWatchedRule()].flatMap(({ api, way, rules }) =>
    rules.map(({ id, requirement }) => ({
      id,
      api,
      requirement: requirement.id,
      ...(way && { option: OPTION_OF[way] }),
    })),
  );
}

const OPTION_OF = { unix: 'socket', loopback: 'discovery', url: 'url' } as const;

type WatchedRule = { id: string; api: Api; option?: string };
type Watched = WatchedRule & { requirement: string };

export const watchOf = ({ api, option }: WatchedRule): string =>
  `muster watch ${api}${option === undefined ? '' : ` --${option}`}`;

/**
 * Lists the requirements of the set of `date` (default: the newest) by API and section. Throws UsageError if a suite
 * has no such set.
 */
export function catalogue(suites: readonly Suite<never>[], date?: string, watched: readonly Watched[] = []): Catalogue {
  const byId = new Map<string, CataloguedRequirement>();
  const dates: string[] = [];
  for (const suite of suites) {
    const set = requirementSet(suite, date);
    dates.push(set.date);
    for (const check of suite.checks.filter(({ requirement }) => isHeld(requirement, set.date))) {
      const { id, level, section, clause, text, since } = check.requirement;
      const title = sectionTitle(section);
      const made = { id, api: suite.api, level, section, title, ...defined({ clause }), text, since, checks: [] };
      const entry: CataloguedRequirement = byId.get(id) ?? made;
      const { needs = [], sharing = 'shared', slow, writes = false, least = {} } = check;
      const { id: name, premises = [], essential = false } = check;
      const [waits, rule] = [slow === true, check.rule !== undefined];
      const profiles = [...(check.profile === 'core' ? ['core'] : []), ...profilesOf(suite.api, check)];
      entry.checks.push({ id: name, needs, sharing, waits, rule, writes, least, profiles, premises, essential });
      byId.set(id, entry);
    }
  }
  for (const { requirement, ...rule } of watched) {
    const entry = byId.get(requirement);
    if (entry !== undefined) entry.watched = [...(entry.watched ?? []), rule];
  }
  const requirements = [...byId.values()].sort(
    (a, b) =>
      a.api.localeCompare(b.api, 'en') ||
      a.section.localeCompare(b.section, 'en', { numeric: true }) ||
      a.id.localeCompare(b.id, 'en'),
  );
  return { requirements_version: dates.sort().at(-1) ?? '', requirements };
}
