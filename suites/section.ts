/** How a file of a suite declares its requirements and checks. */
import { type checks, requirement, rules } from '../harness/runner/define.ts';
import type { Check, Requirement } from '../harness/runner/types.ts';

/**
 * Makes `section`, with which each file of a suite begins: `section({ section: '4.1', since: '2026-11-21' })`. It says
 * what the requirements of the file share; each may say otherwise. `checks` are those that the file has declared, in
 * their order there. `declare`: declares a check of the suite; `declareRule`: a rule of it.
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
      /** What must hold of all that the run sees, whichever check asks for it. */
      rule: (...given: Parameters<typeof declareRule>): void => void checks.push(declareRule(...given)),
    };
  };

type Options = Parameters<ReturnType<typeof checks>>[1];

/**
 * What writes to a platform, as its `needs` say, is left out by `--read-only`, and runs alone unless it says otherwise.
 * A ping writes nothing, but is a POST that goes to a robot: its checks say `writes` themselves.
 */
export const writing = (options: Options): Options =>
  options.needs?.includes('write') === true ? { sharing: 'exclusive', ...options, writes: true } : options;
