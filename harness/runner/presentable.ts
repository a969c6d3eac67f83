/** Results as they are given away: nothing of endless length, and no command that can no longer work. */
import type { CheckResult, Report } from './types.ts';

/** Most characters of each field; of any other text in a result as many as `ANY`. */
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
/** Most characters of what names a target, and of what it says of itself. */
const NAME = 500;
/** A command that was cut is none, so a longer one is left out of a finding. */
const LONGEST_COMMAND = 20_000;
const COMMANDS = ['curl', 'script', 'replay_command'] as const;

/** Redacted before: what is cut off could have been the rest of a secret. */
export function presentableReport(report: Report): Report {
  const { target, unreachable } = report;
  return {
    ...report,
    target: within(target, NAME) as Report['target'],
    ...(unreachable === undefined ? {} : { unreachable: cut(unreachable, ANY) }),
    checks: report.checks.map((result) => presentable(target.ended === true ? withoutCommands(result) : result)),
  };
}

/** One result, likewise. */
export function presentable(result: CheckResult): CheckResult {
  const { counterexample } = result;
  const text = typeof counterexample === 'string' ? '' : (JSON.stringify(counterexample) ?? '');
  const whole = text.length > ANY ? { ...result, counterexample: text } : { ...result };
  for (const name of COMMANDS) if ((whole[name]?.length ?? 0) > LONGEST_COMMAND) delete whole[name];
  return within(whole, ANY) as CheckResult;
}

/** What a line or a script would ask has ended; `muster replay --keep` brings it back. */
const withoutCommands = ({ curl: _, script: __, ...result }: CheckResult): CheckResult => result;

/** Cuts every text within a value. */
function within(value: unknown, limit: number): unknown {
  if (typeof value === 'string') return cut(value, limit);
  if (Array.isArray(value)) return value.map((item) => within(item, limit));
  if (value === null || typeof value !== 'object') return value;
  const limitOf = (name: string): number =>
    (COMMANDS as readonly string[]).includes(name) ? LONGEST_COMMAND : (LIMITS[name] ?? limit);
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, within(item, limitOf(name))]));
}

const cut = (text: string, limit: number): string =>
  text.length <= limit ? text : `${text.slice(0, limit)}… (${text.length} characters)`;
