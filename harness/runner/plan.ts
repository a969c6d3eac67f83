/** Selects the checks to run, and gives a reason for each check left out. */

import { defined } from '../common/defined.ts';
import { nearest, UsageError } from '../common/usage.ts';
import { isCondition, isWithin, largestProfile, PROFILES, type Profile } from '../contract/profiles.ts';
import { isSection } from '../contract/sections.ts';
import { isHeld, requirementSet } from './requirements.ts';
import type { Session } from './session.ts';
import {
  APIS,
  type Api,
  type Capability,
  type Check,
  type CheckResult,
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
  /** Profile whose requirements the target must meet, or `core`. Default: the largest that the capabilities allow. */
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
  requirements: RequirementSet;
  narrowedBy: string[];
  runs: number;
  tries: Tries;
  shrinkMs: number;
}

/** Number of retries for each finding, and minimum and maximum milliseconds for all retries together. */
export interface Tries {
  times: number;
  leastMs: number;
  mostMs: number;
}

export const NO_TRIES: Tries = { times: 0, leastMs: 0, mostMs: 0 };

/** Factor for the number of random inputs of a property; handwritten examples always run. */
const RUNS = { fast: 0.4, usual: 1 };
const SHRINK_MS = { fast: 3000, usual: 8000 };
const TRIES = {
  fast: { times: 1, leastMs: 2000, mostMs: 5000 },
  usual: { times: 2, leastMs: 5000, mostMs: 20_000 },
};

/**
 * Selects the checks to run against a target, by its capabilities and the options of the run.
 * @throws UsageError for an unknown requirement set, profile, id or section
 */
