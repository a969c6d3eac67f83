import { resolve } from 'node:path';
import { throwAll, writingTo } from '../client/errors.ts';
import type { Redactor } from '../common/redact.ts';
import { type Output, type Paint, painter, printable, printableJson } from '../common/terminal.ts';
import { UsageError } from '../common/usage.ts';
import { isOneFile, prepareFile, writeWhole } from '../common/user-files.ts';
import type { RunListener } from '../runner/run.ts';
import type { Report } from '../runner/types.ts';

export type Reporter = RunListener;

export interface ReporterOptions {
  redactor: Redactor;
  stdout: Output;
  stderr: Output;
  env: Record<string, string | undefined>;
  verbose?: boolean;
}

export interface DocumentFormat {
  readonly name: string;
  document(report: Report): string;
}

export const jsonDocument = (name: string, dataOf: (report: Report) => object): DocumentFormat => ({
  name,
  document: (report) => `${printableJson(dataOf(report), 2)}\n`,
});

/** Replaces characters that a terminal, XML or YAML refuses. */
export const writable = (text: string): string =>
  printable(text.toWellFormed()).replaceAll(/[\ufffe\uffff]/g, '\ufffd');

export interface LiveFormat {
  readonly name: string;
  /** `file`: absolute path instead of the usual destination. */
  reporter(options: ReporterOptions, file: string | undefined): Reporter;
}

/** Reads `FORMAT` or `FORMAT=FILE`. Throws UsageError with the accepted formats. */
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

export type ReportFormat = DocumentFormat | LiveFormat;

/** Writes a report whole or not at all, unless `write` appends. Throws LimitReached, e.g. on a full disk. */
export function writeReport(path: string, text: string, write: typeof writeWhole = writeWhole): void {
  writingTo(`--report: ${path}`, () => write(path, text));
}

/** `path`: undefined for stdout. */
export function deliverReport(path: string | undefined, text: string, stdout: Output): void {
  if (path === undefined) stdout.write(text);
  else writeReport(path, text);
}

/** Options of a run by the file that each reads or writes: an absolute path, or undefined for stdout. */
export type Places = Map<string | undefined, string>;

/** Reserves the files that a command reads, so that no report overwrites them. */
export const placesOf = (inputs: readonly string[]): Places =>
  new Map(inputs.map((file) => [resolve(file), 'an input of the command']));

/** Throws UsageError for a file that another option has reserved. */
export function claimPlace(places: Places, option: string, path: string | undefined): void {
  const other = places.get(path);
  if (other !== undefined && (path === undefined || isOneFile(path)))
    throw new UsageError(`${option}: ${path ?? 'stdout'} is taken by ${other}`);
  places.set(path, option);
}

/** `file`: undefined for stdout. Throws UsageError for a file that cannot be written, or is reserved. */
export function claimReport(places: Places, spec: string, file: string | undefined): string | undefined {
  const path = file === undefined ? undefined : prepareFile(`--report ${spec}`, file);
  claimPlace(places, `--report ${spec}`, path);
  return path;
}

export interface WritableFormat<Value> {
  readonly name: string;
  text(value: Value, isTerminal: boolean): string;
}

/** Checks all files before the work, so that UsageError comes first. */
export function reportWriter<Value>(
  specs: readonly string[],
  formats: readonly WritableFormat<Value>[],
  stdout: Output,
  places: Places = new Map(),
) {
  const wanted = specs.map((spec) => {
    const { format, file } = formatOf(spec, formats);
    return { format, path: claimReport(places, spec, file) };
  });
  return (value: Value): void => {
    const failures: unknown[] = [];
    for (const { format, path } of wanted) {
      try {
        deliverReport(path, format.text(value, path === undefined), stdout);
      } catch (error) {
        // Writes the other formats before it throws, because the run may have taken hours.
        failures.push(error);
      }
    }
    throwAll(failures);
  };
}

export const paintOf = ({ stdout, env }: Pick<ReporterOptions, 'stdout' | 'env'>, isTerminal: boolean): Paint =>
  painter(stdout, isTerminal ? env : { NO_COLOR: '1' });
