/** Properties inside a check: fast-check decides what to try, the predicate's finding says what is wrong. */
import fc from 'fast-check';
import type { Redactor } from '../client/redact.ts';
import type { Finding, PropertyOptions } from './types.ts';
import { show, Violation } from './violation.ts';

export interface PropertyRun {
  seed: number;
  /** Runs exactly this counterexample again (`muster replay`). */
  path?: string;
  /** Multiplier of the number of runs. */
  runs: number;
  redactor: Redactor;
  /** A counterexample was found that is smaller than any before; what is tried next may pass. */
  onFound(): void;
}

const DEFAULT_RUNS = 25;

/** How much an error says against the target: a violation, no answer, or nothing (the set-up failed). */
function weight(error: unknown): number {
  if (error instanceof Violation) return 2;
  return error instanceof Error && error.name === 'NoAnswer' ? 1 : 0;
}

/** While a counterexample is made smaller, what says less than it did is no smaller one: a target that fell over at it, say. */
function neverLess<T>(predicate: (value: T) => Promise<void>, onFound: () => void): (value: T) => Promise<void> {
  let most = 0;
  return async (value) => {
    try {
      await predicate(value);
    } catch (error) {
      if (weight(error) < most && !(error instanceof fc.PreconditionFailure)) return;
      most = Math.max(most, weight(error));
      onFound();
      throw error;
    }
  };
}

export async function runProperty<T>(
  arbitrary: fc.Arbitrary<T>,
  predicate: (value: T) => Promise<void>,
  run: PropertyRun,
  options: PropertyOptions = {},
): Promise<void> {
  const details = await fc.check(fc.asyncProperty(arbitrary, neverLess(predicate, run.onFound)), {
    seed: run.seed,
    // A replay runs the one counterexample, and looks for no smaller one.
    ...(run.path === undefined
      ? { numRuns: Math.max(1, Math.round((options.runs ?? DEFAULT_RUNS) * run.runs)) }
      : { path: run.path, numRuns: 1, endOnFailure: true }),
    ...(options.examples === undefined ? {} : { examples: options.examples as [T][] }),
  });
  if (!details.failed) return;
  const error = details.errorInstance;
  // Trouble with the set-up stays what it is: a shrunk input would only hide it.
  if (weight(error) === 0) throw error ?? new Error('the property did not finish');
  const [smallest] = details.counterexample ?? [];
  const described =
    options.describe?.(smallest as never) ?? (typeof smallest === 'bigint' ? String(smallest) : fc.stringify(smallest));
  const replayPath = /replayPath="([^"]*)"/.exec(described)?.[1];
  const finding: Finding =
    error instanceof Violation
      ? error.finding
      : { expected: 'an answer to every request', actual: (error as Error).message };
  throw new Violation({
    ...finding,
    counterexample: show(finding.counterexample ?? described, 2000, run.redactor),
    seed: run.seed,
    ...(details.counterexamplePath === null ? {} : { path: details.counterexamplePath }),
    ...(replayPath === undefined ? {} : { replay_path: replayPath }),
  });
}
