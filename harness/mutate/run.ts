/** Runs the user's tests against a correct server, then against each defect and variant. */
import { setTimeout as delay } from 'node:timers/promises';
import { errorOf } from '../client/errors.ts';
import { defined } from '../common/defined.ts';
import { inParallel } from '../common/parallel.ts';
import { printable } from '../common/terminal.ts';
import { readableDuration } from '../common/units.ts';
import type { MutationState, MutationSubject } from '../reports/mutation/report.ts';
import { ProcessGroup } from '../targets/launch/process.ts';
import { inSectionOrder, type Server, type Subject, type SubjectSource } from './plan.ts';

/** Pause between SIGTERM and SIGKILL for the tests. */
const GRACE_MS = 2000;
const KEPT_CHARACTERS = 8000;
const LAST_LINES = 30;

interface Ended {
  readonly outcome: 'passed' | 'failed' | 'timed_out';
  readonly how: string;
  readonly durationMs: number;
  readonly wrote: string;
  /** True if a process in a session of its own still holds the output open. */
  readonly leftBehind: boolean;
}

/**
 * Runs setup and tests within `timeoutMs` in total; ends all their processes, except those in a session of their own.
 * Rejects with the reason of the signal.
 */
async function runTests(server: Server, options: MutateOptions, timeoutMs: number): Promise<Ended> {
  const { setup, line, env, signal, listener } = options;
  const started = performance.now();
  const lines = [{ where: '', were: 'were', text: line }];
  if (setup !== undefined) lines.unshift({ where: 'failed in --setup, which ', were: 'was', text: setup });
  let leftBehind = false;
  for (const { where, were, text } of lines) {
    const left = timeoutMs - (performance.now() - started);
    const ended = await runLine(text, { ...env, ...server.env }, left, signal);
    signal.throwIfAborted();
    const durationMs = performance.now() - started;
    leftBehind ||= ended.leftBehind;
    const hasPassed = ended.how !== undefined && ended.code === 0;
    if (hasPassed && where !== '') continue;
    if (leftBehind) listener.onLeftBehind();
    const how = where + (ended.how ?? `${were} not over within ${readableDuration(timeoutMs)}`);
    const outcome = hasPassed ? 'passed' : ended.how === undefined ? 'timed_out' : 'failed';
    return { outcome, how, durationMs, wrote: ended.wrote, leftBehind };
  }
  throw new Error('no tests to run');
}

