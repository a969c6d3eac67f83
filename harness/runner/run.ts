/** Runs a plan, within its time, and puts every result into the report. */

import { Recorder, type RequestTrace } from '../client/recorder.ts';
import { defined } from '../common/defined.ts';
import { readableDuration } from '../common/durations.ts';
import type { Redactor } from '../common/redact.ts';
import { interruptedCode } from '../common/signals.ts';
import { groupByCause } from './causes.ts';
import { coverageOf, type Demands, unmetDemands } from './coverage.ts';
import { type Declaration, differences } from './declarations.ts';
import { Forms } from './forms.ts';
import type { Plan, Planned, Tries } from './plan.ts';
import { exitCode, presentableReport, type ReplayOptions, ran, replayCommand, summarise } from './results.ts';
import { type Rounds, type RoundsOptions, runRounds } from './rounds.ts';
import { History } from './rules.ts';
import { coordinatesOf, type Replay, runCheck } from './run-check.ts';
import { Session } from './session.ts';
import type { Check, CheckResult, Outcome, ReplayOf, Report, Suite, TargetDescription, Watched } from './types.ts';
import { RunOver } from './violation.ts';

/** Follows a run while it goes on. A listener that throws changes no result and keeps no other from being called. */
export interface RunListener {
  onStart?(run: {
    checks: readonly Planned<never>[];
    suite: Suite<never>;
    /** Date of the requirement set. */
    requirements: string;
    target: TargetDescription;
    seed: number;
    /** How often each check is run. */
    repeat: number;
    /** The traffic of others is judged. */
    watched: boolean;
  }): void;
  onCheckStart?(check: Check<never>): void;
  onCheckEnd?(result: CheckResult): void;
  /** A check that failed is tried again, alone; no end of that is told. */
  onTryAgain?(check: Check<never>): void;
  /** The report is redacted. Listeners are called one after the other. */
  onEnd?(report: Report): void | Promise<void>;
}

/** What to run against which target, and who follows it. */
export interface RunOptions<Context> {
  plan: Plan<Context>;
  target: TargetDescription;
  /** Builds what a check is given, around a recorder of its own. `signal` aborts when the check has ended. */
  context(recorder: Recorder, signal: AbortSignal): Context | Promise<Context>;
  redactor: Redactor;
  seed: number;
  /** Multiplier of the runs of every property. Default: the plan's. */
  runs?: number;
  /** Muster's version, for the report. */
  version: string;
  /** Interrupts the run: what has not ended by then is blocked. A `RunOver` as its reason says why. */
  signal?: AbortSignal;
  /** Milliseconds for the whole run; what it leaves undecided is blocked. Default: 10 minutes. */
  maxTimeMs?: number;
  /** Ends the run after this many failed MUSTs. Default: never. */
  bail?: number;
  /** How often every check is run, one round after the other. Default: once. */
  repeat?: number;
  /** How often findings are tried again alone, and for how long. Default: as the plan says. */
  tries?: Tries;
  /** Whether a baseline excuses that failure, so that it does not count for `bail`. */
  excuses?(result: CheckResult): boolean;
  /** Nothing can be decided: every check is blocked with this reason. */
  unreachable?: string;
  /** What the run has to decide at least. */
  demands?: Demands;
  /** The report whose findings are run again. */
  replayOf?: ReplayOf;
  listeners?: readonly RunListener[];
  /** Gives each check its span. */
  traces?: { of(check: string): RequestTrace & { end(result: CheckResult): void } };
  /** Turns outcomes by a baseline, once all are known. */
  settle?(results: CheckResult[]): CheckResult[];
  /** Coordinates of counterexamples to run again, at most one a check. */
  replays?: readonly Replay[];
  /**
   * The command line that runs one check of this run again, for the report; undefined where nothing does. Default: the
   * shape of one.
   */
  replayCommand?(result: CheckResult): string | undefined;
  /** Goes into the report. */
  arguments?: readonly string[];
  /** The command's options as parsed, without secrets. Goes into the report, for `muster replay`. */
  options?: Report['options'];
  /** `shared` checks at once. Default 8. */
  concurrency?: number;
  /** Asks in other forms that mean the same, too, in one round. Default: where Muster asks. */
  varied?: boolean;
  /** What the rules judge. Default: what the checks of this run see. */
  history?: History;
  /** The traffic of others that is judged, and when that began: milliseconds since 1970. */
  watched?: Watched & { began: number };
}

