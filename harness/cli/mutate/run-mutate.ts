/** Runs `muster mutate` and writes its reports. */
import { randomInt } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { random } from '../../../simulators/common/random.ts';
import { defined } from '../../common/defined.ts';
import { isSecretName, Redactor } from '../../common/redact.ts';
import { interruptedCode } from '../../common/signals.ts';
import { inert, printable } from '../../common/terminal.ts';
import { EXIT, UsageError } from '../../common/usage.ts';
import { type BaselineUse, reportOf, type TestedSide, updatedMutationBaseline } from '../../mutate/mutation-report.ts';
import { sampleOf, selectedSubjects } from '../../mutate/plan.ts';
import { type MutationResults, runMutation } from '../../mutate/run.ts';
import { CannotStart, type Subject, type SubjectSource } from '../../mutate/subject.ts';
import { mutationWriters } from '../../reports/mutation/formats.ts';
import { shortened } from '../../reports/mutation/report.ts';
import { readBaseline, writeBaseline } from '../../runner/baseline.ts';
import { columns, commandLine, type OptionTable, timeFrom } from '../options.ts';
import { interruptSignal } from '../process-end.ts';
import { VERSION } from '../version.ts';
import { Progress } from './progress.ts';
import { withoutOurs } from './subjects.ts';

export interface MutateArguments {
  readonly command: string;
  readonly setup?: string;
  readonly only?: readonly string[];
  readonly section?: readonly string[];
  readonly kind?: Subject['kind'];
  readonly sample?: number;
  readonly jobs?: number;
  readonly 'test-timeout'?: string;
  readonly 'max-first': string;
  readonly seed?: number;
  readonly 'min-score'?: number;
  readonly baseline?: string;
  readonly 'update-baseline': boolean;
  readonly report?: readonly string[];
  readonly verbose: boolean;
}

export async function runMutate(
  args: MutateArguments,
  table: OptionTable,
  sides: TestedSide,
  worldOf: (seed: number) => Promise<SubjectSource>,
): Promise<number> {
  const { stdout, stderr, env } = process;
  const redactor = new Redactor(secretsIn(env));
  const say = (text: string): void => void stderr.write(inert(`${printable(redactor.text(text))}\n`));
  const { report: formats = [], verbose } = args;
  const write = mutationWriters(formats, { stdout, env, columns: columns(), verbose, sourceOf });
  const baseline = baselineOf(args);
  const { seed, jobs, ...timeouts } = numbersOf(args);
  const startedAt = new Date();
  const hide = (secrets: readonly string[]): void => {
    for (const secret of secrets) redactor.add(secret);
  };
  const progress = new Progress(stderr, hide);
  using interrupt = interruptSignal();
  const { signal } = interrupt;
  const world = await worldOf(seed);
  hide(world.secrets ?? []);
  const wanted = selectedSubjects(
    world.subjects,
    defined({ only: args.only, sections: args.section, kind: args.kind }),
  );
  let found: MutationResults;
  try {
    found = await runMutation(
      { ...world, subjects: wanted, faithful: (each) => world.faithful(each) },
      {
        ...defined({ setup: args.setup }),
        line: args.command,
        env: withoutOurs(env),
        jobs,
        ...timeouts,
        signal,
        choose: (subjects) =>
          args.sample === undefined ? [...subjects] : sampleOf(subjects, args.sample, random(seed).next),
        listener: progress,
      },
    );
  } catch (error) {
    progress.end();
    return exitCodeBefore(error, signal, say);
  } finally {
    progress.end();
  }
  const names = world.subjects.map(({ name }) => name);
  const use = baseline && { baseline: baseline.known, today: today(), names };
  const about = {
    ...sides,
    muster: VERSION,
    command: redactor.text(args.command),
    repeat: redactor.text(repeatOf(args, table, sides.side, seed)),
    seed,
    started_at: startedAt.toISOString(),
    duration_ms: Date.now() - startedAt.getTime(),
    jobs,
    minScore: args['min-score'],
    kind: args.kind,
  };
  const settled = writtenUpdate(args, sides, found, use, say);
  const report = shortened(redactor.value(reportOf(found, about, settled, signal)));
  write(report);
  return report.exit_code;
}

function exitCodeBefore(error: unknown, signal: AbortSignal, say: (text: string) => void): number {
  if (error instanceof CannotStart) {
    say(`muster: ${error.message}`);
    return EXIT.incomplete;
  }
  if (!signal.aborted || error !== signal.reason) throw error;
  say('muster: interrupted before the first run of the tests was over; nothing is left running');
  return interruptedCode(signal);
}

const today = (): string => new Date().toISOString().slice(0, 10);

function writtenUpdate(
  args: MutateArguments,
  sides: TestedSide,
  { subjects, first, flaky }: MutationResults,
  use: BaselineUse | undefined,
  say: (text: string) => void,
): BaselineUse | undefined {
  if (use === undefined || args.baseline === undefined || !args['update-baseline']) return use;
  if (first.outcome !== 'passed' || flaky !== undefined) {
    say(`baseline: ${args.baseline} is left as it was, since nothing of this run holds`);
    return use;
  }
  const update = updatedMutationBaseline(sides, subjects, use);
  writeBaseline(args.baseline, update);
  say([`baseline: ${args.baseline} adds (+), keeps (=), removes (-):`, ...update.changes].join('\n  '));
  return { ...use, baseline: update };
}

function baselineOf({ baseline: path, 'update-baseline': update }: MutateArguments) {
  if (path !== undefined) return { known: readBaseline(path, { mayBeMissing: update }) };
  if (update) throw new UsageError('--update-baseline: needs --baseline FILE, the file to write');
  return undefined;
}

function numbersOf({
  seed,
  jobs,
  kind,
  'min-score': least,
  'test-timeout': each,
  'max-first': first,
}: MutateArguments) {
  if (kind === 'variant' && least !== undefined)
    throw new UsageError('--min-score: needs defects, which --kind variant leaves out');
  return {
    seed: seed ?? randomInt(2 ** 31),
    jobs: jobs ?? availableParallelism(),
    testTimeoutMs: each === undefined ? undefined : timeFrom('test-timeout', each),
    firstTimeoutMs: timeFrom('max-first', first),
  };
}

/** Lists secrets of the environment, because the tests inherit and may print the environment. */
const secretsIn = (env: NodeJS.ProcessEnv): string[] =>
  Object.keys(env).flatMap((name) => (isSecretName(name) && env[name]) || []);

/** Command line that repeats the tests against one server, whose name follows `--only`. */
function repeatOf(args: MutateArguments, table: OptionTable, side: string, seed: number): string {
  const kept = Object.entries(args).filter(
    ([name]) => table[name]?.group === 'Server' || name === 'command' || name === 'setup',
  );
  return `${commandLine(['mutate', side], table, Object.fromEntries(kept))} --jobs 1 --seed ${seed} --only`;
}

/** Reads the source file of a defect, which is JavaScript in the published package. */
function sourceOf(file: string): string {
  const root = new URL('../../../', import.meta.url);
  const path = [file, file.replace(/ts$/, 'js')]
    .map((each) => fileURLToPath(new URL(each, root)))
    .find((each) => existsSync(each));
  return path === undefined ? '' : readFileSync(path, 'utf8');
}
