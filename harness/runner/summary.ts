/** What the results of a run come to: their numbers, and the exit code. */
import { EXIT } from '../common/exit-codes.ts';
import { type CheckResult, OUTCOMES, type Summary } from './types.ts';

/** How many results there are of each outcome. */
export function summarise(checks: readonly CheckResult[]): Summary {
  const summary = Object.fromEntries(OUTCOMES.map((outcome) => [outcome, 0])) as Summary;
  for (const { outcome } of checks) summary[outcome] += 1;
  return summary;
}

/** How many checks ran to an outcome about the target. */
export const ran = (summary: Summary): number =>
  summary.pass + summary.fail + summary.warn + summary.known + summary.fixed;

/** The exit code of a run: `EXIT.conformant`, `nonconformant` or `incomplete`. */
export function exitCode(summary: Summary): number {
  if (summary.fail > 0) return EXIT.nonconformant;
  return summary.blocked > 0 || summary.fixed > 0 || ran(summary) === 0 ? EXIT.incomplete : EXIT.conformant;
}
