/** Keeps the search for a smaller counterexample from hiding the one that was found. */
import type { CheckContext } from '../../../harness/runner/types.ts';
import { Violation } from '../../../harness/runner/violation.ts';

/** Against a target that hangs, or waits for an effect that never comes, every smaller candidate costs its whole patience. */
const SHRINK_MS = 20_000;

const decides = (error: unknown): boolean =>
  error instanceof Violation || (error instanceof Error && error.name === 'NoAnswer');

/**
 * `property`, with a bound on how long it goes on after the first counterexample. Trouble with a smaller candidate (a rate
 * limit, say) counts as no counterexample: it must not turn what was decided into something undecided.
 */
export function bounded(property: CheckContext['property']): CheckContext['property'] {
  return (arbitrary, predicate, options) => {
    let failedAt: number | undefined;
    return property(
      arbitrary,
      async (value) => {
        if (failedAt !== undefined && performance.now() - failedAt > SHRINK_MS) return;
        try {
          await predicate(value);
        } catch (error) {
          if (!decides(error) && failedAt !== undefined) return;
          if (decides(error)) failedAt ??= performance.now();
          throw error;
        }
      },
      options,
    );
  };
}
