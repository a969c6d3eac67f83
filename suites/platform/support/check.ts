/** How a check of this suite is declared, and what it is given. */
import { NoAnswer } from '../../../harness/client/errors.ts';
import { checks } from '../../../harness/runner/define.ts';
import type { CheckContext } from '../../../harness/runner/types.ts';
import { Violation } from '../../../harness/runner/violation.ts';
import type { PlatformContext } from '../../../harness/targets/opened.ts';
import { blockIfUndecided } from './unchanged.ts';

export type { Platform } from './context.ts';

const declare = checks<PlatformContext>();
type Declare = typeof declare;

/** The check that at least one collection answers with a list: where none does, no other check means anything. */
export const ANY_LIST = 'platform.list.envelope.any';

/** Declares a check of one requirement. A check that was never decided because others kept writing ends as blocked. */
export const check: Declare = (requirement, options, run) => {
  const isFirst = `${requirement.id}.${options.aspect}` === ANY_LIST;
  const premises = isFirst ? [] : [ANY_LIST, ...(options.premises ?? [])];
  return declare(requirement, { ...options, premises }, async (t) => {
    await run({ ...t, property: withBoundedShrinking(t.property) });
    blockIfUndecided(t);
  });
};

/** Against a target that hangs, each smaller candidate costs a whole timeout. */
const SHRINK_MS = 20_000;

/**
 * `property`, except that shrinking stops 20 seconds after the first counterexample. While shrinking, an error that decides nothing
 * (such as a rate limit) counts as a pass, so it cannot replace the counterexample that was found.
 */
export function withBoundedShrinking(property: CheckContext['property']): CheckContext['property'] {
  return (arbitrary, predicate, options) => {
    let failedAt: number | undefined;
    return property(
      arbitrary,
      async (value) => {
        if (failedAt !== undefined && performance.now() - failedAt > SHRINK_MS) return;
        try {
          await predicate(value);
        } catch (error) {
          const decides = error instanceof Violation || error instanceof NoAnswer;
          if (!decides && failedAt !== undefined) return;
          if (decides) failedAt ??= performance.now();
          throw error;
        }
      },
      options,
    );
  };
}
