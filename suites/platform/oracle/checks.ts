/** Checks that the exploration decides; all checks of a run share one exploration. */
import type { ResourceKind } from '../../../harness/contract/platform/operation.ts';
import { OPERATIONS } from '../../../harness/contract/platform/operations.ts';
import { type SupportedCodename, versionNamed } from '../../../harness/contract/versions.ts';
import { Budget, SharedExploration } from '../../../harness/runner/explore.ts';
import { countInWords } from '../../../harness/runner/results.ts';
import { seedOf } from '../../../harness/runner/run-check.ts';
import { Fact } from '../../../harness/runner/session.ts';
import { type Check, LEVELS, type Requirement } from '../../../harness/runner/types.ts';
import { TooLittleSeen } from '../../../harness/runner/violation.ts';
import type { Platform } from '../support/requests.ts';
import { decide } from './decides.ts';
import type { Comparison, Difference } from './differences.ts';
import { describeAsk, seenIn } from './exchange.ts';
import { explore } from './exploration.ts';
import { Explorer, TooSlow } from './explorer.ts';
import { connectionOf, settle } from './settling.ts';

const EXPLORED = new Fact((): { shared?: { explorer: Explorer; exploration: SharedExploration } } => ({}));

/** Bounds of the exploration in requests and milliseconds; `ms` and `lateMs` matter only on a slow platform. */
const USUAL = { ms: 15_000, requests: 2400, least: 1900, lateMs: 60_000 };
const FAST = { ms: 8000, requests: 1800, least: 1700, lateMs: 45_000 };

export function boundsOf(runs: number): typeof USUAL {
  if (runs < 1) return FAST;
  const { ms, requests, least, lateMs } = USUAL;
  // Keeps `lateMs`, because more runs give a check no more time.
  return { ms: ms * runs, requests: requests * runs, least: least * runs, lateMs };
}

async function* inTime(explorer: Explorer): AsyncGenerator<void, void> {
  const { budget, notes } = explorer;
  try {
    yield* explore(explorer);
  } catch (error) {
    if (!(error instanceof TooSlow)) throw error;
    budget.isClosed = true;
    notes.push(error.message);
    await explorer.tidy();
  } finally {
    budget.isClosed = true;
  }
}

async function decided(t: Platform, { id, level }: Requirement, checkId: string, own: Own): Promise<void> {
  const { isMeant = () => true, makes, isFree, part = '' } = own;
  const kept = t.session.get(EXPLORED);
  if (kept.shared === undefined) {
    const explorer = new Explorer(t, seedOf(t.runSeed, 'exploration'), new Budget(boundsOf(t.runs)));
    kept.shared = { explorer, exploration: new SharedExploration(inTime(explorer)) };
  }
  const { explorer, exploration } = kept.shared;
  explorer.turnTo(t);
  const isAbout = (each: Comparison): boolean => decide(each).ids.includes(id) && isMeant(each);
  const isWorst = (each: Difference): boolean => level !== 'MUST' || decide(each).level === 'MUST';
  const exploring = exploration.until(async () => {
    if (explorer.suspects.values().some(isAbout)) await settle(explorer);
    return explorer.over.has(part) || explorer.found.values().some((each) => isAbout(each) && isWorst(each));
  }, t.signal);
  // Keeps a cut-off for later, because findings from before it still count.
  const cutOff = await exploring
    .then(() => settle(explorer))
    .catch((error: unknown) => {
      if (error instanceof TooLittleSeen) return error;
      throw error;
    });
  const { found, model, notes, budget, lacking } = explorer;
  const comparisons = [...model.comparisons.values()].filter(({ comparison }) => isAbout(comparison));
  const values = comparisons.reduce((sum, { count }) => sum + count, 0);
  t.saw('values', values);
  t.saw('cells', comparisons.length);
  for (const [what, count] of model.counts) t.saw(what, count);
  t.saw('requests', budget.requests);
  for (const note of notes.splice(0)) t.note(note);
  const observed = explorer.observed.get(checkId);
  if (observed !== undefined) t.observe(...observed);
  const rank = (each: Comparison): number => LEVELS.indexOf(decide(each).level);
  const all = [...found.values()].filter(isAbout);
  const [first] = all.toSorted((one, other) => rank(one) - rank(other));
  if (first === undefined && cutOff !== undefined) throw cutOff;
  const isMade = makes === undefined || model.of(makes, true).length > 0;
  const isOver = explorer.over.has(part);
  if (first !== undefined || isOver) await explorer.tidy();
  if (first === undefined && isMade && values === 0 && isOver && isFree !== undefined) t.notApplicable(isFree);
  if (first === undefined && (!isMade || (values === 0 && makes !== undefined))) {
    const due = OPERATIONS.find((each) => each.kind === makes && lacking.has(each.id));
    const refused = due?.id ?? [...lacking.keys()][0] ?? '';
    const { status, text = '' } = lacking.get(refused) ?? {};
    if (status === 0) t.must(false, { expected: 'an answer to every request', actual: text });
    const made = isMade ? 'that was made shows it' : 'could be made';
    const why = status === 403 ? 'the API key may not write' : `no ${makes} ${made}`;
    t.undecided(status === undefined ? why : `${why}: ${refused} was answered ${status} ${text.slice(0, 120)}`);
  }
  if (first === undefined) return;
  for (const { asked, text } of [first.earlier, seenIn(first.exchange)].filter((each) => each !== undefined))
    t.http.recorder.add({ ...asked, request_headers: {}, response_body: text });
  const others = all
    .filter((each) => each !== first)
    .map(({ what, path, expected, exchange }) => `${what} ${path} (${describeAsk(exchange)}): expected ${expected}`);
  if (others.length > 0) t.note(`${countInWords('differences', others.length)} more: ${others.join('; ')}`);
  const counterexample = `${describeAsk(first.exchange)}${await connectionOf(explorer, first)}`;
  const finding = { expected: first.expected, actual: first.actual, counterexample };
  if (isWorst(first)) t.must(false, finding);
  else t.should(false, finding);
}

interface Own {
  isMeant?: ((comparison: Comparison) => boolean) | undefined;
  /** Kind of record that the run must have created for a verdict. */
  makes?: ResourceKind | undefined;
  /** Reason for `not_applicable` if the exploration has compared nothing for the requirement. */
  isFree?: string | undefined;
  part?: string | undefined;
}
type Options = Own &
  Pick<Check<never>, 'needs' | 'premises' | 'profile' | 'least' | 'orElse' | 'writes'> & { aspect?: string };

export const EXPLORED_IDS = new Set<string>();

export function byExploring(requirement: Requirement, { isMeant, makes, isFree, part, ...options }: Options = {}) {
  const { level } = requirement;
  if (level !== 'INFO') EXPLORED_IDS.add(requirement.id);
  const id = options.aspect === undefined ? requirement.id : `${requirement.id}.${options.aspect}`;
  return [
    requirement,
    { sharing: 'exclusive', ...options, least: { ...(level !== 'INFO' && { values: 1 }), ...options.least } },
    (t: Platform): Promise<void> => decided(t, requirement, id, { isMeant, makes, isFree, part }),
  ] as const;
}

export const ofCodename = (codename: SupportedCodename) => ({
  aspect: codename,
  isMeant: ({ exchange }: Comparison): boolean => exchange.version === versionNamed(codename),
});
