/** Properties that end in time on a target that is slow, or hangs: each input may cost seconds there. */
import { findingOf } from './property.ts';
import type { CheckContext } from './types.ts';

type Property = CheckContext['property'];

/** How long a property may go on. */
export interface Bounds {
  /** Milliseconds after the first counterexample in which smaller ones are looked for. */
  shrinkMs: number;
  /** Milliseconds after which no new input is tried. Default: no bound. */
  tryMs?: () => number;
  /** Inputs that are tried however late it is. Default 1. */
  least?: number;
  /** Whether an input is tried in any case, and not counted. Default: none is. */
  isExempt?(value: unknown): boolean;
  /** Called at the end, with how many of all inputs were tried, when others were left out for want of time. */
  onLeftOut?(tried: number, all: number): void;
}

/**
 * `property` within `bounds`. While shrinking, an error that decides nothing (such as a rate limit) counts as a pass, so it cannot
 * replace the counterexample that was found.
 */
export function boundedProperty(property: Property, bounds: Bounds): Property {
  const { shrinkMs, tryMs = () => Number.POSITIVE_INFINITY, least = 1, isExempt = () => false, onLeftOut } = bounds;
  return async (arbitrary, predicate, options) => {
    const startedAt = performance.now();
    let tried = 0;
    let leftOut = 0;
    let failedAt: number | undefined;
    const isLeftOut = (value: unknown): boolean => {
      const now = performance.now();
      if (failedAt !== undefined) return now - failedAt > shrinkMs;
      if (isExempt(value)) return false;
      const late = tried >= least && now - startedAt > tryMs();
      if (late) leftOut += 1;
      else tried += 1;
      return late;
    };
    await property(
      arbitrary,
      async (value) => {
        if (isLeftOut(value)) return;
        try {
          await predicate(value);
        } catch (error) {
          const decides = findingOf(error) !== undefined;
          if (!decides && failedAt !== undefined) return;
          if (decides) failedAt ??= performance.now();
          throw error;
        }
      },
      options,
    );
    if (leftOut > 0) onLeftOut?.(tried, tried + leftOut);
  };
}
