/** The line that runs one check of a finished run again. */
import type { CheckResult, Report } from '../runner/types.ts';

/** Options of the first run that would contradict or widen the second. */
const REPLACED = new Set([
  '--only',
  '--section',
  '--seed',
  '--report',
  '--fast',
  '--update-baseline',
  '--certificate',
  '--key',
  '--badge',
  '--replay',
]);

export interface Again {
  /** The command line of the whole run; without one, the shape of it is shown. */
  start?: string | undefined;
  /** JSON report of this run, from which `muster replay` knows everything. */
  replay?: string | undefined;
}

export function againLine({ start, replay }: Again, report: Report, result: CheckResult): string {
  if (replay !== undefined) return `muster replay ${replay} --only ${result.id}`;
  const words = (start ?? `muster check ${report.api} …`).split(' ');
  const kept: string[] = [];
  let dropping = false;
  for (const word of words) {
    if (word.startsWith('-')) dropping = REPLACED.has(word.split('=', 1)[0] ?? '');
    if (!dropping) kept.push(word);
  }
  return [...kept, '--only', result.id, '--seed', String(report.seed), ...counterexample(result)].join(' ');
}

/** Coordinates of the very counterexample, where the check is a property. */
function counterexample({ id, seed, path, replay_path }: CheckResult): string[] {
  if (seed === undefined || path === undefined) return [];
  return ['--replay', `'${JSON.stringify({ check: id, seed, path, replay_path })}'`];
}
