/** Reads the JSON report of a run again, those of older versions of Muster too. */
import { UsageError } from '../common/usage.ts';
import { readInputText, whyNot } from '../common/user-files.ts';
import { summarise } from '../runner/summary.ts';
import { APIS, type Api, type CheckResult, type Coverage, type Report } from '../runner/types.ts';
import { jsonReportShape } from './json.ts';

/** The JSON value in a file that a user names. Throws UsageError that names the file. */
export function readJson(file: string): unknown {
  let text: string;
  try {
    text = readInputText(file);
  } catch (error) {
    throw new UsageError(`${file}: cannot be read (${whyNot(error)})`);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${file}: is not JSON (${whyNot(error)})`);
  }
}

/** Whether a JSON value looks like the report of a check, of whatever version. */
export const looksLikeReport = (value: unknown): value is OldReport =>
  isRecord(value) && Array.isArray(value['checks']) && value['checks'].every(isNamedResult);

/**
 * A report with everything that today's Muster writes. Members that older versions did not write are derived from the others.
 *
 * @throws UsageError that names the file and the first members that are wrong
 */
export function reportFrom(value: OldReport, file: string): Report {
  const report = filledIn(value, file);
  if (jsonReportShape.is(report)) return report as unknown as Report;
  const problems = jsonReportShape.problems(report).slice(0, SHOWN);
  throw new UsageError(
    `${file}: is not a report of \`muster check\`: ${problems.map(({ path, message }) => `${path} ${message}`.trim()).join('; ')}`,
  );
}

/** A report in which members may be absent that were added since. */
export type OldReport = Record<string, unknown> & { checks: CheckResult[] };

const SHOWN = 3;

function filledIn(value: OldReport, file: string): Record<string, unknown> {
  const checks = value.checks.map((check) => ({ ...check, requirement_id: check.requirement_id ?? check.id }));
  const narrowed = value['narrowed_by'] ?? [];
  const exitCode = value['exit_code'] ?? (checks.some(({ outcome }) => outcome === 'fail') ? 1 : 0);
  return {
    ...value,
    api: value['api'] ?? apiOf(checks, file),
    narrowed_by: narrowed,
    exit_code: exitCode,
    complete: value['complete'] ?? (Array.isArray(narrowed) && narrowed.length === 0 && exitCode !== 2),
    summary: { ...summarise(checks), ...(isRecord(value['summary']) ? value['summary'] : {}) },
    coverage: value['coverage'] ?? coverageFrom(checks),
    checks,
  };
}

/** The ids of all checks begin with their API. */
function apiOf(checks: readonly CheckResult[], file: string): Api {
  const api = APIS.find((one) => checks.some(({ id }) => id.startsWith(`${one}.`)));
  if (api === undefined)
    throw new UsageError(`${file}: does not say which API was checked, and has no check that does`);
  return api;
}

/** Of a report that does not say how much was decided: it lists every check that was planned. */
function coverageFrom(checks: readonly CheckResult[]): Coverage {
  const open = checks.filter(({ outcome }) => outcome === 'blocked' || outcome === 'not_applicable');
  const groups = Map.groupBy(open, ({ outcome }) => (outcome === 'blocked' ? 'blocked' : 'did not apply'));
  return {
    checks: checks.length,
    decided: checks.length - open.length,
    undecided: [...groups].map(([why, members]) => ({ checks: members.length, why })),
  };
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isNamedResult = (value: unknown): boolean =>
  isRecord(value) && typeof value['id'] === 'string' && typeof value['outcome'] === 'string';
