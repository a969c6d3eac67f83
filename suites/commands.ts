/** Commands by which a property drives a target beside a model of it. */
import type { AsyncCommand } from 'fast-check';

/**
 * A command that a counterexample shows as `text`, or by what it told to `show` when it ran, such as the request that
 * it sent.
 */
export function command<Model extends object, Real>(
  text: string,
  isPossible: (model: Readonly<Model>) => boolean,
  run: (model: Model, real: Real, show: (what: string) => void) => Promise<void>,
): AsyncCommand<Model, Real> {
  let shown = text;
  return {
    check: isPossible,
    run: (model, real) =>
      run(model, real, (what) => {
        shown = what;
      }),
    toString: () => shown,
  };
}

export const always = (): boolean => true;
