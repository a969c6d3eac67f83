/** What the three `muster check` commands have in common. The code that runs checks is loaded when one runs. */
import type { Redactor } from '../client/redact.ts';
import type { Replay } from '../runner/run-check.ts';
import type { Api, Report, Suite } from '../runner/types.ts';
import type { OpenedTarget } from '../targets/opened.ts';
import type { planOptions } from './check-options.ts';
import { type Command, complete, type GivenOptions, type OptionsOf, type OptionTable } from './options.ts';

export type CheckTable = OptionTable & typeof planOptions;

/** What opening a target needs beside the options. */
export interface Opening {
  redactor: Redactor;
  signal: AbortSignal;
  /** How long checks wait for what should happen at once. */
  patienceMs: number;
  /** Shows a line to the user while the target starts. */
  notify(text: string): void;
}

/** What is checked, and how it is opened. */
export interface Checked<T extends CheckTable, Context> {
  api: Api;
  options: T;
  examples: NonNullable<Command['examples']>;
  suite(): Promise<Suite<Context>>;
  open(options: OptionsOf<T>, opening: Opening): Promise<OpenedTarget<Context>>;
}

/** The counterexamples of a report, to be run again. */
export interface Again {
  file: string;
  checks: readonly (Replay & { check: string })[];
  seed: number;
}

/** What became of a run; no report when it was interrupted before it began. */
export interface Ran {
  code: number;
  report?: Report;
}

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
