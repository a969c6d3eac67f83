/** Groups the findings of a run by cause, so that one bug is one finding: the plainest check leads, the others are its consequences. */
import { inOrder, type Premised, premisesOf } from './schedule.ts';
import type { CheckResult } from './types.ts';

/**
 * Sets `consequence_of` on failed checks and warnings that show the same cause less plainly than another, and leaves the order.
 * Two findings have one cause when
 * - one check rests on the other, by its premises or by theirs;
 * - both checks decide the same requirement;
 * - both got the same wrong answer to the same request, but for the numbers in it.
 */
export function groupByCause(results: readonly CheckResult[], checks: readonly Premised[]): CheckResult[] {
  const below = allPremises(checks);
  const depth = ({ id }: CheckResult): number => below.get(id)?.size ?? 0;
  const place = new Map(results.map((result, index) => [result, index]));
  const plainestFirst = results
    .filter(isFinding)
    .toSorted((a, b) => severity(a) - severity(b) || depth(a) - depth(b) || (place.get(a) ?? 0) - (place.get(b) ?? 0));
  const leads: CheckResult[] = [];
  const leadOf = new Map<string, string>();
  for (const finding of plainestFirst) {
    const rests = below.get(finding.id) ?? new Set();
    const cause = leads.find(
      (lead) =>
        (lead.outcome === 'fail' && rests.has(lead.id)) ||
        lead.requirement_id === finding.requirement_id ||
        isSameAnswer(lead, finding),
    );
    if (cause === undefined) leads.push(finding);
    else leadOf.set(finding.id, cause.id);
  }
  return results.map((result) => {
    const lead = leadOf.get(result.id);
    return lead === undefined ? result : { ...result, consequence_of: lead };
  });
}

/**
 * The findings that lead their groups, the most telling first: a MUST before a SHOULD, then the one that most other checks follow from
 * or are blocked by, then the order of the report.
 */
export function leadsFirst(results: readonly CheckResult[]): CheckResult[] {
  const leadOf = new Map(results.map(({ id, consequence_of }) => [id, consequence_of ?? id]));
  const followers = new Map<string, number>();
  for (const { consequence_of, blocked_by } of results) {
    const cause = leadOf.get(consequence_of ?? blocked_by ?? '');
    if (cause !== undefined) followers.set(cause, (followers.get(cause) ?? 0) + 1);
  }
  const count = ({ id }: CheckResult): number => followers.get(id) ?? 0;
  return results
    .filter((result) => isFinding(result) && result.consequence_of === undefined)
    .toSorted((a, b) => severity(a) - severity(b) || count(b) - count(a));
}

const isFinding = ({ outcome }: CheckResult): boolean => outcome === 'fail' || outcome === 'warn';
const severity = ({ outcome }: CheckResult): number => (outcome === 'fail' ? 0 : 1);

/** Ids of all checks that each check rests on, directly or through others. */
function allPremises(checks: readonly Premised[]): Map<string, Set<string>> {
  const all = new Map<string, Set<string>>();
  // In this order those of a premise are known before what rests on it.
  for (const check of inOrder(checks)) {
    const direct = premisesOf(check, checks).map(({ id }) => id);
    all.set(check.id, new Set(direct.flatMap((id) => [id, ...(all.get(id) ?? [])])));
  }
  return all;
}

/** Ids, times and lengths differ from one request to the next, so numbers do not count. */
const withoutNumbers = (text: string): string =>
  text.replaceAll(/\[[\d, ….]*\](?: \(\d+\))?/g, '[#]').replaceAll(/\d+/g, '#');

function isSameAnswer(left: CheckResult, right: CheckResult): boolean {
  const answer = ({ expected = '', actual = '' }: CheckResult): string => withoutNumbers(`${expected}\n${actual}`);
  return requestOf(left) === requestOf(right) && answer(left) === answer(right);
}

/** Method and path of the last request; a query may hold cursors. */
function requestOf({ exchanges }: CheckResult): string {
  const last = exchanges?.at(-1);
  return last === undefined ? '' : `${last.method} ${last.url.replace(/\?.*$/, '')}`;
}
