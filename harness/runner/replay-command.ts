/** The command that runs one check of a finished run again, for the readers of its report. */
import type { CheckResult } from './types.ts';

/** What is known of a finished run. */
export interface ReplayOptions {
  /** Opens the same target: `muster check device --socket /run/agent.sock`, without options that choose checks or write files. */
  command: string;
  /** Seed of the run. */
  seed: number;
  /** JSON report of the run. `muster replay` finds everything else in it. */
  file?: string | undefined;
}

/** The command line for one result. Without a report to replay, the seed leads to the same counterexample. */
export function replayCommand({ command, seed, file }: ReplayOptions, result: CheckResult): string {
  if (file !== undefined) return `muster replay ${file} --only ${result.id}`;
  return [command, '--only', result.id, '--seed', String(seed)].join(' ');
}
