/** Runs a plan: what may run at once does, what needs the target for itself runs alone, and the rest is told why not. */
import { Recorder } from '../client/recorder.ts';
import type { Redactor } from '../client/redact.ts';
import { EXIT } from '../common/exit-codes.ts';
import type { Plan, Planned } from './plan.ts';
import { type Replay, runCheck } from './run-check.ts';
import {
  type Check,
  type CheckResult,
  OUTCOMES,
  type Report,
  type Suite,
  type Summary,
  type TargetDescription,
} from './types.ts';

/** Told what happens while it happens. All optional. */
export interface RunListener {
  onStart?(plan: {
    checks: readonly Planned<never>[];
    suite: Suite<never>;
    target: TargetDescription;
    seed: number;
  }): void;
  onCheckStart?(check: Check<never>): void;
  onCheckEnd?(result: CheckResult): void;
  onEnd?(report: Report): void | Promise<void>;
}

export interface RunOptions<Context> {
  plan: Plan<Context>;
  target: TargetDescription;
  /** Builds what a check is given, around its own recorder. */
  context(recorder: Recorder, signal: AbortSignal): Context | Promise<Context>;
  redactor: Redactor;
  seed: number;
  /** Multiplier of the runs of every property. Default 1. */
  runs?: number;
  profile?: string;
  version: string;
  signal?: AbortSignal;
  /** Nothing can be decided: every check is blocked with this reason. */
  unreachable?: string;
  listeners?: readonly RunListener[];
  /** Turns outcomes by a baseline, once all are known. */
  settle?(results: CheckResult[]): CheckResult[];
  /** Coordinates of one counterexample to run again. */
  replay?: Replay;
  /** Goes into the report. */
  arguments?: readonly string[];
  /** `shared` checks at once. Default 8. */
  concurrency?: number;
  clock?: () => Date;
}

const CHECK_LIMIT_MS = 180_000;

export async function runSuite<Context>(suite: Suite<Context>, options: RunOptions<Context>): Promise<Report> {
  const { plan, listeners = [] } = options;
  const clock = options.clock ?? (() => new Date());
  const startedAt = clock();
  const started = performance.now();
  const interrupt = options.signal ?? new AbortController().signal;
  const results = new Map<string, CheckResult>();
  for (const listener of listeners) {
    listener.onStart?.({
      checks: plan.checks as readonly Planned<never>[],
      suite: suite as Suite<never>,
      target: options.target,
      seed: options.seed,
    });
  }
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
      settle(
        await runCheck({
          check,
          context,
          recorder,
          seed: options.seed,
          runs: options.runs ?? 1,
          signal: interrupt,
          limitMs: CHECK_LIMIT_MS,
          ...(options.replay === undefined ? {} : { replay: options.replay }),
        }),
      );
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
    else if (options.unreachable !== undefined && check.runsWhenUnreachable !== true)
      settle(undecided(check, 'blocked', options.unreachable));
    else due.push(check);
  }
  const disruptive = due.filter((check) => check.sharing === 'disruptive');
  const waiting = due.filter(
    (check) => check.slow === true && check.sharing !== 'disruptive' && check.sharing !== 'exclusive',
  );
  const exclusive = due.filter((check) => check.sharing === 'exclusive');
  const shared = due.filter(
    (check) => !disruptive.includes(check) && !waiting.includes(check) && !exclusive.includes(check),
  );
  await Promise.all([
    ...waiting.map(runOne),
    pool(shared, options.concurrency ?? 8, runOne),
    pool(exclusive, 1, runOne),
  ]);
  await pool(disruptive, 1, runOne);

  const ordered = plan.checks.map(({ check }) => results.get(check.id) ?? undecided(check, 'blocked', 'interrupted'));
  const checks = options.settle?.(ordered) ?? ordered;
  const summary = summarise(checks);
  const report: Report = {
    muster: options.version,
    api: suite.api,
    seed: options.seed,
    target: options.target,
    profile: options.profile ?? 'full',
    requirements_version: plan.requirements.date,
    requirements_digest: plan.requirements.digest,
    narrowed_by: plan.narrowedBy,
    complete: plan.narrowedBy.length === 0 && summary.blocked === 0 && !interrupt.aborted && ran(summary) > 0,
    started_at: startedAt.toISOString(),
    duration_ms: Math.round(performance.now() - started),
    ...(options.arguments === undefined ? {} : { arguments: [...options.arguments] }),
    exit_code: exitCode(summary),
    summary,
    checks,
  };
  const redacted = options.redactor.value(report);
  const failures: unknown[] = [];
  for (const listener of listeners) {
    try {
      await listener.onEnd?.(redacted);
    } catch (error) {
      failures.push(error);
    }
  }
  // The others have told the verdict.
  if (failures.length > 0) throw failures.length === 1 ? failures[0] : new AggregateError(failures, 'reports failed');
  return redacted;
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

export function summarise(checks: readonly CheckResult[]): Summary {
  const summary = Object.fromEntries(OUTCOMES.map((outcome) => [outcome, 0])) as Summary;
  for (const { outcome } of checks) summary[outcome] += 1;
  return summary;
}

const ran = (summary: Summary): number => summary.pass + summary.fail + summary.warn + summary.known + summary.fixed;

/** 0 conformant · 1 a MUST failed · 2 incomplete: something blocked, a stale baseline entry, or nothing ran. */
export function exitCode(summary: Summary): number {
  if (summary.fail > 0) return EXIT.nonconformant;
  return summary.blocked > 0 || summary.fixed > 0 || ran(summary) === 0 ? EXIT.incomplete : EXIT.conformant;
}
