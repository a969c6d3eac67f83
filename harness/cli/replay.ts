/** Runs exactly the counterexamples of a JSON report again. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import type { CommandModule } from 'yargs';
import { readInputText, whyNot } from '../common/read-input.ts';
import { UsageError } from '../common/usage-error.ts';
import { isNamed } from '../runner/plan.ts';
import type { Replay } from '../runner/run-check.ts';
import type { CheckResult, Outcome, Report } from '../runner/types.ts';
import { interruptSignal } from './check-options.ts';
import { EXIT } from './exit.ts';
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
    const failed = chosen(report, args);
    const folder = mkdtempSync(join(tmpdir(), 'muster-replay-'));
    const interrupt = interruptSignal();
    try {
      const replayed: Replayed[] = [];
      for (const check of failed) {
        if (interrupt.signal.aborted) break;
        replayed.push(await again(report, check, args['--'] ?? [], join(folder, 'again.json')));
      }
      if (failed.length > 1) process.stdout.write(summary(replayed, failed.length));
      process.exitCode = interrupt.signal.aborted ? EXIT.interrupted : worst(replayed.map(({ code }) => code));
    } finally {
      interrupt.release();
      rmSync(folder, { recursive: true });
    }
  },
};

interface Replayed {
  check: CheckResult;
  /** What became of it; undefined when the run did not get so far. */
  now: CheckResult | undefined;
  code: number;
}

function chosen(report: Report, { file, only }: Arguments): CheckResult[] {
  const failed = report.checks.filter(({ outcome }) => ['fail', 'warn', 'known'].includes(outcome));
  if (failed.length === 0)
    throw new UsageError(`${file}: nothing failed in this report, so there is nothing to replay`);
  if (only === undefined) return failed;
  // The id of a check is often the beginning of others' ids.
  const takesIn = (pattern: string) => (check: CheckResult) =>
    failed.some(({ id }) => id === pattern) ? check.id === pattern : isNamed(pattern, check.id, check.requirement_id);
  const unknown = only.find((pattern) => !failed.some(takesIn(pattern)));
  if (unknown !== undefined) {
    throw new UsageError(
      `--only ${unknown}: not among what failed or warned in ${file}: ${failed.map(({ id }) => id).join(', ')}`,
    );
  }
  return failed.filter((check) => only.some((pattern) => takesIn(pattern)(check)));
}

/** A harness that broke tells nothing; a MUST that is broken tells more than a check that could not run. */
function worst(codes: readonly number[]): number {
  const order: number[] = [EXIT.usage, EXIT.harness, EXIT.interrupted, EXIT.nonconformant, EXIT.incomplete];
  return order.find((code) => codes.includes(code)) ?? Math.max(...codes);
}

function summary(replayed: readonly Replayed[], all: number): string {
  const groups = new Map<string, Replayed[]>();
  for (const one of replayed) {
    const what = WORDS[one.now?.outcome ?? 'blocked'];
    groups.set(what, [...(groups.get(what) ?? []), one]);
  }
  const lines = [...groups].flatMap(([what, list]) => [
    `  ${list.length} ${what}`,
    ...list.map(({ check, now, code }) => `    ${check.id}${now === undefined ? `: exit ${code}` : because(now)}`),
  ]);
  const count = replayed.length === all ? all : `${replayed.length} of ${all}, then interrupted`;
  return `\nReplayed ${count}:\n${lines.join('\n')}\n`;
}

const because = ({ reason }: CheckResult): string => (reason === undefined ? '' : `: ${reason}`);

const WORDS: Record<Outcome, string> = {
  fail: 'failed again',
  warn: 'warned again',
  known: 'failed again, as the baseline knows',
  pass: 'passed now',
  fixed: 'passed now, and can leave the baseline',
  not_applicable: 'could not be tried',
  blocked: 'could not be tried',
};

function readReport(file: string): Report {
  let report: Report;
  try {
    report = JSON.parse(readInputText(file)) as Report;
  } catch (error) {
    throw new UsageError(`${file}: is no JSON report (${whyNot(error)})`);
  }
  if (!Array.isArray(report.checks) || report.arguments === undefined) {
    throw new UsageError(`${file}: is no report of \`muster check\`; write one with --report json=FILE`);
  }
  return report;
}

/** A process of its own, so that each replay opens the target just as the run did; options after `--` win. */
async function again(report: Report, check: CheckResult, more: readonly string[], file: string): Promise<Replayed> {
  const coordinates: Replay = {
    check: check.id,
    ...(check.seed === undefined ? {} : { seed: check.seed }),
    ...(check.path === undefined ? {} : { path: check.path }),
    ...(check.replay_path === undefined ? {} : { replay_path: check.replay_path }),
  };
  const words = [
    ...forAnotherRun(withoutNarrowing(report.arguments ?? [], more)),
    '--only',
    check.id,
    ...(gives(more, '--seed') ? [] : ['--seed', String(report.seed)]),
    '--replay',
    JSON.stringify(coordinates),
    ...more,
    ...(gives(more, '--report') ? [] : ['--report', 'pretty']),
    '--report',
    `json=${file}`,
  ];
  const child = spawn(process.execPath, [process.argv[1] ?? '', ...words], { stdio: 'inherit' });
  // A terminal sends its SIGINT to both; a second signal would end the child before it has closed its target.
  const onTerminated = (): void => void child.kill('SIGTERM');
  process.on('SIGTERM', onTerminated);
  rmSync(file, { force: true });
  const code = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (status) => resolve(status ?? EXIT.harness));
  }).finally(() => process.off('SIGTERM', onTerminated));
  const now = existsSync(file) ? readReport(file).checks.find(({ id }) => id === check.id) : undefined;
  return { check, now, code };
}

const gives = (words: readonly string[], option: string): boolean =>
  words.some((word) => word === option || word.startsWith(`${option}=`));

/** The run's own arguments but for what chose checks, wrote files or set the seed, and for what is given anew. */
export function withoutNarrowing(words: readonly string[], anew: readonly string[] = []): string[] {
  const dropped = new Set([
    '--only',
    '--section',
    '--report',
    '--certificate',
    '--key',
    '--badge',
    '--seed',
    '--replay',
    '--baseline',
    '--runs',
    ...anew.filter((word) => word.startsWith('--')).map((word) => word.split('=')[0] ?? ''),
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
