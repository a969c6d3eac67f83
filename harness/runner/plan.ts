import { defined } from '../common/defined.ts';
import { literal } from '../common/redact.ts';
import { nearest, UsageError } from '../common/usage.ts';
import { isCondition, isWithin, largestProfile, PROFILES, type Profile } from '../contract/profiles.ts';
import { isSection } from '../contract/sentences.ts';
import { isHeld, requirementSet } from './define.ts';
import {
  APIS,
  type Api,
  type Capability,
  type Check,
  type Requirement,
  type RequirementSet,
  type Sharing,
  type Suite,
} from './types.ts';

export interface PlanOptions {
  capabilities: ReadonlySet<Capability>;
  /** Ids of the checks or requirements to run, or prefixes of ids; `*` matches any text. */
  only?: readonly string[];
  /** Sections of the specification whose checks run; `6` includes `6.2`. */
  sections?: readonly string[];
  fast?: boolean;
  readOnly?: boolean;
  /**
   * Profile that the target must meet. Default: the largest profile that the capabilities allow. `core` keeps that
   * default, and runs only the checks marked as core.
   */
  profile?: string;
  /** Sections or ids of SHOULD requirements whose violation fails the run; `*` means all. */
  failOn?: readonly string[];
  /** Value of `failOn` in the target file, used unless the command line gives `failOn`. */
  filedFailOn?: readonly string[];
  /** Date of the requirement set (YYYY-MM-DD). Default: the newest. */
  requirements?: string;
}

export interface Planned<Context> {
  check: Check<Context>;
  inProfile: boolean;
  failsBy?: string;
  skip?: string;
  leftOutBy?: string;
}

export interface Plan<Context> {
  checks: Planned<Context>[];
  size: number;
  profile: Profile;
  profileSize: number;
  /** True if the user named a profile other than `core`. */
  isNamed: boolean;
  requirements: RequirementSet;
  narrowedBy: string[];
  runs: number;
  tries: Tries;
  shrinkMs: number;
}

/** `leastMs`, `mostMs`: bounds of the milliseconds for all retries of a run together. */
export interface Tries {
  /**
   * Retries of a finding. A finding that occurs in half of all runs shows as intermittent in 3 of 4 cases with two
   * retries, and in 2 of 4 with one.
   */
  times: number;
  leastMs: number;
  mostMs: number;
}

export const NO_TRIES: Tries = { times: 0, leastMs: 0, mostMs: 0 };

/** `runs`: factor for the random inputs of a property; handwritten examples always run. */
const FAST = { runs: 0.4, tries: { times: 1, leastMs: 2000, mostMs: 5000 }, shrinkMs: 3000 };
const USUAL = { runs: 1, tries: { times: 2, leastMs: 5000, mostMs: 20_000 }, shrinkMs: 8000 };

/** Throws UsageError if the options forbid writing and the target was opened for writing. */
export function refuseWriting(
  { readOnly, profile }: Pick<PlanOptions, 'readOnly' | 'profile'>,
  capabilities: PlanOptions['capabilities'],
): void {
  if ((readOnly === true || profile === 'read-only') && capabilities.has('write'))
    throw new UsageError(
      `${readOnly === true ? 'readOnly' : 'profile read-only'}: the target was opened for writing; ` +
        'accepted: one that openPlatform opens with readOnly: true',
    );
}

