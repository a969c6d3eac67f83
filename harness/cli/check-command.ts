/** What the three `muster check` commands have in common. The code that runs checks is loaded when one runs. */
import type { Again, Checked, CheckTable, Ran } from './check-options.ts';
import { type Command, complete, type GivenOptions, type OptionsOf } from './options.ts';

export interface CheckCommand<T extends CheckTable = CheckTable> extends Command<T> {
  /** Runs counterexamples again with options of the run that found them. */
  replay(options: GivenOptions, again: Again): Promise<Ran>;
}

export function checkCommand<const T extends CheckTable, Context>(of: Checked<T, Context>): CheckCommand<T> {
  return {
    options: of.options,
    examples: of.examples,
    async run(options: OptionsOf<T>) {
      const { runAndReport } = await import('./check-run.ts');
      return (await runAndReport(of, options)).code;
    },
    async replay(given, again) {
      const { runAndReport } = await import('./check-run.ts');
      return runAndReport(of, complete(of.options, given), again);
    },
  };
}
