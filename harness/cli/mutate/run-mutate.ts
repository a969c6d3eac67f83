import { randomInt } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { random } from '../../../simulators/common/random.ts';
import { defined } from '../../common/defined.ts';
import { isSecretName, Redactor } from '../../common/redact.ts';
import { bar, LiveArea, type Output, printable, withoutCiCommands } from '../../common/terminal.ts';
import { readableDuration } from '../../common/units.ts';
import { EXIT, interruptedCode, UsageError } from '../../common/usage.ts';
import { prepareFile } from '../../common/user-files.ts';
import { type BaselineUse, reportOf, type TestedSide, updatedMutationBaseline } from '../../mutate/mutation-report.ts';
import { CannotStart, type SubjectSource, sampleOf, selectedSubjects } from '../../mutate/plan.ts';
import { type MutateListener, type MutationResults, runMutation } from '../../mutate/run.ts';
import { claimPlace, type Places } from '../../reports/format.ts';
import { mutationWriters } from '../../reports/mutation/formats.ts';
import { isFinding, isKilled, shortened } from '../../reports/mutation/report.ts';
import { type BaselineUpdate, readBaseline, writeBaseline } from '../../runner/baseline.ts';
import { columns, commandLine, type OptionTable, timeFrom } from '../options.ts';
import { interruptSignal } from '../process-end.ts';
import { VERSION } from '../version.ts';
import type { MutateArguments } from './options.ts';
import { withoutOurs } from './subjects.ts';

class Progress implements MutateListener {
  readonly onSecrets: MutateListener['onSecrets'];
  readonly #area: LiveArea;
  readonly #count = { all: 0, done: 0, killed: 0, findings: 0 };
  #since = 0;
  #saidLeft = false;

  constructor(output: Output, onSecrets: MutateListener['onSecrets']) {
    this.#area = new LiveArea(output);
    this.onSecrets = onSecrets;
  }

  onBegin: MutateListener['onBegin'] = ({ first, timeoutMs, count, jobs, expectedMs }) => {
    this.#count.all = count;
    this.#since = performance.now();
    const passed = `the tests pass on the faithful simulator in ${readableDuration(first.durationMs)}`;
    const most = `${readableDuration(timeoutMs)} at most for each`;
    this.#area.line(
      count === 0
        ? `${passed}; no other server can show in what they ask`
        : `${passed}; now ${count} others, ${jobs} at a time: ${about(expectedMs)}, ${most}`,
    );
    this.#draw();
  };

  onResult: MutateListener['onResult'] = (result) => {
    this.#count.done += 1;
    if (isKilled(result)) this.#count.killed += 1;
    if (isFinding(result)) {
      this.#count.findings += 1;
      this.#area.line(withoutCiCommands(printable(`${result.state} ${result.name}: ${result.summary}`)));
    }
    if (!this.#area.live && this.#count.done % 25 === 0) this.#area.line(this.#words());
    this.#draw();
  };

  onLeftBehind: MutateListener['onLeftBehind'] = () => {
    if (this.#saidLeft) return;
    this.#saidLeft = true;
    this.#area.line(
      'the tests have ended, but something that they started in a session of its own still runs and holds their output',
    );
  };

  end(): void {
    this.#area.clear();
  }

  #draw(): void {
    this.#area.draw([`${bar(this.#count.done, this.#count.all)} ${this.#words()}`]);
  }

  #words(): string {
    const { all, done, killed, findings } = this.#count;
    const left = done === 0 ? 0 : ((performance.now() - this.#since) / done) * (all - done);
    const when = done === 0 || done === all ? '' : ` · ${about(left)} left`;
    return `${done} of ${all} · ${killed} killed · ${findings} to look at${when}`;
  }
}

const about = (ms: number): string => `about ${readableDuration(Math.ceil(ms / 1000) * 1000)}`;

