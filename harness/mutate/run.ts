/**
 * Runs the user's tests on the faithful server, then on each wrong and each other legal one, several at a time, and
 * says what came of it.
 */
import { inParallel } from '../common/parallel.ts';
import { printable } from '../common/terminal.ts';
import type { MutationState, MutationSubject } from '../reports/mutation/report.ts';
import { ordered } from './plan.ts';
import type { Server, Subject, Traffic, World } from './subject.ts';
import { type Ended, runTests } from './tests.ts';

/** What the tests have at least; more, where they take long on the faithful server. */
const LEAST_TIMEOUT_MS = 10_000;
const TIMES_THE_FIRST = 5;
/** A variant may be slow, and slow is not wrong: the tests have at least so long on one. */
const LEAST_ON_VARIANT_MS = 60_000;

export interface MutateOptions {
  readonly line: string;
  readonly setup?: string | undefined;
  /** Runs of the tests at a time. */
  readonly jobs: number;
  /** Of one run; undefined: by the first one. */
  readonly testTimeoutMs: number | undefined;
  readonly firstTimeoutMs: number;
  readonly signal: AbortSignal;
  /** Those that are to run first. */
  readonly first: ReadonlySet<string>;
  /** Chooses among those that the tests can see. */
  choose(subjects: readonly Subject[]): Subject[];
  readonly listener: MutateListener;
}

export interface MutateListener {
  /** A server is up: what must not be shown of it. */
  onSecrets(secrets: readonly string[]): void;
  /** The tests have passed on the faithful server. `count`: of servers that come now. */
  onBegin(first: Ended, timeoutMs: number, count: number): void;
  onResult(result: MutationSubject): void;
}

/** All that was found. */
export interface Found {
  readonly first: Ended;
  readonly traffic: Traffic;
  readonly subjects: readonly MutationSubject[];
  readonly testTimeoutMs: number | undefined;
  /** How they failed on the faithful server after they had passed. */
  readonly flaky: string | undefined;
}

/** Resolves with what there is also when the signal ends it; rejects with its reason before the first run is over. */
export async function mutate(world: World, options: MutateOptions): Promise<Found> {
  const { signal, listener } = options;
  const { first, traffic } = await firstRun(world, options);
  const all = (state: MutationState, reason?: string) => world.subjects.map((subject) => told(subject, state, reason));
  if (first.outcome !== 'passed')
    return { first, traffic, subjects: all('not_run'), testTimeoutMs: undefined, flaky: undefined };
  const testTimeoutMs = options.testTimeoutMs ?? Math.max(LEAST_TIMEOUT_MS, TIMES_THE_FIRST * first.durationMs);
  const results = new Map<Subject, MutationSubject>();
  for (const subject of world.subjects) {
    const reason = traffic.unseen(subject);
    if (reason !== undefined) results.set(subject, told(subject, 'never_asked', reason));
  }
  const chosen = options.choose(world.subjects.filter((subject) => !results.has(subject)));
  listener.onBegin(first, testTimeoutMs, chosen.length);
  const run: Run = (server, kind) => {
    const timeoutMs = kind === 'variant' ? Math.max(testTimeoutMs, LEAST_ON_VARIANT_MS) : testTimeoutMs;
    return runTests(server, { ...commandOf(options), timeoutMs, signal });
  };
  let flaky = await together(world, options, run);
  if (flaky === undefined)
    await untilAborted(signal, async () => {
      await inParallel(ordered(chosen, options.first), options.jobs, async (subject) => {
        if (signal.aborted) return;
        const result = await meet(subject, run, listener, signal);
        results.set(subject, result);
        if (result.state !== 'not_run') listener.onResult(result);
      });
      // Once more at the end: tests that fail now and then have killed by chance.
      flaky = await once(world, listener, run);
    });
  const subjects = world.subjects.map((subject) => results.get(subject) ?? told(subject, 'not_run'));
  return { first, traffic, subjects, testTimeoutMs, flaky };
}

const commandOf = ({ line, setup }: MutateOptions) => ({ line, ...(setup === undefined ? {} : { setup }) });

