/** Declaration of the requirements and checks of a file. */
import { type checks, requirement, rules } from '../harness/runner/define.ts';
import type { Check, Requirement } from '../harness/runner/types.ts';

/**
 * Makes `section`, with which each file of a suite begins: `section({ section: '4.1', since: '2026-11-21' })` gives the
 * members that the file's requirements share, unless they override them. `checks`: those of the file, in order.
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
      check: (...given: Given): Check<Context> => {
        const declared = declare(...given);
        checks.push(declared);
        return declared;
      },
      /** Declares a rule on all that the run sees, whichever check asks for it. */
      rule: (...given: Parameters<typeof declareRule>): void => void checks.push(declareRule(...given)),
    };
  };

type Options = Parameters<ReturnType<typeof checks>>[1];

/**
 * Marks a check that writes to a platform, by its `needs`: `--read-only` leaves it out, and it runs alone by default. A
 * ping writes nothing, but is a POST that goes to a robot: its checks set `writes` themselves.
 */
export const writing = (options: Options): Options =>
  options.needs?.includes('write') === true ? { sharing: 'exclusive', ...options, writes: true } : options;