export async function runMutate(
  args: MutateArguments,
  table: OptionTable,
  sides: TestedSide,
  worldOf: (seed: number) => Promise<SubjectSource>,
): Promise<number> {
  const { stdout, stderr, env } = process;
  // Masks secrets of the environment, because tests inherit and may print it.
  const redactor = new Redactor(Object.keys(env).flatMap((name) => (isSecretName(name) && env[name]) || []));
  const say = (text: string): void => void stderr.write(withoutCiCommands(`${printable(redactor.text(text))}\n`));
  const { report: formats = [], verbose } = args;
  const places: Places = new Map();
  const write = mutationWriters(formats, { stdout, env, columns: columns(), verbose, sourceOf }, places);
  const { baseline, seed, jobs, ...timeouts } = settingsOf(args, places);
  const startedAt = new Date();
  const hide = (secrets: readonly string[]): void => {
    for (const secret of secrets) redactor.add(secret);
  };
  const progress = new Progress(stderr, hide);
  using interrupt = interruptSignal();
  const { signal } = interrupt;
  const world = await worldOf(seed);
  hide(world.secrets ?? []);
  const { command: line, setup, only, section: sections, kind, sample } = args;
  const subjects = selectedSubjects(world.subjects, defined({ only, sections, kind }));
  let found: MutationResults;
  try {
    found = await runMutation(
      { ...world, subjects },
      {
        ...defined({ setup }),
        line,
        env: withoutOurs(env),
        jobs,
        ...timeouts,
        signal,
        choose: (all) => (sample === undefined ? [...all] : sampleOf(all, sample, random(seed).next)),
        listener: progress,
      },
    ).finally(() => progress.end());
  } catch (error) {
    return exitCodeBefore(error, signal, say);
  }
  const names = world.subjects.map(({ name }) => name);
  const use = baseline && { baseline, today: new Date().toISOString().slice(0, 10), names };
  const about = {
    ...sides,
    muster: VERSION,
    command: redactor.text(line),
    repeat: redactor.text(repeatOf(args, table, sides.side, seed)),
    seed,
    started_at: startedAt.toISOString(),
    duration_ms: Date.now() - startedAt.getTime(),
    jobs,
    minScore: args['min-score'],
    kind,
  };
  const update = updateOf(args, sides, found, use, say);
  const settled = use && { ...use, baseline: update ?? use.baseline };
  const report = shortened(redactor.value(reportOf(found, about, settled, signal)));
  // Writes the report before the baseline, because the run may have taken hours.
  write(report);
  if (update !== undefined && args.baseline !== undefined) {
    writeBaseline(args.baseline, update);
    say([`baseline: ${args.baseline} adds (+), keeps (=), removes (-):`, ...update.changes].join('\n  '));
  }
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

function updateOf(
  args: MutateArguments,
  sides: TestedSide,
  { subjects, first, flaky }: MutationResults,
  use: BaselineUse | undefined,
  say: (text: string) => void,
): BaselineUpdate | undefined {
  if (use === undefined || !args['update-baseline']) return undefined;
  if (first.outcome === 'passed' && flaky === undefined) return updatedMutationBaseline(sides, subjects, use);
  say(`baseline: ${args.baseline} is left as it was, since nothing of this run holds`);
  return undefined;
}

function settingsOf(args: MutateArguments, places: Places) {
  const { baseline: path, 'update-baseline': update, 'test-timeout': each } = args;
  if (update && path === undefined) throw new UsageError('--update-baseline: needs --baseline FILE, the file to write');
  const baseline = path === undefined ? undefined : readBaseline(path, { mayBeMissing: update });
  if (path !== undefined) claimPlace(places, `--baseline ${path}`, resolve(path));
  if (update && path !== undefined) prepareFile(`--baseline ${path}`, path);
  if (args.kind === 'variant' && args['min-score'] !== undefined)
    throw new UsageError('--min-score: needs defects, which --kind variant leaves out');
  return {
    baseline,
    seed: args.seed ?? randomInt(2 ** 31),
    jobs: args.jobs ?? availableParallelism(),
    testTimeoutMs: each === undefined ? undefined : timeFrom('test-timeout', each),
    firstTimeoutMs: timeFrom('max-first', args['max-first']),
  };
}

/** Command line that repeats the tests against one server, whose name follows `--only`. */
function repeatOf(args: MutateArguments, table: OptionTable, side: string, seed: number): string {
  const kept = Object.entries(args).filter(
    ([name]) => table[name]?.group === 'Server' || name === 'command' || name === 'setup',
  );
  return `${commandLine(['mutate', side], table, Object.fromEntries(kept))} --jobs 1 --seed ${seed} --only`;
}

/** Text of the file that declares a defect, which is JavaScript in the published package; '' if it is missing. */
function sourceOf(file: string): string {
  const root = new URL('../../../', import.meta.url);
  const path = [file, file.replace(/ts$/, 'js')]
    .map((each) => fileURLToPath(new URL(each, root)))
    .find((each) => existsSync(each));
  return path === undefined ? '' : readFileSync(path, 'utf8');
}
