/** Runs a plan, within its time, and puts every result into the report. */

import { Recorder } from '../client/recorder.ts';
import type { Redactor } from '../client/redact.ts';
import { defined } from '../common/defined.ts';
import { readableDuration } from '../common/durations.ts';
import { groupByCause } from './causes.ts';
import { coverageOf, type Demands, unmetDemands } from './coverage.ts';
import { type Declaration, differences } from './declarations.ts';
import { isNamed, type Plan, type Planned, schedule } from './plan.ts';
import { exitCode, presentableReport, type ReplayOptions, ran, replayCommand, resultOf, summarise } from './results.ts';
import { type Replay, runCheck, whyOver } from './run-check.ts';
import { Session } from './session.ts';
import type { Check, CheckResult, Outcome, ReplayOf, Report, Suite, TargetDescription } from './types.ts';
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
  }): void;
  onCheckStart?(check: Check<never>): void;
  onCheckEnd?(result: CheckResult): void;
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
  /** SHOULDs for which the run fails, as `--fail-on` names them. */
  failOn?: readonly string[];
  /** Muster's version, for the report. */
  version: string;
  /** Interrupts the run: what has not ended by then is blocked. A `RunOver` as its reason says why. */
  signal?: AbortSignal;
  /** Milliseconds for the whole run; what it leaves undecided is blocked. Default: 10 minutes. */
  maxTimeMs?: number;
  /** Ends the run after this many failed MUSTs. Default: never. */
  bail?: number;
  /** Whether a baseline excuses that failure, so that it does not count for `bail`. */
  excuses?(result: CheckResult): boolean;
  /** Nothing can be decided: every check is blocked with this reason. */
  unreachable?: string;
  /** What the run has to decide at least. */
  demands?: Demands;
  /** The report whose findings are run again. */
  replayOf?: ReplayOf;
  listeners?: readonly RunListener[];
  /** Turns outcomes by a baseline, once all are known. */
  settle?(results: CheckResult[]): CheckResult[];
  /** Coordinates of counterexamples to run again, at most one a check. */
  replays?: readonly Replay[];
  /** The command line that runs one check of this run again, for the report. Default: the shape of one. */
  replayCommand?(result: CheckResult): string;
  /** Goes into the report. */
  arguments?: readonly string[];
  /** The command's options as parsed, without secrets. Goes into the report, for `muster replay`. */
  options?: Report['options'];
  /** `shared` checks at once. Default 8. */
  concurrency?: number;
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
  const startedAt = new Date();
  const started = performance.now();
  const audience = new Audience(options.listeners ?? []);
  audience.tell((listener) =>
    listener.onStart?.({
      checks: plan.checks as readonly Planned<never>[],
      suite: suite as Suite<never>,
      requirements: plan.requirements.date,
      target,
      seed,
    }),
  );
  const session = new Session();
  const results = await runChecks(options, audience, started, session);
  const settled = withFailing(groupByCause(options.settle?.(results) ?? results, suite.checks), options);
  const declarations = session.declarations.all;
  const report = presentableReport(redactor.value(reportOf(suite, options, settled, declarations, startedAt, started)));
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

