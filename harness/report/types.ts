/** What a reporter is, and what it is given. A reporter is a listener of the run; `onEnd` writes whatever it writes. */
import type { RunListener } from '../check/run.ts';
import type { CheckResult, Report } from '../check/types.ts';
import type { Redactor } from '../client/redact.ts';

/** The part of a stream that reporters use. */
export interface Output {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}

export type Reporter = RunListener;

export interface ReporterOptions {
  /** Everything that is written passes through it. */
  redactor: Redactor;
  stdout: Output;
  stderr: Output;
  env: Record<string, string | undefined>;
  /** Command line that starts this run again, without secrets, e.g. `muster check device --socket /run/agent.sock`. */
  again?: string;
  /** Pretty: also a line for every check that passed. */
  verbose?: boolean;
}

/** A format that is one text made of the finished report. */
export type Format = (report: Report, options: ReporterOptions) => string;

/** Outcomes that a reader has to act on. */
export const isRed = (result: CheckResult): boolean =>
  result.outcome === 'fail' || result.outcome === 'blocked' || result.outcome === 'fixed';
