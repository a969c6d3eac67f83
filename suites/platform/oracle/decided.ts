/** What an exploration has found out about one requirement. All checks of a run share one. */

import type { ResourceKind } from '../../../harness/contract/platform/operation.ts';
import { OPERATIONS } from '../../../harness/contract/platform/operations.ts';
import { type SupportedCodename, versionNamed } from '../../../harness/contract/versions.ts';
import { Budget } from '../../../harness/runner/explore/budget.ts';
import { counted } from '../../../harness/runner/results.ts';
import { Fact } from '../../../harness/runner/session.ts';
import type { Check, Requirement } from '../../../harness/runner/types.ts';
import type { Platform } from '../support/requests.ts';
import { decide } from './decides.ts';
import { describeAsk, type Seen, seenIn } from './exchange.ts';
import { explore } from './exploration.ts';
import type { Explorer } from './explorer.ts';
import type { Found } from './found.ts';

const EXPLORED = new Fact((): { of?: Promise<Explorer> } => ({}));

/** Milliseconds count only where a platform is slow. */
const USUAL = { ms: 15_000, requests: 2500, least: 150 };
const FAST = { ms: 10_000, requests: 800, least: 150 };

/** Fails the check by the first finding about its requirement; notes the others. */
async function decided(t: Platform, { id, level }: Requirement, { isMeant = () => true, makes }: Own): Promise<void> {
  const shared = t.session.get(EXPLORED);
  shared.of ??= explore(t, t.seed, new Budget(t.runs < 1 ? FAST : USUAL));
  const { found, model, cells, notes, budget, lacking } = await shared.of;
  t.saw('values', model.values);
  for (const [what, count] of model.counts) t.saw(what, count);
  t.saw('cells', cells.visited());
  t.saw('requests', budget.requests);
  for (const note of notes) t.note(note);
  const all = [...found.values()]
    .map((each) => ({ ...each, decision: decide(each) }))
    .filter((each) => each.decision.ids.includes(id) && isMeant(each));
  const [first] = all.toSorted((one, other) => rank(one.decision.level) - rank(other.decision.level));
  if (first === undefined && makes !== undefined && model.of(makes, true).length === 0)
    t.undecided(whyNone(lacking, makes));
  if (first === undefined) return;
  for (const seen of exchangesOf(first)) show(t, seen);
  const others = all.filter((each) => each !== first);
  if (others.length > 0) t.note(`${counted('other difference', others.length)}: ${others.map(inWords).join('; ')}`);
  const finding = { expected: first.expected, actual: first.actual, counterexample: describeAsk(first.exchange) };
  if (first.decision.level === 'MUST' || level !== 'MUST') t.must(false, finding);
  else t.should(false, finding);
}

/** Nothing of that kind was made, so nothing shows what becomes of it. */
function whyNone(lacking: ReadonlyMap<string, string>, kind: ResourceKind): string {
  const due = OPERATIONS.filter((each) => each.kind === kind && lacking.has(each.id));
  const [refused = [...lacking.keys()][0] ?? ''] = due.map((each) => each.id);
  const answer = lacking.get(refused) ?? 'not asked for';
  const why = answer.startsWith('403') ? 'the API key may not write' : `no ${kind} could be made`;
  return `${why}: ${refused} was answered ${answer}`;
}

const rank = (level: string): number => ['MUST', 'SHOULD', 'INFO'].indexOf(level);

const exchangesOf = ({ earlier, exchange }: Found): Seen[] =>
  earlier === undefined ? [seenIn(exchange)] : [earlier, seenIn(exchange)];

const show = (t: Platform, { asked, text }: Seen): void =>
  void t.http.recorder.add({ ...asked, request_headers: {}, response_body: text });

const inWords = ({ what, path, expected, exchange }: Found): string =>
  `${what} ${path} (${describeAsk(exchange)}): expected ${expected}`;

type IsMeant = (found: Found) => boolean;
interface Own {
  /** The findings that this check is about, where there are several of one requirement. */
  isMeant?: IsMeant | undefined;
  /** What has to be made, so that anything is decided. */
  makes?: ResourceKind | undefined;
}
type Options = Own & Pick<Check<never>, 'needs' | 'premises' | 'profile' | 'least' | 'orElse'> & { aspect?: string };

/** Declares the check by which an exploration decides a requirement. */
export const byExploring = (requirement: Requirement, { isMeant, makes, ...options }: Options = {}) =>
  [
    requirement,
    { sharing: 'exclusive', least: { values: 1 }, ...options },
    (t: Platform): Promise<void> => decided(t, requirement, { isMeant, makes }),
  ] as const;

/** In one version. */
export const inCodename =
  (codename: SupportedCodename): IsMeant =>
  ({ exchange }) =>
    exchange.version === versionNamed(codename);
