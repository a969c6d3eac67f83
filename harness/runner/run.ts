/** Runs a plan: checks that can share the target run at once, the others one at a time, and every result goes into the report. */
import { Recorder } from '../client/recorder.ts';
import type { Redactor } from '../client/redact.ts';
import type { Plan, Planned } from './plan.ts';
import { CHECK_LIMIT_MS, type Replay, runCheck } from './run-check.ts';
import { exitCode, type ReplayOptions, ran, replayCommand, summarise } from './summary.ts';
import type { Check, CheckResult, Outcome, Report, Suite, TargetDescription } from './types.ts';

/** Follows a run while it goes on. */
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
  /** The report is redacted. Listeners are called one after the other; one that throws keeps no other from being called. */
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
  /** Multiplier of the runs of every property. Default 1. */
  runs?: number;
  profile?: string;
  /** Muster's version, for the report. */
  version: string;
  /** Interrupts the run: what has not ended by then is blocked. */
  signal?: AbortSignal;
  /** Nothing can be decided: every check is blocked with this reason. */
  unreachable?: string;
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
  clock?: () => Date;
}

/**
 * Runs a plan of a suite and reports to the listeners.
 *
 * @returns the report, without secrets
 * @throws what a listener threw at the end, after all of them were called
 */
export async function runSuite<Context>(suite: Suite<Context>, options: RunOptions<Context>): Promise<Report> {
  const { plan, target, seed, listeners = [], redactor } = options;
  const startedAt = options.clock?.() ?? new Date();
  const started = performance.now();
  for (const listener of listeners) {
    listener.onStart?.({
      checks: plan.checks as readonly Planned<never>[],
      suite: suite as Suite<never>,
      requirements: plan.requirements.date,
      target,
      seed,
    });
  }
  const results = await runChecks(options, options.signal ?? new AbortController().signal);
  const report = redactor.value(reportOf(suite, options, options.settle?.(results) ?? results, startedAt, started));
  await end(listeners, report);
  return report;
}

/** The results of all planned checks, in the order of the plan. */
async function runChecks<Context>(options: RunOptions<Context>, interrupt: AbortSignal): Promise<CheckResult[]> {
  const { plan, unreachable, listeners = [] } = options;
  const results = new Map<string, CheckResult>();
  const settle = (result: CheckResult): void => {
    results.set(result.id, result);
    for (const listener of listeners) listener.onCheckEnd?.(result);
  };
  const runOne = async (check: Check<Context>): Promise<void> => {
    if (interrupt.aborted) return settle(undecided(check, 'blocked', 'interrupted'));
    for (const listener of listeners) listener.onCheckStart?.(check as Check<never>);
    const recorder = new Recorder(options.redactor);
    const over = new AbortController();
    try {
      const context = await options.context(recorder, AbortSignal.any([interrupt, over.signal]));
      const { seed, runs = 1, replays = [] } = options;
      const replay = replays.find((each) => each.check === check.id);
      const run = { check, context, recorder, seed, runs, signal: interrupt, limitMs: CHECK_LIMIT_MS };
      settle(await runCheck(replay === undefined ? run : { ...run, replay }));
    } catch (error) {
      settle(undecided(check, 'blocked', error instanceof Error ? error.message : String(error)));
    } finally {
      // Streams that a check left open end with it.
      over.abort();
    }
  };
  const due: Check<Context>[] = [];
  for (const { check, skip } of plan.checks) {
    if (skip !== undefined) settle(undecided(check, 'not_applicable', skip));
    else if (unreachable !== undefined && check.runsWhenUnreachable !== true)
      settle(undecided(check, 'blocked', unreachable));
    else due.push(check);
  }
  await schedule(due, options.concurrency ?? 8, runOne);
  return plan.checks.map(({ check }) => results.get(check.id) ?? undecided(check, 'blocked', 'interrupted'));
}

/** Slow checks and `concurrency` shared ones at once, beside them one exclusive check at a time; disruptive ones alone at the end. */
async function schedule<Context>(
  checks: readonly Check<Context>[],
  concurrency: number,
  runOne: (check: Check<Context>) => Promise<void>,
): Promise<void> {
  const lane = ({ sharing = 'shared', slow = false }: Check<Context>): string =>
    sharing === 'shared' && slow ? 'slow' : sharing;
  const lanes = Map.groupBy(checks, lane);
  await Promise.all([
    ...(lanes.get('slow') ?? []).map(runOne),
    pool(lanes.get('shared') ?? [], concurrency, runOne),
    pool(lanes.get('exclusive') ?? [], 1, runOne),
  ]);
  await pool(lanes.get('disruptive') ?? [], 1, runOne);
}

async function pool<T>(items: readonly T[], width: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: Math.min(width, items.length) }, async () => {
      for (const item of queue) await work(item);
    }),
  );
}

function undecided<Context>(check: Check<Context>, outcome: 'blocked' | 'not_applicable', reason: string): CheckResult {
  const { requirement } = check;
  return {
    id: check.id,
    level: requirement.level,
    section: requirement.section,
    requirement: requirement.text,
    requirement_id: requirement.id,
    outcome,
    duration_ms: 0,
    reason,
    ...(check.needs === undefined ? {} : { needs: [...check.needs] }),
  };
}

function reportOf<Context>(
  suite: Suite<Context>,
  options: RunOptions<Context>,
  results: readonly CheckResult[],
  startedAt: Date,
  started: number,
): Report {
  const { plan, seed, signal } = options;
  const summary = summarise(results);
  const shape: ReplayOptions = { command: `muster check ${suite.api} …`, seed };
  const replay = options.replayCommand ?? ((result) => replayCommand(shape, result));
  return {
    muster: options.version,
    api: suite.api,
    seed,
    target: options.target,
    profile: options.profile ?? 'full',
    requirements_version: plan.requirements.date,
    requirements_digest: plan.requirements.digest,
    narrowed_by: plan.narrowedBy,
    complete: plan.narrowedBy.length === 0 && summary.blocked === 0 && signal?.aborted !== true && ran(summary) > 0,
    started_at: startedAt.toISOString(),
    duration_ms: Math.round(performance.now() - started),
    ...(options.arguments === undefined ? {} : { arguments: [...options.arguments] }),
    ...(options.options === undefined ? {} : { options: options.options }),
    exit_code: exitCode(summary),
    summary,
    checks: results.map((result) =>
      WORTH_REPLAYING.has(result.outcome) ? { ...result, replay_command: replay(result) } : result,
    ),
  };
}

const WORTH_REPLAYING: ReadonlySet<Outcome> = new Set(['fail', 'warn', 'blocked', 'known']);

async function end(listeners: readonly RunListener[], report: Report): Promise<void> {
  const failures: unknown[] = [];
  for (const listener of listeners) {
    try {
      await listener.onEnd?.(report);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures.length === 1 ? failures[0] : new AggregateError(failures, 'reports failed');
}
