import { errorOf } from '../../client/errors.ts';
import { inOrder, type Lane, laneOf, premisesOf } from '../plan.ts';
import type { Check } from '../types.ts';

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
    problems.push(errorOf(error).message);
  }
  return problems;
}