/** Throws UsageError for an unknown requirement set, profile, id or section. */
export function makePlan<Context>(suite: Suite<Context>, options: PlanOptions): Plan<Context> {
  const { only = [], sections = [] } = options;
  const requirements = requirementSet(suite, options.requirements);
  const due = { ...suite, checks: suite.checks.filter(({ requirement }) => isHeld(requirement, requirements.date)) };
  const { option, text, patterns } = failing(due, options);
  const named = patterns.filter((pattern) => !SECTION.test(pattern));
  const numbered = patterns.filter((pattern) => SECTION.test(pattern));
  const ofSet = requirements.date === suite.requirementSets.at(-1) ? '' : ` of ${requirements.date}`;
  refuseUnknown(due, ofSet, { '--only ': only, [option]: named }, { '--section ': sections, [option]: numbered });
  const profile = profileOf(suite.api, options);
  const isMet = (need: Capability): boolean => !isCondition(suite.api, need) || options.capabilities.has(need);
  const held = new Set(
    due.checks.filter((check) => isHeldBy(suite.api, profile, check) && (check.needs ?? []).every(isMet)),
  );
  const core = options.profile === 'core';
  const isNarrow = options.profile !== undefined && !core;
  const chosen = due.checks.filter(
    (check) =>
      (only.length === 0 || only.some((pattern) => isNamed(pattern, check.id, check.requirement.id))) &&
      (sections.length === 0 || sections.some((section) => inSection(check.requirement, section))) &&
      (!core || check.profile === 'core') &&
      (!isNarrow || isWithin(suite.api, profile, check.needs ?? [])),
  );
  const narrowed = new Set<string>();
  if (only.length > 0) narrowed.add(`--only ${only.join(' ')}`);
  if (sections.length > 0) narrowed.add(`--section ${sections.join(' ')}`);
  if (core) narrowed.add('--profile core');
  const planned = chosen.map((check): Planned<Context> => {
    const inProfile = held.has(check);
    const { id, requirement } = check;
    const pattern = patterns.find((each) =>
      SECTION.test(each) ? inSection(requirement, each) : isNamed(each, id, requirement.id),
    );
    const protects = inProfile && requirement.protective === true;
    const failsBy = pattern === undefined ? (protects ? `profile ${profile.name}` : undefined) : text(pattern);
    const one = { check, inProfile, ...defined({ failsBy }) };
    // Tests the option first, because `--read-only` may be the reason why `write` is missing.
    if (options.readOnly === true && check.writes === true) {
      if (inProfile) narrowed.add('--read-only');
      return { ...one, skip: 'not run: --read-only sends nothing but GET', leftOutBy: '--read-only' };
    }
    const missing = (check.needs ?? []).filter((need) => !options.capabilities.has(need));
    if (missing.length > 0) return { ...one, skip: `needs ${missing.join(', ')}, which the target does not declare` };
    if (options.fast === true && check.slow === true) {
      narrowed.add('--fast');
      return { ...one, skip: 'not run: --fast leaves out what has to wait', leftOutBy: '--fast' };
    }
    return one;
  });
  const sizes = { size: due.checks.length, profileSize: held.size, isNamed: isNarrow };
  const manner = options.fast === true ? FAST : USUAL;
  return { checks: planned, ...sizes, profile, requirements, narrowedBy: [...narrowed], ...manner };
}

function failing({ api, checks }: Suite<never>, { failOn = [], filedFailOn = [] }: PlanOptions) {
  const said = (by: string, joint: string) => (pattern: string) => (pattern === '*' ? by : `${by}${joint}${pattern}`);
  if (failOn.length > 0) return { option: '--fail-on should=', text: said('--fail-on should', '='), patterns: failOn };
  const others = APIS.filter((other) => other !== api);
  const isOfAnother = (pattern: string): boolean =>
    isSection(pattern)
      ? !checks.some(({ requirement }) => inSection(requirement, pattern))
      : others.some((other) => pattern === other || pattern.startsWith(`${other}.`));
  const filed = 'fail_on of the target file';
  return { option: `${filed}: `, text: said(filed, ': '), patterns: filedFailOn.filter((each) => !isOfAnother(each)) };
}

function profileOf(api: Api, { profile: name, capabilities, readOnly }: PlanOptions): Profile {
  const reached = largestProfile(api, readOnly === true ? capabilities.difference(new Set(['write'])) : capabilities);
  if (name === undefined || name === 'core') return reached;
  const profiles = PROFILES[api];
  const found = profiles.find((profile) => profile.name === name);
  if (found !== undefined) return found;
  const known = ['core', ...profiles.map((profile) => profile.name)];
  throw new UsageError(`--profile ${name}: there is no such profile of a ${api}; accepted: ${known.join(', ')}`);
}

