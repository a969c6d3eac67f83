import { createHash } from 'node:crypto';
import type { Recorder } from '../client/recorder.ts';
import { defined } from '../common/defined.ts';
import { CheckRecord, endedBy, endedNormally, recorded } from './check-result.ts';
import { runProperty } from './property.ts';
import { resultOf } from './results.ts';
import type { Session } from './session.ts';
import type { Check, CheckContext, CheckResult, Finding, TargetHooks } from './types.ts';
import {
  AttemptCutOff,
  Blocked,
  NotApplicable,
  Standstill,
  shortText,
  TargetEnded,
  TooLittleSeen,
  Violation,
} from './violation.ts';

export interface CheckRun<Context> {
  check: Check<Context>;
  context(signal: AbortSignal): Context | Promise<Context>;
  recorder: Recorder;
  session: Session;
  follows?: boolean;
  seed: number;
  runs: number;
  signal: AbortSignal;
  limitMs: number;
  /** End of the whole run (`performance.now()`). Default: never. */
  deadline?: number;
  replay?: Replay;
}

export interface Replay extends Pick<Finding, 'seed' | 'path' | 'replay_path'> {
  check?: string;
}

export const coordinatesOf = ({ id, seed, path, replay_path }: CheckResult): Replay & { check: string } => ({
  check: id,
  ...defined({ seed, path, replay_path }),
});

export const CHECK_LIMIT_MS = 300_000;
/** Milliseconds for an aborted check to end, before the next check starts. */
const GRACE_MS = 1000;
const MOST_ATTEMPTS = 3;
const SHOWN = 600;
const SHOWN_IN_OBSERVATION = 200;
/**
 * Replaces an error by a more exact one, e.g. a timeout by the end of the target's process. `standing`: keeps the error
 * as it is, also in later calls.
 */
type Reconsider = (error: unknown, standing?: boolean) => Promise<unknown>;

/** Never rejects. The caller must redact secrets in the result. */
export async function runCheck<Context>(given: CheckRun<Context>): Promise<CheckResult> {
  const started = performance.now();
  // Reports a broken rule even after the end of the run, because a rule sends nothing.
  const isBroken = given.session.history.isBroken(given.check.id);
  const run = isBroken ? { ...given, signal: new AbortController().signal } : given;
  let record = new CheckRecord();
  let ended: ReturnType<typeof endedBy>;
  try {
    {
      await using bounds = boundsOf(run);
      for (let attempts = 1; ; attempts += 1) {
        try {
          await bounds.race(attempt(run, record, bounds.signal));
          break;
        } catch (error) {
          if (!(error instanceof AttemptCutOff) || attempts === MOST_ATTEMPTS) throw error;
          if (error instanceof Standstill) run.session.forgive();
        }
        run.recorder.forget();
        record = new CheckRecord();
      }
    }
    ended = endedNormally(run, record);
  } catch (error) {
    ended = endedBy(error, run, record);
  }
  return resultOf(run.check, {
    duration_ms: Math.round(performance.now() - started),
    ...ended,
    ...recorded(ended, run, record),
  });
}

function resultOfRule<Context>(run: CheckRun<Context>, record: CheckRecord, t: CheckContext): void {
  const { sightings, broken, fault } = run.session.history.judged(run.check.id);
  record.counts.set('sightings', sightings);
  if (fault !== undefined) throw fault;
  if (broken === undefined) return;
  for (const { asked, text } of broken.seen) run.recorder.add({ ...asked, request_headers: {}, response_body: text() });
  record.seenBy = [...new Set(broken.seen.map((sighting) => sighting.check))];
  t.must(false, broken.finding);
}

async function attempt<Context>(run: CheckRun<Context>, record: CheckRecord, signal: AbortSignal): Promise<void> {
  const asIs: Reconsider = async (error) => error;
  if (run.check.rule !== undefined) return resultOfRule(run, record, toolsFor(run, record, signal, asIs));
  const context = await run.context(signal);
  const hooks: TargetHooks = Object(context);
  if (hooks.standardError !== undefined) record.standardError = hooks.standardError;
  const reconsider = reconsiderOnce(hooks);
  try {
    await hooks.prepare?.(run.check.requirement, run.check.id);
    try {
      await run.check.run(Object.assign(Object.create(null), context, toolsFor(run, record, signal, reconsider)));
      const { warning } = record;
      const meant = warning && (await reconsider(warning));
      if (meant !== warning) throw meant;
    } catch (error) {
      throw await reconsider(error);
    }
  } catch (error) {
    hooks.afterCheck?.(error);
    throw error;
  }
  const ending = hooks.afterCheck?.();
  if (ending !== undefined) throw ending;
}

function reconsiderOnce(hooks: TargetHooks): Reconsider {
  const known = new WeakSet<object>();
  return async (error, standing = false) => {
    if (hooks.reconsider === undefined || typeof error !== 'object' || error === null || known.has(error)) return error;
    const meant = standing ? error : await hooks.reconsider(error);
    if (typeof meant === 'object' && meant !== null) known.add(meant);
    return meant;
  };
}

