import { LimitReached, throwAll } from '../client/errors.ts';
import { Recorder } from '../client/recorder.ts';
import { defined } from '../common/defined.ts';
import type { Redactor } from '../common/redact.ts';
import { readableDuration } from '../common/units.ts';
import { interruptedCode } from '../common/usage.ts';
import { groupByCause } from './causes.ts';
import { coverageOf, DECIDED, type Demands, openOfProfile, unmetDemands } from './coverage.ts';
import { type Declaration, differences } from './declarations.ts';
import { FormVariation } from './form-variation.ts';
import type { Planned } from './plan.ts';
import { decidedNumber, exitCode, presentableReport, replayCommand, summaryOf } from './results.ts';
import { type RoundsOptions, runRounds } from './rounds.ts';
import { History } from './rules.ts';
import { coordinatesOf, type Replay } from './run-check.ts';
import { Session } from './session.ts';
import type { Check, CheckResult, Outcome, ReplayOf, Report, Suite, TargetDescription, Watched } from './types.ts';
import { RunOver } from './violation.ts';

/** An error of a listener changes no result and stops no other listener. */
export interface RunListener {
  onStart?(run: {
    checks: readonly Planned<never>[];
    suite: Suite<never>;
    requirements: string;
    target: TargetDescription;
    seed: number;
    repeat: number;
    watched: boolean;
  }): void;
  onCheckStart?(check: Check<never>): void;
  onCheckEnd?(result: CheckResult): void;
  /** Called before a check with a finding runs again without others; `onCheckEnd` does not follow. */
  onTryAgain?(check: Check<never>): void;
  /** Receives the redacted report; listeners run one after the other. */
  onEnd?(report: Report): void | Promise<void>;
}

type OfRounds = 'plan' | 'seed' | 'repeat' | 'tries' | 'concurrency' | 'excuses' | 'unreachable';

export interface RunOptions<Context> extends Pick<RoundsOptions<Context>, OfRounds> {
  target: TargetDescription;
  context(recorder: Recorder, signal: AbortSignal): Context | Promise<Context>;
  redactor: Redactor;
  runs?: number;
  version: string;
  /** Ends the run when it aborts; a reason of type `RunOver` explains why unfinished checks are blocked. */
  signal?: AbortSignal;
  maxTimeMs?: number;
  bail?: number;
  demands?: Demands;
  replayOf?: ReplayOf;
  listeners?: readonly RunListener[];
  /** Called if a limit of the machine, e.g. a full disk, keeps listeners from writing the report. */
  onUnwritten?(reason: string): void;
  settle?(results: CheckResult[]): CheckResult[];
  replays?: readonly Replay[];
  replayCommand?(result: CheckResult): string | undefined;
  /** Options that `muster replay` reads from the report; must hold no secret. */
  options?: Report['options'];
  varied?: boolean;
  history?: History;
  /**
   * Traffic that rules judge. `began`: milliseconds since 1970. `answers`: number of answers seen; undefined if the
   * judging failed.
   */
  watched?: Watched & { began: number; answers: number | undefined };
}

const MAX_TIME_MS = 600_000;

/** Resolves with the report without secrets. Throws the error of a listener, after all listeners have the report. */
export async function runSuite<Context>(suite: Suite<Context>, options: RunOptions<Context>): Promise<Report> {
  const { plan, target, seed, redactor } = options;
  const sinceMs = Date.now() - (options.watched?.began ?? Date.now());
  const startedAt = new Date(Date.now() - sinceMs);
  const started = performance.now();
  const audience = new RunListeners(options.listeners ?? []);
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
  // Does not vary the requests of the client suite, because Muster sends none.
  const { varied = suite.api !== 'client' } = options;
  using end = endOfRun(options);
  const { results: ended, rounds } = await runRounds(roundsOf({ ...options, varied, group }, audience, session, end));
  const failsBy = new Map(plan.checks.map(({ check, failsBy }) => [check.id, failsBy]));
  const results = ended.map((result) =>
    result.outcome === 'warn' ? { ...result, ...defined({ fails_by: failsBy.get(result.id) }) } : result,
  );
  const settled = group(options.settle?.(results) ?? results);
  const declarations = session.declarations.all;
  const report = presentableReport(
    redactor.value(reportOf(suite, options, settled, { declarations, rounds, startedAt, started: started - sinceMs })),
  );
  await audience.end(report).catch((error: unknown) => {
    if (options.onUnwritten === undefined || !(error instanceof LimitReached)) throw error;
    options.onUnwritten(error.message);
  });
  return report;
}