export function makePlan<Context>(suite: Suite<Context>, options: PlanOptions): Plan<Context> {
  const { only = [], sections = [] } = options;
  const requirements = requirementSet(suite, options.requirements);
  const due = { ...suite, checks: suite.checks.filter(({ requirement }) => isHeld(requirement, requirements.date)) };
  const { option, text, patterns } = failing(due, options);
  const [named, numbered] = [
    patterns.filter((pattern) => !SECTION.test(pattern)),
    patterns.filter((each) => SECTION.test(each)),
  ];
  refuseUnknown(due, requirements.date, { '--only ': only, [option]: named });
  refuseUnknownSections(due, requirements.date, { '--section ': sections, [option]: numbered });
  const profile = profileOf(suite.api, options);
  const held = new Set(
    due.checks.filter((check) => isHeldBy(suite.api, profile, check) && isMet(suite.api, check, options.capabilities)),
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
    const pattern = patterns.find((each) => matchesFailOn(each, check));
    const protects = inProfile && check.requirement.protective === true;
    const failsBy = pattern === undefined ? (protects ? `profile ${profile.name}` : undefined) : text(pattern);
    const one = { check, inProfile, ...defined({ failsBy }) };
    // Tests the option before the capabilities, because `--read-only` may be the reason why `write` is missing.
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
  const way = options.fast === true ? 'fast' : 'usual';
  const narrowedBy = [...narrowed];
  const sizes = { size: due.checks.length, profileSize: held.size };
  const manner = { runs: RUNS[way], tries: TRIES[way], shrinkMs: SHRINK_MS[way] };
  return { checks: planned, ...sizes, profile, requirements, narrowedBy, ...manner };
}

interface Failing {
  option: string;
  text(pattern: string): string;
  patterns: readonly string[];
}

function failing({ api, checks }: Suite<never>, { failOn = [], filedFailOn = [] }: PlanOptions): Failing {
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
  const reached = largestProfile(api, readOnly === true ? without(capabilities, 'write') : capabilities);
  if (name === undefined || name === 'core') return reached;
  const profiles = PROFILES[api];
  const found = profiles.find((profile) => profile.name === name);
  if (found !== undefined) return found;
  const known = ['core', ...profiles.map((profile) => profile.name)];
  throw new UsageError(`--profile ${name}: there is no such profile of a ${api}; accepted: ${known.join(', ')}`);
}

const without = (capabilities: ReadonlySet<Capability>, name: Capability): ReadonlySet<Capability> =>
  new Set([...capabilities].filter((each) => each !== name));

/** True if the profile demands the requirement: any MUST, or a protective SHOULD if the profile `protects`. */
function isHeldBy(api: Api, profile: Profile, { requirement, needs = [] }: Held): boolean {
  const { level, protective } = requirement;
  if (level !== 'MUST' && !(protective === true && profile.protects === true)) return false;
  return isWithin(api, profile, needs);
}

type Held = Pick<Check<never>, 'requirement' | 'needs'>;

export const profilesOf = (api: Api, check: Held): string[] =>
  PROFILES[api].filter((profile) => isHeldBy(api, profile, check)).map(({ name }) => name);

const isMet = (api: Api, { needs = [] }: Held, capabilities: ReadonlySet<Capability>): boolean =>
  needs.every((need) => !isCondition(api, need) || capabilities.has(need));

/** True if `pattern` is an id of the check or requirement, a prefix of the check id, or matches by `*`. */
export function isNamed(pattern: string, id: string, requirementId: string): boolean {
  if (pattern === id || pattern === requirementId) return true;
  if (!pattern.includes('*')) return id.startsWith(`${pattern}.`);
  const source = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${source.join('.*')}$`).test(id);
}

const inSection = (requirement: Requirement, section: string): boolean =>
  requirement.section === section || requirement.section.startsWith(`${section}.`);

const SECTION = /^\d/;

const matchesFailOn = (pattern: string, { id, requirement }: Check<never>): boolean =>
  SECTION.test(pattern) ? inSection(requirement, pattern) : isNamed(pattern, id, requirement.id);

type PatternsByOption = Readonly<Record<string, readonly string[]>>;

const each = (given: PatternsByOption): (readonly [string, string])[] =>
  Object.entries(given).flatMap(([option, values]) => values.map((value) => [option, value] as const));

const ofSet = ({ requirementSets }: Suite<never>, set: string): string =>
  set === requirementSets.at(-1) ? '' : ` of ${set}`;

function refuseUnknown(suite: Suite<never>, set: string, given: PatternsByOption): void {
  const ids = suite.checks.map((check) => check.id);
  for (const [option, pattern] of each(given)) {
    if (suite.checks.some((check) => isNamed(pattern, check.id, check.requirement.id))) continue;
    const near = nearest(pattern, ids);
    throw new UsageError(
      `${option}${pattern}: no check of the ${suite.api} suite${ofSet(suite, set)} has that ` +
        `id${near === undefined ? '' : `; did you mean ${near}?`} (\`muster list\` shows them all)`,
    );
  }
}

function refuseUnknownSections(suite: Suite<never>, set: string, given: PatternsByOption): void {
  for (const [option, section] of each(given)) {
    if (suite.checks.some((check) => inSection(check.requirement, section))) continue;
    const known = [...new Set(suite.checks.map((check) => check.requirement.section))].sort((a, b) =>
      a.localeCompare(b, 'en', { numeric: true }),
    );
    throw new UsageError(
      `${option}${section}: the ${suite.api} suite${ofSet(suite, set)} has the sections ${known.join(', ')}`,
    );
  }
}

type Lane = Exclude<Sharing, 'publishing'> | 'slow' | 'rules';

const laneOf = ({ sharing = 'shared', slow = false, rule }: Pick<Check<never>, 'sharing' | 'slow' | 'rule'>): Lane => {
  if (rule !== undefined) return 'rules';
  if (sharing === 'publishing') return 'exclusive';
  return sharing === 'shared' && slow ? 'slow' : sharing;
};

export type Premised = Pick<Check<never>, 'id' | 'premises'>;

export const premisesOf = <C extends Premised>({ premises = [] }: C, all: readonly C[]): C[] =>
  premises.flatMap((premise) => all.filter(({ id }) => id === premise));

