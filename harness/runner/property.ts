/** Properties inside a check: fast-check draws the inputs, the predicate's finding explains the failure. */

import fc from 'fast-check';
import { NoAnswer } from '../client/errors.ts';
import { defined } from '../common/defined.ts';
import type { Redactor } from '../common/redact.ts';
import type { CheckContext, Finding, PropertyOptions } from './types.ts';
import { shortText, Violation } from './violation.ts';

export interface PropertyRun {
  seed: number;
  path?: string;
  runs: number;
  redactor: Redactor;
  /** Called for each smaller counterexample; the next input may pass. */
  onFound(): void;
}

const DEFAULT_RUNS = 25;
/** Characters of a counterexample in a finding. */
const SHOWN = 2000;

/**
 * Runs a property with the run's seed, and shrinks a failure.
 * @throws Violation with the smallest counterexample and its coordinates, when a predicate threw a Violation or
 *   NoAnswer; any other error unchanged, since shrinking would hide trouble with the set-up
 */
export async function runProperty<T>(
  arbitrary: fc.Arbitrary<T>,
  predicate: (value: T) => Promise<void>,
  run: PropertyRun,
  options: PropertyOptions<T> = {},
): Promise<void> {
  const details = await fc.check(fc.asyncProperty(arbitrary, neverWeaker(predicate, run.onFound)), {
    seed: run.seed,
    // A replay runs one counterexample, without shrinking.
    ...(run.path === undefined
      ? { numRuns: numberOfRuns(options, run.runs) }
      : { path: run.path, numRuns: 1, endOnFailure: true }),
    ...(options.examples === undefined ? {} : { examples: options.examples as [T][] }),
  });
  if (!details.failed) return;
  const error = details.errorInstance;
  const finding = findingOf(error);
  if (finding === undefined) throw error ?? new Error('the property did not finish');
  const [smallest] = details.counterexample ?? [];
  // fast-check's text alone has the path of a model's commands.
  const written = fc.stringify(smallest);
  const described = options.describe?.(smallest as T) ?? (typeof smallest === 'bigint' ? String(smallest) : written);
  const replayPath = /replayPath="([^"]*)"/.exec(written)?.[1];
  throw new Violation({
    ...finding,
    counterexample: shortText(finding.counterexample ?? described, SHOWN, run.redactor),
    seed: run.seed,
    ...(details.counterexamplePath === null ? {} : { path: details.counterexamplePath }),
    ...defined({ replay_path: replayPath }),
  });
}

/** Runs enough to cover the handwritten examples that a multiplier of 1 would try. */
function numberOfRuns<T>({ runs = DEFAULT_RUNS, examples = [] }: PropertyOptions<T>, multiplier: number): number {
  return Math.max(1, Math.round(runs * multiplier), Math.min(runs, examples.length));
}

/** While shrinking, ignores errors weaker than the strongest so far: a crash must not replace a violation. */
function neverWeaker<T>(predicate: (value: T) => Promise<void>, onFound: () => void): (value: T) => Promise<void> {
  let strongest = 0;
  return async (value) => {
    try {
      await predicate(value);
    } catch (error) {
      if (strength(error) < strongest && !(error instanceof fc.PreconditionFailure)) return;
      strongest = Math.max(strongest, strength(error));
      onFound();
      throw error;
    }
  };
}

/** Weight of an error: violation, no answer, or 0 if the set-up failed. */
function strength(error: unknown): number {
  if (error instanceof Violation) return 2;
  return error instanceof NoAnswer ? 1 : 0;
}

/** Undefined for an error that says nothing about the target. */
export function findingOf(error: unknown): Finding | undefined {
  if (error instanceof Violation) return error.finding;
  return error instanceof NoAnswer ? { expected: 'an answer to every request', actual: error.message } : undefined;
}

/** Time limits of a property: an input may take seconds on a slow target. */
export interface PropertyBounds {
  /** Milliseconds to shrink after the first counterexample, if the run has them left. */
  shrinkMs: number;
  /** Milliseconds after which no new input starts. Default: no bound. */
  tryMs?: () => number;
  /** Minimum of inputs, whatever the time. Default 1. */
  least?: number;
  /** Examples tried first, all at once and in any case. Default: none. */
  examplesAtOnce?: number;
  /** Words for a note that time ran out. */
  describeLeftOut(tried: number, all: number): string;
}

type Property = CheckContext['property'];

