import { type checks, requirement, rules } from '../harness/runner/define.ts';
import type { Check, Requirement } from '../harness/runner/types.ts';

/**
 * Makes `section`, which each file of a suite calls first, e.g. `section({ section: '4.1', since: '2026-11-21' })`. All
 * requirements of the file share these members, and may override them. `checks` lists the checks of the file in order.
 */
export const sections =
  <Context, Given extends readonly unknown[]>(
    declare: (...given: Given) => Check<Context>,
    declareRule: ReturnType<typeof rules<Context>> = rules<Context>(),
  ) =>
  <Common extends Partial<Requirement>>(common: Common) => {
    const checks: Check<Context>[] = [];
    return {
      checks: checks as readonly Check<Context>[],
      requirement: (own: Omit<Requirement, keyof Common> & Partial<Requirement>): Requirement =>
        requirement({ ...common, ...own } as Requirement),
      check: (...given: Given): void => void checks.push(declare(...given)),
      rule: (...given: Parameters<typeof declareRule>): void => void checks.push(declareRule(...given)),
    };
  };

type Options = Parameters<ReturnType<typeof checks>>[1];

/**
 * Marks a check that needs `write`: `--read-only` omits the check, and by default no other exclusive check runs beside
 * it. Checks that ping need no `write`, because a ping changes no data, but set `writes`, because it reaches a robot.
 */
export const writing = (options: Options): Options =>
  options.needs?.includes('write') === true ? { sharing: 'exclusive', ...options, writes: true } : options;