/** Milliseconds that a run may take unless it is told otherwise. */
export const MAX_TIME_MS = 600_000;
/** One check may take this share of the run, so that others still get their turn. */
const SHARE_OF_ONE_CHECK = 0.5;

/**
 * Runs a plan of a suite and reports to the listeners.
 *
 * @returns the report, without secrets
 * @throws what a listener threw, after the report was given to all of them
 */
export async function runSuite<Context>(suite: Suite<Context>, options: RunOptions<Context>): Promise<Report> {
  const { plan, target, seed, redactor } = options;
  const sinceMs = Date.now() - (options.watched?.began ?? Date.now());
  const startedAt = new Date(Date.now() - sinceMs);
  const started = performance.now();
  const audience = new Audience(options.listeners ?? []);
  audience.tell((listener) =>
    listener.onStart?.({
      checks: plan.checks as readonly Planned<never>[],
      suite: suite as Suite<never>,
      requirements: plan.requirements.date,
      target,
      seed,
      repeat: options.repeat ?? 1,
      watched: options.watched !== undefined,
    }),
  );
  const { history = new History(plan.checks.map(({ check }) => check)) } = options;
  const session = new Session(undefined, undefined, plan.shrinkMs, history);
  const group = (given: readonly CheckResult[]): CheckResult[] => groupByCause(given, suite.checks);
  // A client is answered, and asked nothing.
  const { varied = suite.api !== 'client' } = options;
  const { results, rounds } = await runChecks({ ...options, varied, group }, audience, started, session);
  const settled = withFailing(group(options.settle?.(results) ?? results), plan as Plan<never>);
  const declarations = session.declarations.all;
  const report = presentableReport(
    redactor.value(reportOf(suite, options, settled, { declarations, rounds, startedAt, started: started - sinceMs })),
  );
  await audience.end(report);
  return report;
}

/** The listeners of a run. Their faults are kept until the report is written. */
class Audience {
  readonly #listeners: readonly RunListener[];
  readonly #failures: unknown[] = [];

  constructor(listeners: readonly RunListener[]) {
    this.#listeners = listeners;
  }

  tell(about: (listener: RunListener) => void): void {
    for (const listener of this.#listeners) {
      try {
        about(listener);
      } catch (error) {
        this.#failures.push(error);
      }
    }
  }