/** The results of all planned checks, in the order of the plan. */
async function runChecks<Context>(
  options: RunOptions<Context>,
  audience: Audience,
  started: number,
  session: Session,
): Promise<CheckResult[]> {
  const { plan, unreachable, maxTimeMs = MAX_TIME_MS } = options;
  using end = endOfRun(options);
  const results = new Map<string, CheckResult>();
  const settle = (result: CheckResult): CheckResult => {
    results.set(result.id, result);
    audience.tell((listener) => listener.onCheckEnd?.(result));
    end.count(result);
    return result;
  };
  const runOne = async (check: Check<Context>, premises: readonly CheckResult[]): Promise<CheckResult> => {
    if (end.signal.aborted) return settle(undecided(check, 'blocked', whyOver(end.signal)));
    const cause = essentialAmong(premises, plan);
    if (cause !== undefined)
      return settle(undecided(check, 'blocked', { reason: `blocked by ${cause}`, blocked_by: cause }));
    audience.tell((listener) => listener.onCheckStart?.(check as Check<never>));
    const recorder = new Recorder(options.redactor);
    const { seed, runs = options.plan.runs, replays = [] } = options;
    const replay = replays.find((each) => each.check === check.id);
    const result = await runCheck({
      check,
      recorder,
      session,
      seed,
      runs,
      signal: end.signal,
      context: (signal) => options.context(recorder, signal),
      limitMs: maxTimeMs * SHARE_OF_ONE_CHECK,
      deadline: started + maxTimeMs,
      ...defined({ replay }),
    });
    const { deviation } = check;
    if (deviation === undefined || result.outcome !== 'fail') return settle(result);
    session.deviations.set(deviation, check.requirement.id);
    return settle({ ...result, deviation });
  };
  const due: Check<Context>[] = [];
  for (const { check, skip } of plan.checks) {
    if (skip !== undefined) settle(undecided(check, 'not_applicable', { reason: skip }));
    else if (unreachable !== undefined && check.runsWhenUnreachable !== true)
      settle(undecided(check, 'blocked', { reason: unreachable }));
    else due.push(check);
  }
  await schedule(due, options.concurrency ?? 8, runOne);
  return plan.checks.flatMap(({ check, inProfile }) => {
    const result = results.get(check.id);
    return result === undefined ? [] : { ...result, ...(inProfile && { in_profile: true }) };
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
  let failed = 0;
  return {
    signal: signal === undefined ? over.signal : AbortSignal.any([signal, over.signal]),
    count: (result: CheckResult): void => {
      if (result.outcome !== 'fail' || excuses(result)) return;
      failed += 1;
      if (failed >= bail) over.abort(new RunOver(`not run to its end: --bail ${bail}`));
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}

/** The failed check without which nothing can be asked: one of the premises, or what has blocked one of them. */
function essentialAmong(premises: readonly CheckResult[], { checks }: Plan<never>): string | undefined {
  const isEssential = (id: string): boolean => checks.some(({ check }) => check.id === id && check.essential === true);
  for (const { id, outcome, blocked_by } of premises) {
    if (outcome === 'fail' && isEssential(id)) return id;
    if (blocked_by !== undefined) return blocked_by;
  }
  return undefined;
}

const undecided = (
  check: Check<never>,
  outcome: 'blocked' | 'not_applicable',
  why: Pick<CheckResult, 'reason' | 'blocked_by' | 'fault'>,
): CheckResult => resultOf(check, { outcome, duration_ms: 0, ...why });

function reportOf<Context>(
  suite: Suite<Context>,
  options: RunOptions<Context>,
  results: readonly CheckResult[],
  declarations: Declaration[],
  startedAt: Date,
  started: number,
): Report {
  const { plan, seed, signal, target } = options;
  const summary = summarise(results);
  const coverage = coverageOf(plan, results, target.capabilities);
  const ofProfile = coverageOf(plan, results, target.capabilities, { ofProfile: true });
  const unmet = unmetDemands(options.demands ?? {}, coverage, target.capabilities);
  const isWhole = plan.narrowedBy.length > 0 || ofProfile.undecided.length === 0;
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
    exit_code: code,
    summary,
    coverage,
    profile_coverage: ofProfile,
    ...(unmet.length === 0 ? {} : { unmet }),
    declarations,
    ...defined({ unreachable: options.unreachable }),
    ...(signal?.aborted === true && !(signal.reason instanceof RunOver) ? { interrupted: true } : {}),
    ...defined({ replay_of: options.replayOf }),
    checks: results.map((result) =>
      WORTH_REPLAYING.has(result.outcome) ? { ...result, replay_command: replay(result) } : result,
    ),
  };
}

/** Marks the warnings for which the run fails: by `--fail-on`, or since the profile holds to what protects others. */
function withFailing<Context>(
  results: readonly CheckResult[],
  { plan, failOn = [] }: RunOptions<Context>,
): readonly CheckResult[] {
  const isHeld = ({ check, inProfile }: Planned<never>): boolean => inProfile && check.requirement.protective === true;
  const held = new Set((plan.checks as Planned<never>[]).filter(isHeld).map(({ check }) => check.id));
  return results.map((result) => {
    if (result.outcome !== 'warn') return result;
    const named = failOn.find((pattern) => isMeant(pattern, result));
    const by = named !== undefined ? `--fail-on should${named === '*' ? '' : `=${named}`}` : undefined;
    const fails = by ?? (held.has(result.id) ? `profile ${plan.profile.name}` : undefined);
    return fails === undefined ? result : { ...result, fails_by: fails };
  });
}

/** Whether a pattern of `--fail-on should=…` means a result: a section, or an id as `--only` takes it. */
const isMeant = (pattern: string, { id, requirement_id: of, section }: CheckResult): boolean =>
  pattern === section || section.startsWith(`${pattern}.`) || isNamed(pattern, id, of);

const WORTH_REPLAYING: ReadonlySet<Outcome> = new Set(['fail', 'warn', 'blocked', 'known', 'flaky']);
