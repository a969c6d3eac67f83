/** What a report format is. Each has a file of its own, and a line in the list of `create.ts`. */
import { classify, LimitReached } from '../client/errors.ts';
import type { Redactor } from '../common/redact.ts';
import type { Output } from '../common/terminal.ts';
import { UsageError } from '../common/usage.ts';
import { writeWhole } from '../common/user-files.ts';
import type { RunListener } from '../runner/run.ts';
import type { Report } from '../runner/types.ts';

/** Follows one run and writes its report. */
export type Reporter = RunListener;

/** What reporters are given. */
export interface ReporterOptions {
  /** Masks secrets in everything that is written. */
  redactor: Redactor;
  stdout: Output;
  stderr: Output;
  env: Record<string, string | undefined>;
  /** Pretty: also a line for every check that passed. */
  verbose?: boolean;
}

/** A format for other programs: one text, made of the finished report. It has its file, or stdout, to itself. */
export interface DocumentFormat {
  readonly name: string;
  document(report: Report): string;
}

/** A format for people or for a service that watches the run. Its reports are redacted before they reach it. */
export interface LiveFormat {
  readonly name: string;
  /** @param file absolute path that was given for the report, instead of what the format writes to by itself */
  reporter(options: ReporterOptions, file: string | undefined): Reporter;
}

/**
 * The format and the file in `FORMAT` or `FORMAT=FILE`, as `--report` takes it. Throws UsageError with what is
 * accepted.
 */
export function formatOf<F extends { readonly name: string }>(
  spec: string,
  formats: readonly F[],
): { format: F; file: string | undefined } {
  const [name, ...rest] = spec.split('=');
  const file = rest.length === 0 ? undefined : rest.join('=');
  const format = formats.find((candidate) => candidate.name === name);
  if (format === undefined) {
    const names = formats.map((candidate) => candidate.name).join(', ');
    throw new UsageError(`--report ${spec}: accepted are ${names}, each with or without =FILE`);
  }
  if (file === '') throw new UsageError(`--report ${spec}: the file after = is missing`);
  return { format, file };
}

/** A value that `--report` takes. */
export type ReportFormat = DocumentFormat | LiveFormat;

/**
 * Writes a report to its file, whole or not at all. Throws LimitReached on a full disk; other reports are written all
 * the same.
 */
export function writeReport(path: string, text: string, write: typeof writeWhole = writeWhole): void {
  try {
    write(path, text);
  } catch (error) {
    const limit = classify(error, `--report: ${path} was not written`);
    throw limit instanceof LimitReached ? limit : error;
  }
}
