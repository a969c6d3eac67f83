/** Runs one check and turns whatever happens into one of the outcomes. */
import { createHash } from 'node:crypto';
import type { Recorder } from '../client/recorder.ts';
import { runProperty } from './property.ts';
import type { Check, CheckContext, CheckResult, Finding, Outcome } from './types.ts';
import { Blocked, NotApplicable, show, Violation } from './violation.ts';

export interface CheckRun<Context> {
  check: Check<Context>;
  context: Context;
  recorder: Recorder;
  /** Seed of the whole run. */
  seed: number;
  runs: number;
  signal: AbortSignal;
  /** A check that has not ended by then is blocked. Milliseconds. */
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

/** A check that has not ended by then is blocked. */
export const CHECK_LIMIT_MS = 180_000;
/** Characters of what was seen. */
const SHOWN = 600;

export async function runCheck<Context>(run: CheckRun<Context>): Promise<CheckResult> {
  const { check, recorder } = run;
  const { requirement } = check;
  const { redactor } = recorder;
  const started = performance.now();
  const observations: string[] = [];
  let soft: Partial<CheckResult> | undefined;
  const limit = new AbortController();
  const signal = AbortSignal.any([run.signal, limit.signal]);
  const seed = run.replay?.seed ?? seedOf(run.seed, check.id);

  const [replayed = '', replayPath] = run.replay?.path?.split('/') ?? [];
  let properties = 0;

  const evidence = (): Partial<CheckResult> => {
    const exchanges = recorder.exchanges.slice(-8);
    const last = exchanges.at(-1);
    return exchanges.length === 0 ? {} : { exchanges, ...(last === undefined ? {} : { curl: last.curl }) };
  };
  const tools: CheckContext = {
    must(holds, finding): asserts holds {
      if (!holds) throw new Violation({ ...finding, actual: show(finding.actual, SHOWN, redactor) });
    },
    should(holds, finding) {
      if (holds) return;
      soft ??= { ...evidence(), expected: finding.expected, actual: show(finding.actual, SHOWN, redactor) };
      observations.push(`should: expected ${finding.expected}; actual: ${show(finding.actual, 200, redactor)}`);
    },
    note: (observation) => void observations.push(observation),
    notApplicable(reason) {
      throw new NotApplicable(reason);
    },
    blocked(reason) {
      throw new Blocked(reason);
    },
    async property(arbitrary, predicate, options) {
      const index = properties++;
      let found = recorder.exchanges;
      const onFound = (): void => {
        found = [...recorder.exchanges];
      };
      const path = replayPath !== undefined && Number(replayed) === index ? { path: replayPath } : {};
      try {
        await runProperty(
          arbitrary,
          async (value) => {
            // Only the exchanges of the failing run tell anything; those of others passed.
            recorder.clear();
            await predicate(value);
          },
          { seed, runs: run.runs, redactor, onFound, ...path },
          options,
        );
      } catch (error) {
        recorder.restore(found);
        if (error instanceof Violation && error.finding.path !== undefined)
          error.finding.path = `${index}/${error.finding.path}`;
        throw error;
      }
    },
    replayPath: run.replay?.replay_path,
    seed,
    signal,
    runs: run.runs,
  };

  const result = (outcome: Outcome, rest: Partial<CheckResult> = {}): CheckResult =>
    redactor.value({
      id: check.id,
      level: requirement.level,
      section: requirement.section,
      requirement: requirement.text,
      requirement_id: requirement.id,
      outcome,
      duration_ms: Math.round(performance.now() - started),
      ...rest,
      ...(observations.length === 0 ? {} : { observations: [...new Set(observations)] }),
      ...(check.needs === undefined ? {} : { needs: [...check.needs] }),
    });
  const violated = (finding: Finding): CheckResult => {
    if (requirement.level === 'INFO') {
      observations.push(`${finding.actual} (usual: ${finding.expected})`);
      return result('pass');
    }
    return result(requirement.level === 'MUST' ? 'fail' : 'warn', { ...evidence(), ...finding });
  };

  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      limit.abort();
      reject(new Blocked(`did not end within ${run.limitMs / 1000} s`));
    }, run.limitMs);
  });
  const interrupted = new Promise<never>((_, reject) => {
    if (run.signal.aborted) reject(new Blocked('interrupted'));
    run.signal.addEventListener('abort', () => reject(new Blocked('interrupted')), { once: true });
  });
  try {
    const body = check.run(Object.assign(Object.create(null), run.context, tools));
    await Promise.race([body, tooLong, interrupted]);
    if (soft !== undefined) return result('warn', soft);
    return result('pass');
  } catch (error) {
    if (error instanceof Violation) return violated(error.finding);
    if (error instanceof NotApplicable) return result('not_applicable', { reason: error.message });
    if (error instanceof Error && error.name === 'NoAnswer' && !run.signal.aborted) {
      return violated({ expected: 'an answer to every request', actual: error.message });
    }
    return result('blocked', { ...evidence(), reason: reasonOf(error) });
  } finally {
    clearTimeout(timer);
    limit.abort();
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof Blocked || error.name === 'Unreachable' || error.name === 'ControlError') return error.message;
  // A fault in the harness: the place matters more than the words.
  return `harness: ${error.stack?.split('\n').slice(0, 3).join(' ').replaceAll(/\s+/g, ' ') ?? error.message}`;
}

/** Every check draws from a seed of its own, so that adding or leaving out another changes nothing. */
export function seedOf(seed: number, id: string): number {
  return createHash('sha256').update(`${seed}/${id}`).digest().readInt32LE(0);
}
