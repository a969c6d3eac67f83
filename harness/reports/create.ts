import { UsageError } from '../common/usage.ts';
import { ctrfFormat } from './ctrf.ts';
import {
  claimReport,
  deliverReport,
  formatOf,
  type Places,
  type Reporter,
  type ReporterOptions,
  type ReportFormat,
} from './format.ts';
import { githubFormat } from './github.ts';
import { harFormat } from './har.ts';
import { htmlFormat } from './html.ts';
import { jsonFormat } from './json.ts';
import { junitFormat } from './junit.ts';
import { prettyFormat } from './pretty.ts';
import { sarifFormat } from './sarif.ts';
import { tapFormat } from './tap.ts';

const FORMATS: readonly ReportFormat[] = [
  ...[prettyFormat, jsonFormat, junitFormat, ctrfFormat, tapFormat],
  ...[htmlFormat, githubFormat, sarifFormat, harFormat],
];

export const REPORT_FORMATS: readonly string[] = FORMATS.map(({ name }) => name);

export const REPORT_FORMATS_TEXT = `${REPORT_FORMATS.join(', ').replace(/, (\w+)$/, ' or $1')}, each with =FILE`;

/**
 * Creates a reporter for each of `specs`; if a document goes to stdout, live formats write to stderr. Throws UsageError
 * for an unknown format, two documents on stdout, or a file that cannot be written or is reserved in `places`.
 */
export function createReporters(
  specs: readonly string[],
  options: ReporterOptions,
  places: Places = new Map(),
): Reporter[] {
  const wanted = (specs.length === 0 ? [prettyFormat.name] : specs).map(parse);
  const toStdout = wanted.filter(({ format, file }) => file === undefined && 'document' in format);
  const [first, second] = toStdout.map(({ format }) => format.name);
  if (first !== undefined && second !== undefined) {
    throw new UsageError(
      `--report: ${first} and ${second} cannot both go to stdout; give one a file, e.g. --report ` +
        `${second}=report.${second}`,
    );
  }
  const { redactor, stderr } = options;
  const live = first === undefined ? options : { ...options, stdout: stderr };
  return wanted.map(({ spec, format, file }): Reporter => {
    const path = file === undefined ? undefined : claimReport(places, spec, file);
    const reporter: Reporter =
      'document' in format
        ? { onEnd: (report) => deliverReport(path, format.document(report), options.stdout) }
        : format.reporter(live, path);
    // Masks secrets before formatting, because the escapes of a format could hide a secret.
    return {
      ...reporter,
      onStart: (run) => reporter.onStart?.({ ...run, target: redactor.value(run.target) }),
      onEnd: (report) => reporter.onEnd?.(redactor.value(report)),
    };
  });
}

export function jsonReportFile(specs: readonly string[]): string | undefined {
  return specs.map(parse).find(({ format, file }) => format === jsonFormat && file !== undefined)?.file;
}

const parse = (spec: string) => ({ spec, ...formatOf(spec, FORMATS) });
