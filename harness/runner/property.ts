/** Properties inside a check: fast-check decides what to try, the predicate's finding says what is wrong. */

import fc from 'fast-check';
import { NoAnswer } from '../client/errors.ts';
import { defined } from '../common/defined.ts';
import type { Redactor } from '../common/redact.ts';
import type { CheckContext, Finding, PropertyOptions } from './types.ts';
import { show, Violation } from './violation.ts';

/** How a property is run. */
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
/** Characters of a counterexample in a finding. */
const SHOWN = 2000;

/**
 * Runs a property with the run's seed, and shrinks what fails.
 *
 * @throws Violation with the smallest counterexample and its coordinates, when a predicate threw a Violation or
 * NoAnswer; what it
 *   threw otherwise, as it is: a smaller input would only hide trouble with the set-up
 */
export async function runProperty<T>(
  arbitrary: fc.Arbitrary<T>,
  predicate: (value: T) => Promise<void>,
  run: PropertyRun,
  options: PropertyOptions<T> = {},
): Promise<void> {
  const details = await fc.check(fc.asyncProperty(arbitrary, neverWeaker(predicate, run.onFound)), {
    seed: run.seed,
    // A replay runs the one counterexample, and looks for no smaller one.
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
  // Only fast-check's own words name the path of a model's commands.
  const written = fc.stringify(smallest);
  const described = options.describe?.(smallest as T) ?? (typeof smallest === 'bigint' ? String(smallest) : written);
  const replayPath = /replayPath="([^"]*)"/.exec(written)?.[1];
  throw new Violation({
    ...finding,
    counterexample: show(finding.counterexample ?? described, SHOWN, run.redactor),
    seed: run.seed,
    ...(details.counterexamplePath === null ? {} : { path: details.counterexamplePath }),
    ...defined({ replay_path: replayPath }),
  });
}

/** The examples are the cases that were chosen by hand: fewer runs still try all of them that would be tried at 1. */
function numberOfRuns<T>({ runs = DEFAULT_RUNS, examples = [] }: PropertyOptions<T>, multiplier: number): number {
  return Math.max(1, Math.round(runs * multiplier), Math.min(runs, examples.length));
}

/**
 * While shrinking, ignores errors weaker than the strongest so far, such as a crash after a violation, so it keeps to
 * one failure.
 */
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

/** How much an error says against the target: a violation, no answer, or nothing (the set-up failed). */
function strength(error: unknown): number {
  if (error instanceof Violation) return 2;
  return error instanceof NoAnswer ? 1 : 0;
}

/** What an error says against the target; undefined when it says nothing. */
export function findingOf(error: unknown): Finding | undefined {
  if (error instanceof Violation) return error.finding;
  return error instanceof NoAnswer ? { expected: 'an answer to every request', actual: error.message } : undefined;
}

/** How long a property may go on: each input may cost seconds on a target that is slow, or hangs. */
export interface PropertyBounds {
  /** Milliseconds after the first counterexample in which smaller ones are looked for, if the run has as many left. */
  shrinkMs: number;
  /** Milliseconds after which no new input is tried. Default: no bound. */
  tryMs?: () => number;
  /** Inputs that are tried however late it is. Default 1. */
  least?: number;
  /** Tries the examples first, so many at once, and all of them in any case. Default: none. */
  examplesAtOnce?: number;
  /** Notes that of all inputs only some were tried. */
  describeLeftOut(tried: number, all: number): string;
}

type Property = CheckContext['property'];

/** As much of it as a finding gets that may follow from another one: nobody reads it first. */
const FOLLOWING_SHRINK_MS = 500;

/**
 * The check's `property` within `bounds`. While shrinking, an error that decides nothing (such as a rate limit) counts
 * as a pass, so it cannot replace the counterexample that was found.
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
      // They passed without a look.
      t.saw('inputs', -leftOut);
      t.note(describeLeftOut(tried, tried + leftOut));
    }
    // It failed beside others, and not by itself.
    if (failure !== undefined) throw failure;
  };
}

export const AT_ONCE = 8;

/**
 * Runs `body` for all of `items`, eight at a time. One that fails runs once more by itself, so that a finding shows its
 * requests alone.
 */
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
  /** The first that says something against the target. */
  failure: unknown;
}

/** Stops after the first batch in which one fails. Throws an error that decides nothing, such as a rate limit. */
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

/** The commands of a model as a reader follows them, without the coordinates that fast-check writes behind them. */
export const describeCommands = (commands: Iterable<unknown>): string =>
  String(commands).replace(/ *\/\*.*\*\/$/s, '') || 'no command at all';

const SURROGATES = { first: 0xd800, count: 0x800 };
const LAST_CODE_POINT = 0x10_ffff;

/**
 * Any Unicode text: one code point, never half of a surrogate pair. The `binary` unit of fast-check takes seconds to
 * build its tables, and blocks the whole run meanwhile.
 */
export const codePoint: fc.Arbitrary<string> = fc
  .nat({ max: LAST_CODE_POINT - SURROGATES.count })
  .map((at) => String.fromCodePoint(at < SURROGATES.first ? at : at + SURROGATES.count));