/** Sorts checks so that each check follows the checks in its `premises`. Throws Error for a circle. */
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

/** Checks to run last: those marked `last` and their dependants. `ordered`: each check after its premises. */
function lastOf<C extends Premised & Pick<Check<never>, 'turn'>>(ordered: readonly C[]): Set<C> {
  const last = new Set<C>();
  for (const check of ordered)
    if (check.turn === 'last' || premisesOf(check, ordered).some((premise) => last.has(premise))) last.add(check);
  return last;
}

/**
 * Runs the checks by their `sharing`: shared checks in parallel, exclusive and disruptive checks one at a time.
 * `runOne` must not reject.
 */
export async function runInLanes<Context>(
  checks: readonly Check<Context>[],
  concurrency: number,
  runOne: (check: Check<Context>, premises: readonly CheckResult[]) => Promise<CheckResult>,
  session: Pick<Session, 'publishesTogether' | 'others'>,
): Promise<void> {
  const ordered = inOrder(checks);
  const results = new Map(ordered.map((check) => [check, Promise.withResolvers<CheckResult>()]));
  const start = async (check: Check<Context>): Promise<void> => {
    const premises = await Promise.all(
      premisesOf(check, ordered).map((premise) => results.get(premise)?.promise as Promise<CheckResult>),
    );
    results.get(check)?.resolve(await runOne(check, premises));
  };
  const last = lastOf(ordered);
  const lane = (which: Lane, isLast?: boolean): Check<Context>[] =>
    ordered.filter((check) => laneOf(check) === which && (isLast ?? last.has(check)) === last.has(check));
  const inTurn = async (isLast: boolean): Promise<unknown> =>
    Promise.all([
      pool(lane('shared', isLast), concurrency, start),
      driveInTurn(lane('exclusive', isLast), session.publishesTogether, start),
    ]);
  session.others = inTurn(false).then(() => inTurn(true));
  await Promise.all([...lane('slow').map(start), session.others]);
  await pool(lane('disruptive'), 1, start);
  await pool(lane('rules'), concurrency, start);
}

async function pool<T>(items: readonly T[], width: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: Math.min(width, items.length) }, async () => {
      for (const item of queue) await work(item);
    }),
  );
}

const PUBLISHING_AT_ONCE = 4;

async function driveInTurn<Context>(
  checks: readonly Check<Context>[],
  together: () => boolean,
  work: (check: Check<Context>) => Promise<void>,
): Promise<void> {
  const rest = [...checks];
  const running = new Set<Promise<void>>();
  const joins = (check: Check<Context>): boolean =>
    check.sharing === 'publishing' && premisesOf(check, rest).length === 0;
  while (rest.length > 0) {
    const publishing = together() ? rest.find(joins) : undefined;
    const [next] = rest.splice(publishing === undefined ? 0 : rest.indexOf(publishing), 1);
    if (next === undefined) break;
    if (publishing === undefined) await Promise.all(running);
    const one = work(next).finally(() => running.delete(one));
    running.add(one);
    if (publishing === undefined) await one;
    else if (running.size >= PUBLISHING_AT_ONCE) await Promise.race(running);
  }
  await Promise.all(running);
}

const ORDER: readonly Lane[] = ['slow', 'shared', 'exclusive', 'disruptive', 'rules'];

export function premiseProblems<Context>(checks: readonly Check<Context>[]): string[] {
  const place = (check: Check<Context>): number => Math.max(ORDER.indexOf(laneOf(check)), 1);
  const problems = checks.flatMap((check) => [
    ...(check.premises ?? [])
      .filter((premise) => !checks.some(({ id }) => id === premise))
      .map((premise) => `${check.id} rests on ${premise}, which no check is called`),
    ...premisesOf(check, checks)
      .filter((premise) => place(premise) > place(check))
      .map((premise) => `${check.id} rests on ${premise.id}, which runs in a later lane`),
  ]);
  try {
    inOrder(checks);
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  }
  return problems;
}
