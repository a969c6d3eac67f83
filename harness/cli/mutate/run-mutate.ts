/** From the options of `muster mutate` to reports and an exit code. */
import { randomInt } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { random } from '../../../simulators/common/random.ts';
import { defined } from '../../common/defined.ts';
import { durationMs } from '../../common/durations.ts';
import { Redactor } from '../../common/redact.ts';
import { interruptedCode } from '../../common/signals.ts';
import { inert, printable } from '../../common/terminal.ts';
import { EXIT, UsageError, usage } from '../../common/usage.ts';
import { readInputText } from '../../common/user-files.ts';
import { ordered, sampled, wantedOf } from '../../mutate/plan.ts';
import { type Found, mutate } from '../../mutate/run.ts';
import { type BaselineUse, reportOf, updateFor } from '../../mutate/settle.ts';
import { CannotStart, type World } from '../../mutate/subject.ts';
import { mutationWriters } from '../../reports/mutation/formats.ts';
import { isFinding, type MutationReport, mutationReportShape } from '../../reports/mutation/report.ts';
import { readBaseline, writeBaseline } from '../../runner/baseline.ts';
import { columns } from '../options.ts';
import { interruptSignal } from '../process-end.ts';
import { VERSION } from '../version.ts';
import { Progress } from './progress.ts';

/** The options that every `muster mutate` has. */
export interface MutateArguments {
  readonly command: string;
  readonly setup?: string;
  readonly only?: readonly string[];
  readonly section?: readonly string[];
  readonly sample?: number;
  readonly since?: string;
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

type Sides = Pick<MutationReport, 'side' | 'api'>;

/** Resolves with the exit code. `worldOf`: what the tests meet; it is given the seed. Throws UsageError. */
export async function runMutate(
  args: MutateArguments,
  sides: Sides,
  worldOf: (seed: number) => Promise<World>,
): Promise<number> {
  const { stdout, stderr, env } = process;
  const redactor = new Redactor();
  const say = (text: string): void => void stderr.write(inert(`${printable(redactor.text(text))}\n`));
  const write = mutationWriters(args.report ?? []);
  const [first, names] = [firstOf(args.since), args.only];
  const seed = args.seed ?? randomInt(2 ** 31);
  const [testTimeoutMs, firstTimeoutMs] = [timeoutOf(args), timeOf('--max-first', args['max-first'])];
  const baseline = baselineOf(args);
  const startedAt = new Date();
  const jobs = args.jobs ?? availableParallelism();
  const progress = new Progress(stderr, (secrets) => {
    for (const secret of secrets) redactor.add(secret);
  });
  using interrupt = interruptSignal();
  const { signal } = interrupt;
  const world = await worldOf(seed);
  const wanted = wantedOf(world.subjects, defined({ only: names, sections: args.section }));
  let found: Found;
  try {
    found = await mutate(
      { ...world, subjects: wanted, faithful: () => world.faithful() },
      {
        ...defined({ setup: args.setup }),
        line: args.command,
        jobs,
        testTimeoutMs,
        firstTimeoutMs,
        signal,
        first,
        choose: (subjects) =>
          args.sample === undefined ? [...subjects] : drawn(ordered(subjects, first), args.sample, seed, first),
        listener: progress,
      },
    );
  } catch (error) {
    if (error instanceof CannotStart) {
      progress.end();
      say(`muster: ${error.message}`);
      return EXIT.incomplete;
    }
    if (!signal.aborted || error !== signal.reason) throw error;
    say('muster: interrupted before the first run of the tests was over; nothing is left running');
    return interruptedCode(signal);
  } finally {
    progress.end();
  }
  const all = world.subjects.map(({ name }) => name);
  const use = baseline && { baseline: baseline.known, today: today(), names: all };
  const about = {
    ...sides,
    muster: VERSION,
    command: args.command,
    seed,
    started_at: startedAt.toISOString(),
    duration_ms: Date.now() - startedAt.getTime(),
    jobs,
    minScore: args['min-score'],
  };
  const settled = updated(args, sides, found, use, say);
  const report = redactor.value(reportOf(found, about, settled, signal));
  write(report, { stdout, env, columns: columns(), verbose: args.verbose, sourceOf });
  return report.exit_code;
}

const today = (): string => new Date().toISOString().slice(0, 10);

/** With `--update-baseline` that which excuses exactly what was found, written. */
function updated(
  args: MutateArguments,
  { api }: Sides,
  { subjects }: Found,
  use: BaselineUse | undefined,
  say: (text: string) => void,
): BaselineUse | undefined {
  if (use === undefined || args.baseline === undefined || !args['update-baseline']) return use;
  const update = updateFor(api, subjects, use);
  writeBaseline(args.baseline, update);
  say([`baseline: ${args.baseline} adds (+), keeps (=), removes (-):`, ...update.changes].join('\n  '));
  return { ...use, baseline: update };
}

function baselineOf({ baseline: path, 'update-baseline': update }: MutateArguments) {
  if (path !== undefined) return { known: readBaseline(path, { mayBeMissing: update }) };
  if (update) throw new UsageError('--update-baseline: needs --baseline FILE, the file to write');
  return undefined;
}

const timeoutOf = ({ 'test-timeout': text }: MutateArguments): number | undefined =>
  text === undefined ? undefined : timeOf('--test-timeout', text);

const LONGEST_MS = 86_400_000;

/** Throws UsageError. */
function timeOf(option: string, text: string): number {
  const ms = usage(`${option} ${text}`, () => durationMs(text));
  if (ms > 0 && ms <= LONGEST_MS) return ms;
  throw new UsageError(`${option} ${text}: must be above 0, and 24h at most`);
}

/** Names of what an earlier report found. Throws UsageError for what is no such report. */
function firstOf(file: string | undefined): ReadonlySet<string> {
  if (file === undefined) return new Set();
  const value = usage(`--since ${file}`, () => JSON.parse(readInputText(file)) as unknown);
  if (!mutationReportShape.is(value))
    throw new UsageError(`--since ${file}: is no report of muster mutate; --report json=FILE writes one`);
  return new Set(value.subjects.filter(isFinding).map(({ name }) => name));
}

/** What an earlier run found, and a sample of the rest. */
function drawn(
  subjects: readonly World['subjects'][number][],
  count: number,
  seed: number,
  first: ReadonlySet<string>,
): World['subjects'][number][] {
  const again = subjects.filter(({ name }) => first.has(name));
  const others = subjects.filter(({ name }) => !first.has(name));
  return [...again, ...sampled(others, count, random(seed).next)];
}

/** A file of the catalogue; in the package that is JavaScript, below `dist`. */
function sourceOf(file: string): string {
  const root = new URL('../../../', import.meta.url);
  const path = [file, file.replace(/ts$/, 'js')]
    .map((each) => fileURLToPath(new URL(each, root)))
    .find((each) => existsSync(each));
  return path === undefined ? '' : readFileSync(path, 'utf8');
}