  /** Throws what any listener threw during the run. */
  async end(report: Report): Promise<void> {
    for (const listener of this.#listeners) {
      try {
        await listener.onEnd?.(report);
      } catch (error) {
        this.#failures.push(error);
      }
    }
    if (this.#failures.length > 1) throw new AggregateError(this.#failures, 'reports failed');
    if (this.#failures.length === 1) throw this.#failures[0];
  }
}

/** The results of all planned checks, in the order of the plan, and how many rounds came to their end. */
async function runChecks<Context>(
  options: RunOptions<Context> & Pick<RoundsOptions<Context>, 'group'>,
  audience: Audience,
  started: number,
  session: Session,
): Promise<Rounds> {
  const { plan, seed, runs = plan.runs, replays = [], maxTimeMs = MAX_TIME_MS, varied, repeat = 1 } = options;
  using end = endOfRun(options);
  return await runRounds({
    ...options,
    session,
    signal: end.signal,
    ...(varied === true && repeat === 1 && replays.length === 0 && { forms: new Forms(seed) }),
    run(check, session, { again, follows = false, form } = {}) {
      const told = check as Check<never>;
      audience.tell((one) => (again === undefined ? one.onCheckStart?.(told) : one.onTryAgain?.(told)));
      const found = again?.finding.path === undefined ? undefined : coordinatesOf(again.finding);
      const replay = found ?? replays.find((each) => each.check === check.id);
      const trace = options.traces?.of(check.id);
      const recorder = new Recorder(options.redactor, session.history.of(check.id), form, trace);
      const result = runCheck({
        check,
        recorder,
        session,
        follows,
        seed,
        runs,
        signal: again?.signal ?? end.signal,
        context: (signal) => options.context(recorder, signal),
        limitMs: maxTimeMs * SHARE_OF_ONE_CHECK,
        deadline: started + maxTimeMs,
        ...defined({ replay }),
      });
      if (trace !== undefined) void result.then(trace.end);
      return result;
    },
    tell(result) {
      audience.tell((listener) => listener.onCheckEnd?.(result));
      end.count(result);
    },
  });
}

/** Ends a run when it is interrupted, its time is over, or enough has failed. Disposing of it stops the clock. */
function endOfRun({
  signal,
  maxTimeMs = MAX_TIME_MS,
  bail = Number.POSITIVE_INFINITY,
  excuses = () => false,
}: Pick<RunOptions<never>, 'signal' | 'maxTimeMs' | 'bail' | 'excuses'>) {
  const over = new AbortController();
  const reason = new RunOver(`not decided within ${readableDuration(maxTimeMs)}; --max-time gives the run more`);
  const timer = setTimeout(() => over.abort(reason), maxTimeMs);
  const failed = new Set<string>();
  return {
    signal: signal === undefined ? over.signal : AbortSignal.any([signal, over.signal]),
    count: (result: CheckResult): void => {
      if (result.outcome !== 'fail' || excuses(result)) return;
      failed.add(result.id);
      if (failed.size >= bail) over.abort(new RunOver(`not run to its end: --bail ${bail}`));
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}

/** How a run went. */
interface Course {
  declarations: Declaration[];
  /** Those that came to their end. */
  rounds: number;
  startedAt: Date;
  started: number;
}

function reportOf<Context>(
  suite: Suite<Context>,
  options: RunOptions<Context>,
  results: readonly CheckResult[],
  { declarations, rounds, startedAt, started }: Course,
): Report {
  const { plan, seed, signal, target, repeat = 1 } = options;
  const summary = summarise(results);
  const coverage = coverageOf(plan, results, target.capabilities);
  const ofProfile = coverageOf(plan, results, target.capabilities, { ofProfile: true });
  const unmet = [
    ...unmetDemands(options.demands ?? {}, coverage, target.capabilities),
    ...(repeat > 1 && rounds < repeat ? [`--repeat ${repeat}: the run ended in round ${rounds + 1}`] : []),
  ];
  const isWhole = plan.narrowedBy.length > 0 || ofProfile.undecided.length === 0;
  const interrupted = signal?.aborted === true && !(signal.reason instanceof RunOver);
  const code = exitCode(results, {
    faulty: signal?.reason instanceof RunOver && signal.reason.fault,
    lacking: !isWhole || unmet.length + differences(declarations).length > 0,
  });
  const shape: ReplayOptions = { command: `muster check ${suite.api} …`, seed };
  const replay = options.replayCommand ?? ((result) => replayCommand(shape, result));
  return {
    muster: options.version,
    api: suite.api,
    seed,
    target,
    profile: plan.profile.name,
    requirements_version: plan.requirements.date,
    requirements_digest: plan.requirements.digest,
    ...(repeat > 1 ? { repeat } : {}),
    narrowed_by: plan.narrowedBy,
    complete:
      plan.narrowedBy.length === 0 &&
      isWhole &&
      summary.blocked === 0 &&
      unmet.length === 0 &&
      signal?.aborted !== true &&
      ran(summary) > 0,
    started_at: startedAt.toISOString(),
    duration_ms: Math.round(performance.now() - started),
    ...(options.arguments === undefined ? {} : { arguments: [...options.arguments] }),
    ...defined({ options: options.options }),
    exit_code: interrupted ? interruptedCode(signal) : code,
    summary,
    coverage,
    profile_coverage: ofProfile,
    ...(unmet.length === 0 ? {} : { unmet }),
    declarations,
    ...defined({ unreachable: options.unreachable }),
    ...(interrupted ? { interrupted: true } : {}),
    ...defined({ replay_of: options.replayOf, watched: watchedIn(options) }),
    checks: results.map((result) =>
      WORTH_REPLAYING.has(result.outcome) ? { ...result, ...defined({ replay_command: replay(result) }) } : result,
    ),
  };
}

function watchedIn({ watched }: Pick<RunOptions<never>, 'watched'>): Watched | undefined {
  if (watched === undefined) return undefined;
  const { began: _, ...seen } = watched;
  return seen;
}

/** Marks the warnings for which the run fails. */
function withFailing(results: readonly CheckResult[], { checks }: Plan<never>): readonly CheckResult[] {
  const by = new Map(checks.map(({ check, failsBy }) => [check.id, failsBy]));
  return results.map((result) =>
    result.outcome === 'warn' ? { ...result, ...defined({ fails_by: by.get(result.id) }) } : result,
  );
}

const WORTH_REPLAYING: ReadonlySet<Outcome> = new Set(['fail', 'warn', 'blocked', 'known', 'flaky']);
