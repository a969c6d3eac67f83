/** Properties that end in time on a target that is slow, or hangs: each input may cost seconds there. */
import { NoAnswer } from '../../../harness/client/errors.ts';
import type { CheckContext } from '../../../harness/runner/types.ts';
import { Violation } from '../../../harness/runner/violation.ts';

type Property = CheckContext['property'];

/** How long a property may go on. */
export interface Bounds {
  /** Milliseconds after the first counterexample in which smaller ones are looked for. */
  shrinkMs: number;
  /** Milliseconds after which no new input is tried. At least one is tried. Default: no bound. */
  tryMs?: () => number;
  /** Called once, with the number of inputs that were tried, when others are left out for want of time. */
  onLeftOut?(tried: number): void;
}

/**
 * `property` within `bounds`. While shrinking, an error that decides nothing (such as a rate limit) counts as a pass, so it cannot
 * replace the counterexample that was found.
 */
export function boundedProperty(property: Property, { shrinkMs, tryMs, onLeftOut }: Bounds): Property {
  return (arbitrary, predicate, options) => {
    const startedAt = performance.now();
    let tried = 0;
    let leftOut = false;
    let failedAt: number | undefined;
    const isOver = (): boolean =>
      failedAt === undefined
        ? tried > 0 && performance.now() - startedAt > (tryMs?.() ?? Number.POSITIVE_INFINITY)
        : performance.now() - failedAt > shrinkMs;
    return property(
      arbitrary,
      async (value) => {
        if (isOver()) {
          if (failedAt === undefined && !leftOut) onLeftOut?.(tried);
          leftOut = true;
          return;
        }
        tried += 1;
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
