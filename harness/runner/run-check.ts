/** Runs one check and turns whatever happens into one of the outcomes. */
import { createHash } from 'node:crypto';
import { NoAnswer, Unreachable } from '../client/errors.ts';
import type { Recorder } from '../client/recorder.ts';
import { findingOf, runProperty } from './property.ts';
import type { Check, CheckContext, CheckResult, Outcome, PropertyOptions } from './types.ts';
import { Blocked, NotApplicable, show, Violation } from './violation.ts';

/** A check, what it is given, and its limits. */
export interface CheckRun<Context> {
  check: Check<Context>;
  context: Context;
  recorder: Recorder;
  /** Seed of the whole run. */
  seed: number;
  /** Multiplier of the runs of every property. */
  runs: number;
  /** Interrupts the check: it ends as blocked. */
  signal: AbortSignal;
  /** Milliseconds after which the check is blocked. */
  limitMs: number;
  /** Coordinates of one counterexample to run again. */
  replay?: Replay;
}

/** Where a counterexample was found, as its finding says. */
export interface Replay {
  /** Id of the check; the coordinates mean nothing to another one. */
  check?: string;
  seed?: number;
  path?: string;
  replay_path?: string;
}

/** Milliseconds that a check may take, in every kind of run. */
export const CHECK_LIMIT_MS = 180_000;
/** Characters of an actual value in a finding, and in an observation. */
const SHOWN = 600;
const SHOWN_IN_OBSERVATION = 200;
/** The last exchanges that a finding shows. */
const SHOWN_EXCHANGES = 8;

/** What a check recorded on its way. */
interface Record {
  observations: string[];
  /** The first SHOULD that did not hold. */
  warning?: Partial<CheckResult>;
}

/** The result of a check. Nothing that the check throws is thrown on. Secrets are masked in its exchanges and actual values only. */
export async function runCheck<Context>(run: CheckRun<Context>): Promise<CheckResult> {
  const started = performance.now();
  const record: Record = { observations: [] };
  const limit = new AbortController();
  const tools = toolsFor(run, record, AbortSignal.any([run.signal, limit.signal]));
  let ended: Partial<CheckResult> & { outcome: Outcome };
  try {
    await withinLimit(run, limit, async () => run.check.run(Object.assign(Object.create(null), run.context, tools)));
    ended = record.warning === undefined ? { outcome: 'pass' } : { outcome: 'warn', ...record.warning };
  } catch (error) {
    ended = endedBy(error, run, record);
  } finally {
    limit.abort();
  }
  const { id, requirement, needs } = run.check;
  return {
    id,
    level: requirement.level,
    section: requirement.section,
    requirement: requirement.text,
    requirement_id: requirement.id,
    duration_ms: Math.round(performance.now() - started),
    ...ended,
    ...(record.observations.length === 0 ? {} : { observations: [...new Set(record.observations)] }),
    ...(needs === undefined ? {} : { needs: [...needs] }),
  };
}

/** What the check is given beside the context of its API. */
function toolsFor<Context>(run: CheckRun<Context>, record: Record, signal: AbortSignal): CheckContext {
  const { recorder, runs, replay } = run;
  const seed = replay?.seed ?? seedOf(run.seed, run.check.id);
  const shown = (actual: unknown, limit: number): string => show(actual, limit, recorder.redactor);
  return {
    must(holds, finding): asserts holds {
      if (!holds) throw new Violation({ ...finding, actual: shown(finding.actual, SHOWN) });
    },
    should(holds, { expected, actual }) {
      if (holds) return;
      record.warning ??= { ...evidence(recorder), expected, actual: shown(actual, SHOWN) };
      record.observations.push(`should: expected ${expected}; actual: ${shown(actual, SHOWN_IN_OBSERVATION)}`);
    },
    note: (observation) => void record.observations.push(observation),
    notApplicable(reason) {
      throw new NotApplicable(reason);
    },
    blocked(reason) {
      throw new Blocked(reason);
    },
    property: propertyFor(recorder, { seed, runs }, replay?.path),
    replayPath: replay?.replay_path,
    seed,
    signal,
    runs,
  };
}

/** Runs the properties of a check. `path` is that of a counterexample to run again, `n/…` for the n-th of them. */
function propertyFor(
  recorder: Recorder,
  run: { seed: number; runs: number },
  path: string | undefined,
): CheckContext['property'] {
  const [replayed = '', replayPath] = path?.split('/') ?? [];
  let properties = 0;
  return async (arbitrary, predicate, options?: PropertyOptions) => {
    const index = properties++;
    let found = recorder.exchanges;
    const onFound = (): void => {
      found = [...recorder.exchanges];
    };
    const again = replayPath !== undefined && Number(replayed) === index ? { path: replayPath } : {};
    const recorded: typeof predicate = async (value) => {
      // A finding shows the exchanges of the failing run alone.
      recorder.clear();
      await predicate(value);
    };
    try {
      await runProperty(arbitrary, recorded, { ...run, redactor: recorder.redactor, onFound, ...again }, options);
    } catch (error) {
      recorder.restore(found);
      if (error instanceof Violation && error.finding.path !== undefined)
        error.finding.path = `${index}/${error.finding.path}`;
      throw error;
    }
  };
}

/** Throws Blocked when the run is interrupted, or the limit is over first. */
async function withinLimit(
  { signal, limitMs }: Pick<CheckRun<never>, 'signal' | 'limitMs'>,
  limit: AbortController,
  body: () => Promise<void>,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      limit.abort();
      reject(new Blocked(`did not end within ${limitMs / 1000} s`));
    }, limitMs);
  });
  const interrupted = new Promise<never>((_, reject) => {
    const interrupt = (): void => reject(new Blocked('interrupted'));
    if (signal.aborted) interrupt();
    signal.addEventListener('abort', interrupt, { once: true, signal: limit.signal });
  });
  try {
    await Promise.race([body(), tooLong, interrupted]);
  } finally {
    clearTimeout(timer);
  }
}

function endedBy<Context>(
  error: unknown,
  { check, recorder, signal }: CheckRun<Context>,
  record: Record,
): Partial<CheckResult> & { outcome: Outcome } {
  if (error instanceof NotApplicable) return { outcome: 'not_applicable', reason: error.message };
  const finding = findingOf(error);
  if (finding === undefined || (error instanceof NoAnswer && signal.aborted))
    return { outcome: 'blocked', ...evidence(recorder), reason: reasonOf(error) };
  if (check.requirement.level === 'INFO') {
    record.observations.push(`${finding.actual} (usual: ${finding.expected})`);
    return { outcome: 'pass' };
  }
  return { outcome: check.requirement.level === 'MUST' ? 'fail' : 'warn', ...evidence(recorder), ...finding };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof Blocked || error instanceof Unreachable) return error.message;
  // A fault in the harness: the place matters more than the words.
  return `harness: ${error.stack?.split('\n').slice(0, 3).join(' ').replaceAll(/\s+/g, ' ') ?? error.message}`;
}

function evidence(recorder: Recorder): Partial<CheckResult> {
  const exchanges = recorder.exchanges.slice(-SHOWN_EXCHANGES);
  const last = exchanges.at(-1);
  return last === undefined ? {} : { exchanges, curl: last.curl };
}

/** Every check draws from a seed of its own, so that adding or leaving out another changes nothing. */
export function seedOf(seed: number, id: string): number {
  return createHash('sha256').update(`${seed}/${id}`).digest().readInt32LE(0);
}