/** Milliseconds to shrink a finding that may follow from another: people read the cause first. */
const FOLLOWING_SHRINK_MS = 500;

/**
 * `property` of the check within `bounds`. While shrinking, an undecided error (such as a rate limit) passes, so that
 * it cannot replace the counterexample.
 */
export function boundedProperty(
  t: Pick<CheckContext, 'property' | 'note' | 'saw' | 'signal' | 'session' | 'follows'>,
  { shrinkMs, tryMs = () => Number.POSITIVE_INFINITY, least = 1, examplesAtOnce = 0, describeLeftOut }: PropertyBounds,
): Property {
  return async (arbitrary, predicate, options = {}) => {
    const examples = examplesAtOnce === 0 ? [] : (options.examples ?? []).map(([value]) => value);
    const each = predicate as (value: unknown) => Promise<void>;
    const { passed, failure } = await trySeveral(t.signal, examples, each, examplesAtOnce);
    const startedAt = performance.now();
    let tried = 0;
    let leftOut = 0;
    let failedAt: number | undefined;
    const longestMs = t.follows ? Math.min(shrinkMs, FOLLOWING_SHRINK_MS) : shrinkMs;
    const isLeftOut = (value: unknown): boolean => {
      const now = performance.now();
      if (failedAt !== undefined) return now - failedAt >= Math.min(longestMs, t.session.shrinkMs);
      if (examples.includes(value)) return false;
      const late = tried >= least && now - startedAt > tryMs();
      if (late) leftOut += 1;
      else tried += 1;
      return late;
    };
    const bounded: typeof predicate = async (value) => {
      if (isLeftOut(value) || passed.has(value)) return;
      try {
        await predicate(value);
      } catch (error) {
        const decides = findingOf(error) !== undefined;
        if (!decides && failedAt !== undefined) return;
        if (decides) failedAt ??= performance.now();
        throw error;
      }
    };
    await t.property(arbitrary, bounded, options).finally(() => {
      if (failedAt !== undefined) t.session.shrinkMs -= performance.now() - failedAt;
    });
    if (leftOut > 0) {
      // Skipped inputs sent no request.
      t.saw('inputs', -leftOut);
      t.note(describeLeftOut(tried, tried + leftOut));
    }
    // The example failed only beside others.
    if (failure !== undefined) throw failure;
  };
}

export const AT_ONCE = 8;

/** Runs `body` for eight items at a time. Retries failed items alone, so that a finding shows no other requests. */
export async function eachAtOnce<T>(
  { signal }: Pick<CheckContext, 'signal'>,
  items: readonly T[],
  body: (item: T) => Promise<void>,
): Promise<void> {
  const { passed, failure } = await trySeveral(signal, items, body, AT_ONCE);
  for (const item of items) if (!passed.has(item)) await body(item);
  if (failure !== undefined) throw failure;
}

interface Tried {
  passed: ReadonlySet<unknown>;
  failure: unknown;
}

/** Stops after the first batch with a failure. Throws undecided errors, such as a rate limit. */
async function trySeveral<T>(
  signal: AbortSignal,
  items: readonly T[],
  body: (item: T) => Promise<void>,
  atOnce: number,
): Promise<Tried> {
  const passed = new Set<unknown>();
  for (let at = 0; at < items.length; at += atOnce) {
    signal.throwIfAborted();
    const batch = items.slice(at, at + atOnce);
    const results = await Promise.allSettled(batch.map(body));
    for (const [index, { status }] of results.entries()) if (status === 'fulfilled') passed.add(batch[index]);
    const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    const failure = errors.find((error) => findingOf(error) !== undefined);
    if (failure !== undefined) return { passed, failure };
    if (errors.length > 0) throw errors[0];
  }
  return { passed, failure: undefined };
}

/** Drops the coordinates that fast-check writes after the commands. */
export const describeCommands = (commands: Iterable<unknown>): string =>
  String(commands).replace(/ *\/\*.*\*\/$/s, '') || 'no command at all';

const SURROGATES = { first: 0xd800, count: 0x800 };
const LAST_CODE_POINT = 0x10_ffff;

/** Any code point except half of a surrogate pair. fast-check's `binary` unit takes seconds to build its tables. */
export const codePoint: fc.Arbitrary<string> = fc
  .nat({ max: LAST_CODE_POINT - SURROGATES.count })
  .map((at) => String.fromCodePoint(at < SURROGATES.first ? at : at + SURROGATES.count));
