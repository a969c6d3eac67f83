/** What a reporter is, and what it is given. A reporter is a listener of the run; `onEnd` writes whatever it writes. */

import type { Redactor } from '../client/redact.ts';
import type { Output } from '../common/terminal.ts';

export type { Output };

import type { RunListener } from '../runner/run.ts';
import type { Report } from '../runner/types.ts';
import type { Again } from './again.ts';

export type Reporter = RunListener;

export interface ReporterOptions {
  /** Everything that is written passes through it. */
  redactor: Redactor;
  stdout: Output;
  stderr: Output;
  env: Record<string, string | undefined>;
  /** Command line that starts this run again, without secrets, e.g. `muster check device --socket /run/agent.sock`. */
  again?: string;
  /** Where this run's JSON report goes, so that its failures can be replayed from it. */
  replay?: string;
  /** Pretty: also a line for every check that passed. */
  verbose?: boolean;
}

/** A format that is one text made of the finished report. */
export type Format = (report: Report, options: ReporterOptions) => string;

/** How these reports tell a reader to run a check again. */
export const againOf = ({ again, replay }: Pick<ReporterOptions, 'again' | 'replay'>): Again => ({
  start: again,
  replay,
});
