/** Runs exactly the counterexamples of a JSON report again. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import process from 'node:process';
import type { CommandModule } from 'yargs';
import type { Replay } from '../check/run-check.ts';
import type { CheckResult, Report } from '../check/types.ts';
import { UsageError } from '../usage-error.ts';
import { forAnotherRun } from './own-arguments.ts';

interface Arguments {
  file: string;
  only?: string[];
  '--'?: string[];
}

export const replay: CommandModule<object, Arguments> = {
  builder: {
    file: { type: 'string', describe: 'A report written by --report json=FILE', demandOption: true },
    only: { type: 'string', array: true, describe: 'Only these checks' },
  },
  handler: async (args) => {
    const report = readReport(args.file);
    const failed = report.checks.filter(
      (check) =>
        ['fail', 'warn', 'known'].includes(check.outcome) && (args.only === undefined || args.only.includes(check.id)),
    );
    if (failed.length === 0) {
      throw new UsageError(
        args.only === undefined
          ? `${args.file}: nothing failed in this report, so there is nothing to replay`
          : `--only ${args.only.join(' ')}: not among the failures of ${args.file}: ${report.checks
              .filter((check) => check.outcome === 'fail')
              .map((check) => check.id)
              .join(', ')}`,
      );
    }
    let worst = 0;
    for (const check of failed) worst = Math.max(worst, await again(report, check, args['--'] ?? []));
    process.exitCode = worst;
  },
};

function readReport(file: string): Report {
  let report: Report;
  try {
    report = JSON.parse(readFileSync(file, 'utf8')) as Report;
  } catch (error) {
    throw new UsageError(`${file}: is no JSON report (${error instanceof Error ? error.message : error})`);
  }
  if (!Array.isArray(report.checks) || report.arguments === undefined) {
    throw new UsageError(`${file}: is no report of \`muster check\`; write one with --report json=FILE`);
  }
  return report;
}

/** A process of its own, so that each replay opens the target just as the run did; options after `--` win. */
function again(report: Report, check: CheckResult, more: readonly string[]): Promise<number> {
  const coordinates: Replay = {
    check: check.id,
    ...(check.seed === undefined ? {} : { seed: check.seed }),
    ...(check.path === undefined ? {} : { path: check.path }),
    ...(check.replay_path === undefined ? {} : { replay_path: check.replay_path }),
  };
  const words = [
    ...forAnotherRun(withoutNarrowing(report.arguments ?? [])),
    '--only',
    check.id,
    '--seed',
    String(report.seed),
    '--replay',
    JSON.stringify(coordinates),
    ...more,
  ];
  const child = spawn(process.execPath, [process.argv[1] ?? '', ...words], { stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(signal === null ? (code ?? 3) : 3));
  });
}

/** The run's own arguments but for what chose checks, wrote files or set the seed. */
export function withoutNarrowing(words: readonly string[]): string[] {
  const dropped = new Set([
    '--only',
    '--section',
    '--report',
    '--certificate',
    '--key',
    '--badge',
    '--seed',
    '--baseline',
    '--runs',
  ]);
  const flags = new Set(['--fast', '--update-baseline']);
  const kept: string[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    const name = word.split('=')[0] ?? '';
    if (flags.has(name)) continue;
    if (dropped.has(name)) {
      // Array options go on to the next option.
      if (!word.includes('=')) while (at + 1 < words.length && !(words[at + 1] ?? '').startsWith('--')) at += 1;
      continue;
    }
    kept.push(word);
  }
  return kept;
}
