/** What a report derives from results: their numbers, the exit code, and the command that runs one check again. */
import { EXIT } from '../common/usage.ts';
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

/** The exit code of a run: `EXIT.conformant`, `nonconformant`, `harness` when Muster went wrong, or `incomplete`. `faulty`: Muster went wrong outside any check. */
export function exitCode(results: readonly CheckResult[], faulty = false): number {
  const summary = summarise(results);
  if (summary.fail > 0) return EXIT.nonconformant;
  if (faulty || results.some(({ fault }) => fault === true)) return EXIT.harness;
  return summary.blocked > 0 || summary.fixed > 0 || ran(summary) === 0 ? EXIT.incomplete : EXIT.conformant;
}

/** What is known of a finished run. */
export interface ReplayOptions {
  /** Opens the same target: `muster check device --socket /run/agent.sock`, without options that choose checks or write files. */
  command: string;
  /** Seed of the run. */
  seed: number;
  /** JSON report of the run. `muster replay` finds everything else in it. */
  file?: string | undefined;
}

/** The command that runs the check of one result again. Without a report to replay, the seed leads to the same counterexample. */
export function replayCommand({ command, seed, file }: ReplayOptions, result: CheckResult): string {
  if (file !== undefined) return `muster replay ${file} --only ${result.id}`;
  return [command, '--only', result.id, '--seed', String(seed)].join(' ');
}
