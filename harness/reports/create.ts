/** `--report FORMAT[=FILE]` to reporters. */
import { UsageError } from '../common/usage-error.ts';
import { ctrfReport } from './ctrf.ts';
import { isOneFile, prepareFile, writeWhole } from './destination.ts';
import { githubReporter } from './github.ts';
import { htmlReport } from './html.ts';
import { jsonReport } from './json.ts';
import { junitReport } from './junit.ts';
import { prettyReporter } from './pretty.ts';
import type { Format, Reporter, ReporterOptions } from './types.ts';

export const REPORT_FORMATS = ['pretty', 'json', 'junit', 'ctrf', 'html', 'github'] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];

const TEXTS: Partial<Record<ReportFormat, Format>> = {
  json: jsonReport,
  junit: junitReport,
  ctrf: ctrfReport,
  html: htmlReport,
};

/**
 * `specs` are the values of `--report`; none means `pretty`. At most one machine-readable report may go to stdout, and then
 * `pretty` moves to stderr. Throws UsageError for an unknown format or a place that cannot be written.
 */
export function createReporters(specs: readonly string[], given: ReporterOptions): Reporter[] {
  const options = withReplay(masked(given), specs);
  const wanted = (specs.length === 0 ? ['pretty'] : specs).map(parse);
  const toStdout = wanted.filter(({ format, file }) => file === undefined && format in TEXTS);
  if (toStdout.length > 1) {
    throw new UsageError(
      `--report: ${toStdout.map(({ format }) => format).join(' and ')} cannot both go to stdout; give one a file, e.g. --report ${toStdout[1]?.format}=report.${toStdout[1]?.format}`,
    );
  }
  const places = new Set<string>();
  return wanted.map(({ format, file }) => {
    const path = file === undefined ? undefined : prepareFile(`--report ${format}=${file}`, file);
    if (path !== undefined && isOneFile(path) && places.has(path)) {
      throw new UsageError(`--report ${format}=${file}: another report goes to that file already`);
    }
    if (path !== undefined) places.add(path);
    const text = TEXTS[format];
    if (text !== undefined) return textReporter(text, path, options);
    if (format === 'github') return githubReporter(options, path);
    if (path !== undefined) {
      let collected = '';
      const pretty = prettyReporter({ ...options, env: { NO_COLOR: '1' } }, { write: (part) => (collected += part) });
      return {
        ...pretty,
        async onEnd(report) {
          await pretty.onEnd?.(report);
          writeWhole(path, collected);
        },
      };
    }
    return prettyReporter(options, toStdout.length > 0 ? options.stderr : options.stdout);
  });
}

/** The command line, masked when it is used: a secret may become known only after the reporters were made. */
function masked(given: ReporterOptions): ReporterOptions {
  const { again, redactor } = given;
  if (again === undefined) return given;
  return Object.defineProperty({ ...given }, 'again', { enumerable: true, get: () => redactor.text(again) });
}

function withReplay(options: ReporterOptions, specs: readonly string[]): ReporterOptions {
  const file = specs.map(parse).find((spec) => spec.format === 'json')?.file;
  return file === undefined ? options : Object.defineProperty(options, 'replay', { enumerable: true, value: file });
}

function textReporter(format: Format, path: string | undefined, options: ReporterOptions): Reporter {
  return {
    onEnd(report) {
      // Redacted before it is formatted, so that no escaping can hide a secret, and after, so that no formatting can make one.
      const text = options.redactor.text(format(options.redactor.value(report), options));
      if (path === undefined) options.stdout.write(text);
      else writeWhole(path, text);
    },
  };
}

function parse(spec: string): { format: ReportFormat; file: string | undefined } {
  const [name = '', ...rest] = spec.split('=');
  const file = rest.length === 0 ? undefined : rest.join('=');
  if (!REPORT_FORMATS.includes(name as ReportFormat)) {
    throw new UsageError(`--report ${spec}: accepted are ${REPORT_FORMATS.join(', ')}, each with or without =FILE`);
  }
  if (file === '') throw new UsageError(`--report ${spec}: the file after = is missing`);
  return { format: name as ReportFormat, file };
}