function isHeldBy(api: Api, profile: Profile, { requirement, needs = [] }: Held): boolean {
  const { level, protective } = requirement;
  if (level !== 'MUST' && !(protective === true && profile.protects === true)) return false;
  return isWithin(api, profile, needs);
}

type Held = Pick<Check<never>, 'requirement' | 'needs'>;

export const profilesOf = (api: Api, check: Held): string[] =>
  PROFILES[api].filter((profile) => isHeldBy(api, profile, check)).map(({ name }) => name);

export function isNamed(pattern: string, id: string, requirementId: string): boolean {
  if (pattern === id || pattern === requirementId) return true;
  if (!pattern.includes('*')) return id.startsWith(`${pattern}.`);
  return new RegExp(`^${pattern.split('*').map(literal).join('.*')}$`).test(id);
}

const inSection = (requirement: Requirement, section: string): boolean =>
  requirement.section === section || requirement.section.startsWith(`${section}.`);

const SECTION = /^\d/;

type OptionPatterns = Readonly<Record<string, readonly string[]>>;

const each = (given: OptionPatterns): (readonly [string, string])[] =>
  Object.entries(given).flatMap(([option, values]) => values.map((value) => [option, value] as const));

function refuseUnknown({ api, checks }: Suite<never>, ofSet: string, named: OptionPatterns, sections: OptionPatterns) {
  const ids = checks.map(({ id }) => id);
  for (const [option, pattern] of each(named)) {
    if (checks.some(({ id, requirement }) => isNamed(pattern, id, requirement.id))) continue;
    const near = nearest(pattern, ids);
    throw new UsageError(
      `${option}${pattern}: no check of the ${api} suite${ofSet} has that ` +
        `id${near === undefined ? '' : `; did you mean ${near}?`} (\`muster list\` shows them all)`,
    );
  }
  for (const [option, section] of each(sections)) {
    if (checks.some(({ requirement }) => inSection(requirement, section))) continue;
    const known = [...new Set(checks.map(({ requirement }) => requirement.section))].sort((a, b) =>
      a.localeCompare(b, 'en', { numeric: true }),
    );
    throw new UsageError(`${option}${section}: the ${api} suite${ofSet} has the sections ${known.join(', ')}`);
  }
}

export type Lane = Exclude<Sharing, 'publishing'> | 'slow' | 'rules';

export const laneOf = ({ sharing = 'shared', slow = false, rule }: Partial<Check<never>>): Lane => {
  if (rule !== undefined) return 'rules';
  if (sharing === 'publishing') return 'exclusive';
  return sharing === 'shared' && slow ? 'slow' : sharing;
};

export type Premised = Pick<Check<never>, 'id' | 'premises'>;

export const premisesOf = <C extends Premised>({ premises = [] }: C, all: readonly C[]): C[] =>
  premises.flatMap((premise) => all.filter(({ id }) => id === premise));

/** Places each check after its `premises`. Throws Error for a circle. */
export function inOrder<C extends Premised>(checks: readonly C[]): C[] {
  const sorted = new Set<C>();
  const place = (check: C, path: readonly string[]): void => {
    if (sorted.has(check)) return;
    if (path.includes(check.id)) throw new Error(`premises form a circle: ${[...path, check.id].join(' → ')}`);
    for (const premise of premisesOf(check, checks)) place(premise, [...path, check.id]);
    sorted.add(check);
  };
  for (const check of checks) place(check, []);
  return [...sorted];
}

export function allPremises<C extends Premised>(checks: readonly C[]): ReadonlyMap<string, readonly C[]> {
  const below = new Map<string, C[]>();
  for (const check of inOrder(checks)) {
    const direct = premisesOf(check, checks);
    below.set(check.id, [...new Set(direct.flatMap((premise) => [premise, ...(below.get(premise.id) ?? [])]))]);
  }
  return below;
}
