import { defined } from '../common/defined.ts';
import { EXIT, quote } from '../common/usage.ts';
import { type Check, type CheckResult, type Observed, OUTCOMES, type Report, type Summary } from './types.ts';
import { shortText } from './violation.ts';

export function resultOf(
  { id, requirement, needs }: Pick<Check<never>, 'id' | 'requirement' | 'needs'>,
  came: Pick<CheckResult, 'outcome' | 'duration_ms'> & Partial<CheckResult>,
): CheckResult {
  const { level, section, text, clause } = requirement;
  return {
    id,
    level,
    section,
    requirement: text,
    ...defined({ clause }),
    requirement_id: requirement.id,
    ...came,
    ...(needs === undefined ? {} : { needs: [...needs] }),
  };
}

export function summaryOf(checks: readonly CheckResult[]): Summary {
  const summary = Object.fromEntries(OUTCOMES.map((outcome) => [outcome, 0])) as Summary;
  for (const { outcome } of checks) summary[outcome] += 1;
  return summary;
}

export const decidedNumber = (summary: Summary): number =>
  summary.pass + summary.fail + summary.warn + summary.known + summary.flaky + summary.fixed;

/** `faulty`: Muster failed outside a check. `lacking`: less was decided than demanded, or a declaration is wrong. */
export function exitCode(results: readonly CheckResult[], { faulty = false, lacking = false } = {}): number {
  const summary = summaryOf(results);
  if (summary.fail > 0 || failingWarnings(results).length > 0) return EXIT.nonconformant;
  if (faulty || results.some(({ fault }) => fault === true)) return EXIT.harness;
  const open = lacking || summary.blocked > 0 || summary.fixed > 0 || decidedNumber(summary) === 0;
  return open ? EXIT.incomplete : EXIT.conformant;
}

/** E.g. `1 request` or `3 requests`; a noun of several words stays plural. */
export const countInWords = (name: string, count: number): string =>
  `${count} ${count === 1 ? name.replace(/^(\w+)s$/, '$1') : name}`;

export const failingWarnings = (results: readonly CheckResult[]): CheckResult[] =>
  results.filter(({ fails_by: by }) => by !== undefined);

interface ReplayOptions {
  /** Command without a selection of checks, e.g. `muster check device --socket /run/agent.sock`. */
  command: string;
  seed: number;
  file?: string | undefined;
}

export function replayCommand({ command, seed, file }: ReplayOptions, result: CheckResult): string {
  if (file !== undefined && result.outcome !== 'blocked') return `muster replay ${quote(file)} --only ${result.id}`;
  return [command, '--only', result.id, ...(result.seen_by ?? []), '--seed', String(seed)].join(' ');
}

/** Maximum characters of a report's texts, by field. */
const LIMITS: Readonly<Record<string, number>> = {
  expected: 1000,
  actual: 1000,
  counterexample: 2200,
  observations: 500,
  reason: 1500,
  error: 500,
  response_body: 5000,
  request_body: 5000,
};
const ANY = 4000;
const LONGEST_COMMAND = 20_000;
const COMMANDS = ['curl', 'script', 'replay_command'] as const;

/** Shortens the texts of a redacted report; redaction comes first, because it does not find a secret that was cut. */
export function presentableReport(report: Report): Report {
  const { target, unreachable } = report;
  return {
    ...report,
    target: cutTexts(target, 500) as Report['target'],
    ...(unreachable === undefined ? {} : { unreachable: shortText(unreachable, ANY) }),
    checks: report.checks.map((result) => {
      // Omits `curl` and `script` if Muster has ended the target, because neither would get an answer.
      const { curl, script, ...rest } = result;
      return presentableResult(target.ended === true ? rest : result);
    }),
  };
}

export function presentableResult(result: CheckResult): CheckResult {
  const { counterexample } = result;
  const text = typeof counterexample === 'string' ? '' : (JSON.stringify(counterexample) ?? '');
  const whole = text.length > ANY ? { ...result, counterexample: text } : { ...result };
  for (const name of COMMANDS) if ((whole[name]?.length ?? 0) > LONGEST_COMMAND) delete whole[name];
  return cutTexts(whole, ANY) as CheckResult;
}

function cutTexts(value: unknown, limit: number): unknown {
  if (typeof value === 'string') return shortText(value, limit);
  if (Array.isArray(value)) return value.map((item) => cutTexts(item, limit));
  if (value === null || typeof value !== 'object') return value;
  const limitOf = (name: string): number =>
    (COMMANDS as readonly string[]).includes(name) ? LONGEST_COMMAND : (LIMITS[name] ?? limit);
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, cutTexts(item, limitOf(name))]));
}

export const distinctChoices = (observed: readonly Observed[]): Observed[] => [
  ...new Map(observed.map((choice) => [`${choice.name}\n${choice.value}`, choice])).values(),
];

export function choicesInWords(observed: readonly Observed[]): string[] {
  const groups = Map.groupBy(distinctChoices(observed), ({ value }) => value);
  return [...groups].map(([value, choices]) => `${choices.map(({ name }) => name).join(', ')} → ${value}`);
}