/** `how` is undefined if the line exceeds the time limit. */
async function runLine(
  line: string,
  env: Readonly<Record<string, string | undefined>>,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<{ how: string | undefined; code: number | undefined; wrote: string; leftBehind: boolean }> {
  const group = new ProcessGroup(line, env, { graceMs: GRACE_MS, keptCharacters: KEPT_CHARACTERS });
  const bell = new AbortController();
  const late = delay(Math.max(0, timeoutMs), undefined, { signal: AbortSignal.any([bell.signal, signal]) });
  await Promise.race([group.exited, late.catch(() => {})]);
  bell.abort();
  const { how, code } = group;
  // The processes of the tests must not reach the next server.
  await group.stop();
  const last = [group.stdout, group.stderr].map((text) => text.trim().split('\n').slice(-LAST_LINES).join('\n'));
  return { how, code, wrote: last.filter((text) => text !== '').join('\n'), leftBehind: group.leftBehind };
}

/** Least time limit of a test run in milliseconds; TIMES_THE_FIRST times the first run, if that takes longer. */
const LEAST_TIMEOUT_MS = 10_000;
const TIMES_THE_FIRST = 5;
/** Number of subjects after which the tests must pass on the correct server again, to find flaky tests early. */
const GUARD_EVERY = 25;

export interface MutateOptions {
  readonly line: string;
  readonly setup?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly jobs: number;
  /** Limit of one run of the tests; undefined derives the limit from the first run. */
  readonly testTimeoutMs: number | undefined;
  readonly firstTimeoutMs: number;
  readonly signal: AbortSignal;
  choose(subjects: readonly Subject[]): Subject[];
  readonly listener: MutateListener;
}

export interface MutateListener {
  onSecrets(secrets: readonly string[]): void;
  onBegin(begin: RunEstimate): void;
  onResult(result: MutationSubject): void;
  onLeftBehind(): void;
}

export interface RunEstimate {
  readonly first: Ended;
  readonly timeoutMs: number;
  readonly count: number;
  readonly jobs: number;
  readonly expectedMs: number;
}

export interface MutationResults {
  readonly first: Ended;
  readonly subjects: readonly MutationSubject[];
  readonly testTimeoutMs: number | undefined;
  /** Reason why the results are invalid, e.g. the tests later failed on the correct server. */
  readonly flaky: string | undefined;
}

/** Resolves with the results so far after an abort, but rejects if the abort comes during the first run. */
export async function runMutation(world: SubjectSource, options: MutateOptions): Promise<MutationResults> {
  const { listener } = options;
  const { first, taken } = await firstRun(world, options);
  const notRun = () => world.subjects.map((subject) => resultOf(subject, 'not_run'));
  if (first.outcome !== 'passed') return { first, subjects: notRun(), testTimeoutMs: undefined, flaky: undefined };
  const testTimeoutMs = options.testTimeoutMs ?? Math.max(LEAST_TIMEOUT_MS, TIMES_THE_FIRST * first.durationMs);
  const results = new Map<Subject, MutationSubject>();
  for (const subject of world.subjects) {
    const { decisions } = subject;
    if (decisions.length === 0 || decisions.some((decision) => taken.has(decision))) continue;
    const reason = `nothing that the tests did called for what it changes (${decisions.join(', ')})`;
    results.set(subject, resultOf(subject, 'never_asked', reason));
  }
  const chosen = options.choose(world.subjects.filter((subject) => !results.has(subject)));
  const count = chosen.length;
  const jobs = Math.min(options.jobs, count);
  const ofFaithful = Math.ceil(count / GUARD_EVERY) + (jobs > 1 ? jobs : 0);
  const expectedMs = count === 0 ? 0 : ((count + ofFaithful) * first.durationMs) / jobs;
  listener.onBegin({ first, timeoutMs: testTimeoutMs, count, jobs, expectedMs });
  // Gives a variant at least 60 s by default, because a slow variant is correct.
  const onVariant = options.testTimeoutMs ?? Math.max(testTimeoutMs, 60_000);
  const run: Running['run'] = (server, kind) =>
    runTests(server, options, kind === 'variant' ? onVariant : testTimeoutMs);
  const flaky = chosen.length === 0 ? undefined : await runOnSubjects(world, chosen, results, { ...options, run });
  const subjects = world.subjects.map((subject) => results.get(subject) ?? resultOf(subject, 'not_run'));
  return { first, subjects, testTimeoutMs, flaky };
}

interface Running extends MutateOptions {
  run(server: Server, kind?: Subject['kind']): Promise<Ended>;
}

async function runOnSubjects(
  world: SubjectSource,
  chosen: readonly Subject[],
  results: Map<Subject, MutationSubject>,
  options: Running,
): Promise<string | undefined> {
  const { signal, listener } = options;
  const jobs = Math.min(options.jobs, chosen.length);
  let flaky = await flakyInParallel(world, { ...options, jobs });
  if (flaky !== undefined) return flaky;
  let done = 0;
  await untilAborted(signal, async () => {
    await inParallel(inSectionOrder(chosen), jobs, async (subject) => {
      if (signal.aborted || flaky !== undefined) return;
      const result = await runOnSubjectTwice(subject, options);
      results.set(subject, result);
      if (result.state !== 'not_run') listener.onResult(result);
      done += 1;
      if (done % GUARD_EVERY !== 0 || done === chosen.length) return;
      const how = await flakyOnFaithful(world, options);
      flaky ??= how;
    });
    // Runs the tests on the correct server once more, because flaky tests may have killed defects by chance.
    flaky ??= await flakyOnFaithful(world, options);
  });
  return flaky;
}

async function firstRun(world: SubjectSource, options: MutateOptions) {
  await using server = await world.faithful(options.signal);
  options.listener.onSecrets(server.secrets);
  const first = await runTests(server, options, options.firstTimeoutMs);
  return { first, taken: server.taken };
}

async function flakyInParallel(world: SubjectSource, options: Running): Promise<string | undefined> {
  const { jobs, signal } = options;
  if (jobs === 1) return undefined;
  const failed: string[] = [];
  await untilAborted(signal, () =>
    inParallel(Array(jobs).fill(0), jobs, async () => {
      const how = await flakyOnFaithful(world, options);
      if (how !== undefined) failed.push(how);
    }),
  );
  const [how] = failed;
  return how && `${how}, with ${jobs} of them at a time: give --jobs 1 if they share something`;
}

async function flakyOnFaithful(world: SubjectSource, { signal, listener, run }: Running): Promise<string | undefined> {
  let faithful: Server;
  try {
    faithful = await world.faithful(signal);
  } catch (error) {
    if (signal.aborted && error === signal.reason) throw error;
    // Returns the error as text, so that Muster still reports the results so far.
    return `the faithful server could not be started again: ${errorOf(error).message}`;
  }
  await using server = faithful;
  listener.onSecrets(server.secrets);
  const { outcome, how, wrote } = await run(server);
  if (outcome === 'passed') return undefined;
  const said = wrote === '' ? '' : `: ${printable(wrote.trim().split('\n').at(-1) ?? '')}`;
  return `the tests passed on the faithful server at first, and later ${how}${said}`;
}

async function untilAborted(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error;
  }
}