async function firstRun(world: World, options: MutateOptions): Promise<Pick<Found, 'first' | 'traffic'>> {
  await using server = await world.faithful();
  options.listener.onSecrets(server.secrets);
  const { firstTimeoutMs, testTimeoutMs: timeoutMs = firstTimeoutMs, signal } = options;
  const first = await runTests(server, { ...commandOf(options), timeoutMs, signal });
  return { first, traffic: server.traffic };
}

type Run = (server: Server, kind?: Subject['kind']) => Promise<Ended>;

/** Whether as many at a time as are going to run pass on faithful servers, each on its own; if not, how one failed. */
async function together(
  world: World,
  { jobs, signal, listener }: MutateOptions,
  run: Run,
): Promise<string | undefined> {
  if (jobs === 1) return undefined;
  const failed: string[] = [];
  await untilAborted(signal, () =>
    inParallel(Array(jobs).fill(0), jobs, async () => {
      const how = await once(world, listener, run);
      if (how !== undefined) failed.push(how);
    }),
  );
  const [how] = failed;
  return how && `${how}, on the faithful server with ${jobs} of them at a time: give --jobs 1 if they share something`;
}

/** How the tests failed on the faithful server; undefined when they passed. */
async function once(world: World, { onSecrets }: MutateListener, run: Run): Promise<string | undefined> {
  await using server = await world.faithful();
  onSecrets(server.secrets);
  const { outcome, how, wrote } = await run(server);
  return outcome === 'passed' ? undefined : `the tests ${how}${wrote === '' ? '' : `: ${lastLine(wrote)}`}`;
}

const lastLine = (text: string): string => printable(text.trim().split('\n').at(-1) ?? '');

/** Swallows the abort alone. */
async function untilAborted(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error;
  }
}

/** What becomes of the tests on it. Brittle is only what fails twice: it accuses tests that may have been unlucky. */
async function meet(
  subject: Subject,
  run: Run,
  listener: MutateListener,
  signal: AbortSignal,
): Promise<MutationSubject> {
  const first = await meetOnce(subject, run, listener, signal);
  if (first.state !== 'brittle') return first;
  const second = await meetOnce(subject, run, listener, signal);
  return second.state === 'accepted' ? { ...second, reason: `the tests failed once of twice: ${first.how}` } : second;
}

async function meetOnce(
  subject: Subject,
  run: Run,
  { onSecrets }: MutateListener,
  signal: AbortSignal,
): Promise<MutationSubject> {
  let server: Server;
  try {
    server = await subject.start();
  } catch (error) {
    return told(subject, 'blocked', error instanceof Error ? error.message : String(error));
  }
  onSecrets(server.secrets);
  try {
    const end = await run(server, subject.kind);
    const state = stateOf(subject, end);
    const isFinding = state === 'survived' || state === 'brittle';
    return {
      ...told(subject, state),
      duration_ms: Math.round(end.durationMs),
      how: end.how,
      ...(isFinding && end.wrote !== '' ? { wrote: end.wrote } : {}),
    };
  } catch (error) {
    if (signal.aborted && error === signal.reason) return told(subject, 'not_run');
    throw error;
  } finally {
    // A defect may keep a server from ending as it should: it has had its say.
    await ended(server);
  }
}

async function ended(server: Server): Promise<void> {
  try {
    await server[Symbol.asyncDispose]();
  } catch {
    // Nothing is known of the tests by that.
  }
}

function stateOf({ kind }: Subject, { outcome }: Ended): MutationState {
  if (kind === 'variant') return outcome === 'passed' ? 'accepted' : 'brittle';
  if (outcome === 'timed_out') return 'timed_out';
  return outcome === 'passed' ? 'survived' : 'killed';
}

function told(subject: Subject, state: MutationState, reason?: string): MutationSubject {
  const { name, kind, section, summary, requirements, file, byHand } = subject;
  return {
    name,
    kind,
    state,
    section,
    summary,
    requirements: [...requirements],
    file,
    by_hand: byHand,
    ...(reason === undefined ? {} : { reason }),
  };
}
