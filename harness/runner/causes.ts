/** Groups findings that probably have the same cause, so that a report shows each bug once. */

import { isFinding } from './attempts.ts';
import { withoutNumbers } from './finding-text.ts';
import { inOrder, type Premised, premisesOf } from './plan.ts';
import type { CheckResult } from './types.ts';

type Grouped = Premised & { readonly requirement: { readonly id: string } };

/**
 * Sets `consequence_of` on each finding that shares its cause with a simpler finding. Two findings share a cause if
 * - their checks decide the same requirement, or
 * - one check depends on the other check, directly or through other checks, or
 * - their checks got the same wrong answer to the same request, apart from numbers.
 */
export function groupByCause(results: readonly CheckResult[], checks: readonly Grouped[]): CheckResult[] {
  const below = allPremises(checks);
  const leads: CheckResult[] = [];
  const leadOf = new Map<string, string>();
  for (const finding of plainestFirst(results.filter(isFinding), below)) {
    const premises = below.get(finding.id) ?? [];
    const cause = leads.find(
      (lead) =>
        lead.requirement_id === finding.requirement_id ||
        (mayCause(lead, finding) && premises.some((premise) => isDecidedBy(premise, lead))) ||
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

function plainestFirst(
  findings: readonly CheckResult[],
  below: ReadonlyMap<string, readonly Grouped[]>,
): readonly CheckResult[] {
  const depth = ({ id }: CheckResult): number => below.get(id)?.length ?? 0;
  const depths = new Map<string, number>();
  for (const finding of findings) {
    const { requirement_id: requirement } = finding;
    depths.set(requirement, Math.min(depth(finding), depths.get(requirement) ?? Number.POSITIVE_INFINITY));
  }
  const rank = (finding: CheckResult): number[] => [
    severity(finding),
    depths.get(finding.requirement_id) ?? 0,
    finding.id === finding.requirement_id ? 0 : 1,
    depth(finding),
  ];
  return findings.toSorted((a, b) => compare(rank(a), rank(b)));
}

const compare = (left: readonly number[], right: readonly number[]): number =>
  left.map((value, at) => value - (right[at] ?? 0)).find((difference) => difference !== 0) ?? 0;

const mayCause = ({ outcome, deviation }: CheckResult, { allowed_for = [] }: CheckResult): boolean =>
  outcome === 'fail' && (deviation === undefined || allowed_for.includes(deviation.name));

const isDecidedBy = ({ id, requirement }: Grouped, lead: CheckResult): boolean =>
  id === lead.id || (requirement.id === lead.requirement_id && lead.id === lead.requirement_id);

/** Returns the leading finding of each cause, MUST before SHOULD, then by number of consequences. */
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

const severity = ({ outcome }: CheckResult): number => (outcome === 'fail' ? 0 : 1);

function allPremises(checks: readonly Grouped[]): Map<string, Grouped[]> {
  const all = new Map<string, Grouped[]>();
  for (const check of inOrder(checks)) {
    const direct = premisesOf(check, checks);
    all.set(check.id, [...new Set(direct.flatMap((premise) => [premise, ...(all.get(premise.id) ?? [])]))]);
  }
  return all;
}

function isSameAnswer(left: CheckResult, right: CheckResult): boolean {
  const answer = ({ expected = '', actual = '' }: CheckResult): string => withoutNumbers(`${expected}\n${actual}`);
  return requestOf(left) === requestOf(right) && answer(left) === answer(right);
}

/** Method and path of the last request, without the query, because cursors differ between checks. */
function requestOf({ exchanges }: CheckResult): string {
  const last = exchanges?.at(-1);
  return last === undefined ? '' : `${last.method} ${last.url.replace(/\?.*$/, '')}`;
}