export class RunListeners {
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

  async end(report: Report): Promise<void> {
    for (const listener of this.#listeners) {
      try {
        await listener.onEnd?.(report);
      } catch (error) {
        this.#failures.push(error);
      }
    }
    throwAll(this.#failures);
  }
}

function roundsOf<Context>(
  options: RunOptions<Context> & Pick<RoundsOptions<Context>, 'group'>,
  audience: RunListeners,
  session: Session,
  end: ReturnType<typeof endOfRun>,
): RoundsOptions<Context> {
  const { plan, seed, runs = plan.runs, replays = [], maxTimeMs = MAX_TIME_MS, varied, repeat = 1 } = options;
  return {
    ...options,
    session,
    signal: end.signal,
    // A replay repeats the forms too, because the seed draws them.
    ...(varied === true && repeat === 1 && { forms: new FormVariation(seed, { isReplay: replays.length > 0 }) }),
    toRun(check, session, { retry, follows = false, form }) {
      const announced = check as Check<never>;
      audience.tell((one) => (retry === undefined ? one.onCheckStart?.(announced) : one.onTryAgain?.(announced)));
      const found = retry?.finding.path === undefined ? undefined : coordinatesOf(retry.finding);
      const replay = found ?? replays.find((each) => each.check === check.id);
      const happened = check.outsideApi === true ? undefined : session.history.of(check.id);
      const recorder = new Recorder(options.redactor, happened, form);
      return {
        check,
        recorder,
        session,
        follows,
        seed,
        runs,
        signal: retry?.signal ?? end.signal,
        context: (signal) => options.context(recorder, signal),
        limitMs: maxTimeMs * 0.5,
        deadline: end.deadline,
        ...defined({ replay }),
      };
    },
    onResult(result) {
      audience.tell((listener) => listener.onCheckEnd?.(result));
      end.count(result);
    },
  };
}

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
    deadline: performance.now() + maxTimeMs,
    signal: signal === undefined ? over.signal : AbortSignal.any([signal, over.signal]),
    count: (result: CheckResult): void => {
      if (result.outcome !== 'fail' || excuses(result)) return;
      failed.add(result.id);
      if (failed.size >= bail) over.abort(new RunOver(`not run to its end: --bail ${bail}`));
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}

interface RunOutcome {
  declarations: Declaration[];
  rounds: number;
  startedAt: Date;
  started: number;
}

function reportOf<Context>(
  suite: Suite<Context>,
  options: RunOptions<Context>,
  results: readonly CheckResult[],
  { declarations, rounds, startedAt, started }: RunOutcome,
): Report {
  const { plan, seed, signal, target, repeat = 1 } = options;
  const summary = summaryOf(results);
  const coverage = coverageOf(plan, results, target.capabilities);
  const ofProfile = coverageOf(plan, results, target.capabilities, { ofProfile: true });
  const decided = new Set(results.flatMap(({ id, outcome }) => (DECIDED.has(outcome) ? [id] : [])));
  const unrepeated = Object.keys(options.replayOf?.outcomes ?? {}).filter((id) => !decided.has(id));
  const unmet = [
    ...unmetDemands(options.demands ?? {}, coverage, target.capabilities),
    // Adds nothing for a whole run, because `profile_coverage` already lists its undecided checks.
    ...(plan.narrowedBy.length > 0 ? openOfProfile(plan, ofProfile) : []),
    ...(unrepeated.length === 0 ? [] : [`not decided in the replay: ${unrepeated.join(', ')}`]),
    ...(options.watched?.answers === 0 ? ['no answer of the server was seen'] : []),
    ...(repeat > 1 && rounds < repeat ? [`--repeat ${repeat}: the run ended in round ${rounds + 1}`] : []),
  ];
  const isWhole = plan.narrowedBy.length > 0 || ofProfile.undecided.length === 0;
  const interrupted = signal?.aborted === true && !(signal.reason instanceof RunOver);
  const code = exitCode(results, {
    faulty: signal?.reason instanceof RunOver && signal.reason.fault,
    lacking: !isWhole || unmet.length + differences(declarations).length > 0,
  });
  const shape = { command: `muster check ${suite.api} …`, seed };
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
      decidedNumber(summary) > 0,
    started_at: startedAt.toISOString(),
    duration_ms: Math.round(performance.now() - started),
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
  const { began: _, answers: __, ...seen } = watched;
  return seen;
}

const WORTH_REPLAYING: ReadonlySet<Outcome> = new Set(['fail', 'warn', 'blocked', 'known', 'flaky']);