function toolsFor<Context>(
  run: CheckRun<Context>,
  record: CheckRecord,
  signal: AbortSignal,
  reconsider: Reconsider,
): CheckContext {
  const { recorder, session, runs, replay } = run;
  const seed = replay?.seed ?? seedOf(run.seed, run.check.id);
  const limitAt = performance.now() + run.limitMs;
  const shown = (actual: unknown, limit: number): string => shortText(actual, limit, recorder.redactor);
  const found = (finding: Parameters<CheckContext['must']>[1]): Violation => {
    const violation = new Violation({ ...finding, actual: shown(finding.actual, SHOWN) });
    record.seen.set(violation, recorder.snapshot());
    return violation;
  };
  const end = (reason: Error): never => {
    throw reason;
  };
  return {
    must(holds, finding): asserts holds {
      if (!holds) throw found(finding);
    },
    should(holds, { expected, actual }) {
      if (holds) return;
      record.warning ??= found({ expected, actual });
      record.observations.push(`should: expected ${expected}; actual: ${shown(actual, SHOWN_IN_OBSERVATION)}`);
    },
    note: (observation) => void record.observations.push(observation),
    observe: (name, value) => void record.observed.push({ name, value: String(value) }),
    notApplicable: (reason) => end(new NotApplicable(reason)),
    undecided: (reason) => end(new TooLittleSeen(reason)),
    saw: (what, count = 1) => void record.counts.set(what, (record.counts.get(what) ?? 0) + count),
    blocked: (reason) => end(new Blocked(reason)),
    property: propertyFor(run, record, { seed, signal, reconsider }),
    replayPath: replay?.replay_path,
    session,
    allowsFor(deviation) {
      const reportedBy = session.deviations.get(deviation);
      const deviates = reportedBy !== undefined && reportedBy !== run.check.requirement.id;
      if (deviates) record.allowedFor.add(deviation.name);
      return deviates;
    },
    lenient: run.check.requirement.level !== 'MUST',
    follows: run.follows ?? false,
    seed,
    runSeed: run.seed,
    signal,
    runTimeLeftMs: () => Math.max(0, (run.deadline ?? Number.POSITIVE_INFINITY) - performance.now()),
    checkTimeLeftMs: () => Math.max(0, Math.min(limitAt, run.deadline ?? limitAt) - performance.now()),
    runs,
  };
}

/** A replay path `n/…` applies to the n-th call of `property` in the check, counted from 0. */
function propertyFor<Context>(
  { recorder, runs, replay }: Pick<CheckRun<Context>, 'recorder' | 'runs' | 'replay'>,
  { counts }: CheckRecord,
  { seed, signal, reconsider }: { seed: number; signal: AbortSignal; reconsider: Reconsider },
): CheckContext['property'] {
  const [replayed = '', replayPath] = replay?.path?.split('/') ?? [];
  let properties = 0;
  return async (arbitrary, predicate, options) => {
    const index = properties++;
    const kept = recorder.keepDrives();
    let found = recorder.snapshot();
    const onFound = (): void => {
      found = recorder.snapshot();
    };
    const replayedPath = replayPath !== undefined && Number(replayed) === index ? { path: replayPath } : {};
    let isOver = false;
    const recorded: typeof predicate = async (value) => {
      if (signal.aborted) throw new Blocked('the check is over');
      if (isOver) return;
      // Discards exchanges of earlier inputs, because a finding shows only the failing input.
      recorder.restore(kept);
      try {
        await predicate(value);
        counts.set('inputs', (counts.get('inputs') ?? 0) + 1);
      } catch (error) {
        const meant = await reconsider(error);
        isOver = meant instanceof TargetEnded || meant instanceof AttemptCutOff;
        throw meant;
      }
    };
    try {
      const { redactor } = recorder;
      await runProperty(arbitrary, recorded, { seed, runs, redactor, onFound, ...replayedPath }, options);
    } catch (error) {
      recorder.restore(found);
      if (error instanceof Violation && error.finding.path !== undefined)
        error.finding.path = `${index}/${error.finding.path}`;
      throw await reconsider(error, true);
    }
  };
}

/** Time limit and interruption of a check; disposal aborts `signal`, and waits up to 1 s for the last attempt. */
function boundsOf({ signal: interrupt, limitMs }: Pick<CheckRun<never>, 'signal' | 'limitMs'>) {
  const over = new AbortController();
  const cut = Promise.withResolvers<never>();
  const timer = setTimeout(() => cut.reject(new Blocked(`did not end within ${limitMs / 1000} s`)), limitMs);
  const interrupted = (): void => cut.reject(new Blocked('the run is over'));
  if (interrupt.aborted) interrupted();
  interrupt.addEventListener('abort', interrupted, { once: true, signal: over.signal });
  let ending = Promise.resolve();
  return {
    signal: AbortSignal.any([interrupt, over.signal]),
    race(attempt: Promise<void>): Promise<void> {
      ending = attempt;
      return Promise.race([cut.promise, attempt]);
    },
    async [Symbol.asyncDispose](): Promise<void> {
      clearTimeout(timer);
      over.abort();
      const late = Promise.withResolvers<void>();
      const grace = setTimeout(late.resolve, GRACE_MS);
      await Promise.race([ending.catch(() => {}), late.promise]);
      clearTimeout(grace);
    },
  };
}

/** Depends only on the run's seed and the check id, so that `--only` draws the same inputs. */
export const seedOf = (seed: number, id: string): number =>
  createHash('sha256').update(`${seed}/${id}`).digest().readInt32LE(0);
