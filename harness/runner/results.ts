/**
 * Derivations of a report from results: summary, exit code, replay commands; and the results cut to publishable length,
 * without commands that no longer work.
 */

import { defined } from '../common/defined.ts';
import { EXIT } from '../common/usage.ts';
import { type Check, type CheckResult, type Observed, OUTCOMES, type Report, type Summary } from './types.ts';

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

/** Number of checks that came to an outcome about the target. */
export const decidedNumber = (summary: Summary): number =>
  summary.pass + summary.fail + summary.warn + summary.known + summary.flaky + summary.fixed;

/**
 * Exit code of a run: `EXIT.conformant`, `nonconformant`, `harness` when Muster went wrong, or `incomplete`. `faulty`:
 * Muster went wrong outside any check. `lacking`: the run decided less than it had to.
 */
export function exitCode(
  results: readonly CheckResult[],
  { faulty = false, lacking = false }: { faulty?: boolean; lacking?: boolean } = {},
): number {
  const summary = summaryOf(results);
  if (summary.fail > 0 || failingWarnings(results).length > 0) return EXIT.nonconformant;
  if (faulty || results.some(({ fault }) => fault === true)) return EXIT.harness;
  const open = lacking || summary.blocked > 0 || summary.fixed > 0 || decidedNumber(summary) === 0;
  return open ? EXIT.incomplete : EXIT.conformant;
}

/** `1 request`, `3 requests`; a name of several words stays as it is. */
export const countInWords = (name: string, count: number): string =>
  `${count} ${count === 1 ? name.replace(/^(\w+)s$/, '$1') : name}`;

export const failingWarnings = (results: readonly CheckResult[]): CheckResult[] =>
  results.filter(({ fails_by: by }) => by !== undefined);

export interface ReplayOptions {
  /**
   * Command that opens the same target, without options that choose checks or write files: `muster check device
   * --socket /run/agent.sock`.
   */
  command: string;
  seed: number;
  /** JSON report of the run, from which `muster replay` takes everything else. */
  file?: string | undefined;
}

/**
 * Command that runs the check of one result again. Without a report to replay, the seed leads to the same
 * counterexample.
 */
export function replayCommand({ command, seed, file }: ReplayOptions, result: CheckResult): string {
  if (file !== undefined) return `muster replay ${file} --only ${result.id}`;
  return [command, '--only', result.id, ...(result.seen_by ?? []), '--seed', String(seed)].join(' ');
}

/** Limit of characters by field; `ANY` is for all other texts. */
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
/** Limit of characters for names and self-descriptions of a target. */
const NAME = 500;
/** Limit of characters for a command; a longer one is left out, since a cut command does not run. */
const LONGEST_COMMAND = 20_000;
const COMMANDS = ['curl', 'script', 'replay_command'] as const;

/** Report with bounded texts. Redaction comes first: a cut could hide the rest of a secret from it. */
export function presentableReport(report: Report): Report {
  const { target, unreachable } = report;
  return {
    ...report,
    target: cutTexts(target, NAME) as Report['target'],
    ...(unreachable === undefined ? {} : { unreachable: cut(unreachable, ANY) }),
    checks: report.checks.map((result) => {
      // Commands do not reach a target that has ended; `muster replay --keep` starts it again.
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
  if (typeof value === 'string') return cut(value, limit);
  if (Array.isArray(value)) return value.map((item) => cutTexts(item, limit));
  if (value === null || typeof value !== 'object') return value;
  const limitOf = (name: string): number =>
    (COMMANDS as readonly string[]).includes(name) ? LONGEST_COMMAND : (LIMITS[name] ?? limit);
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, cutTexts(item, limitOf(name))]));
}

const cut = (text: string, limit: number): string =>
  text.length <= limit ? text : `${text.slice(0, limit)}… (${text.length} characters)`;

/** Choices of a target where the specification is silent, each once, in the order of their first sighting. */
export function distinctChoices(observed: readonly Observed[]): Observed[] {
  const seen = new Map(observed.map((choice) => [`${choice.name}\n${choice.value}`, choice]));
  return [...seen.values()];
}

/** Choices in words, those with the same value in one line: `limit=0, limit=-5 → limit 1`. */
export function choicesInWords(observed: readonly Observed[]): string[] {
  const groups = Map.groupBy(distinctChoices(observed), ({ value }) => value);
  return [...groups].map(([value, choices]) => `${choices.map(({ name }) => name).join(', ')} → ${value}`);
}