/** Only two failures on a variant show that the tests are too strict. */
async function runOnSubjectTwice(subject: Subject, options: Running): Promise<MutationSubject> {
  const first = await runOnSubject(subject, options);
  if (first.state !== 'brittle') return first;
  const second = await runOnSubject(subject, options);
  return second.state === 'accepted' ? { ...second, reason: `the tests failed once of twice: ${first.how}` } : second;
}

async function runOnSubject(subject: Subject, { signal, listener, run }: Running): Promise<MutationSubject> {
  let server: Server;
  try {
    server = await subject.start(signal);
  } catch (error) {
    if (signal.aborted && error === signal.reason) return resultOf(subject, 'not_run');
    return resultOf(subject, 'blocked', errorOf(error).message);
  }
  listener.onSecrets(server.secrets);
  try {
    const end = await run(server, subject.kind);
    const state = STATES[subject.kind][end.outcome];
    return {
      ...resultOf(subject, state),
      duration_ms: Math.round(end.durationMs),
      how: end.how,
      ...(state !== 'accepted' && end.wrote !== '' && { wrote: end.wrote }),
    };
  } catch (error) {
    if (signal.aborted && error === signal.reason) return resultOf(subject, 'not_run');
    throw error;
  } finally {
    // A defect may cause an error while the server stops.
    await Promise.resolve(server[Symbol.asyncDispose]()).catch(() => {});
  }
}

const STATES = {
  defect: { passed: 'survived', failed: 'killed', timed_out: 'timed_out' },
  variant: { passed: 'accepted', failed: 'brittle', timed_out: 'brittle' },
} as const satisfies Record<Subject['kind'], Record<Ended['outcome'], MutationState>>;

function resultOf(subject: Subject, state: MutationState, reason?: string): MutationSubject {
  const { name, kind, section, summary, requirements, file, byHand } = subject;
  return { name, kind, state, section, summary, requirements, file, by_hand: byHand, ...defined({ reason }) };
}
