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
  onFound(): void;
}

/** Throws Violation with the counterexample, seed and path; other errors unchanged. */
export async function runProperty<T>(
  arbitrary: fc.Arbitrary<T>,
  predicate: (value: T) => Promise<void>,
  run: PropertyRun,
  options: PropertyOptions<T> = {},
): Promise<void> {
  const { runs = 25, examples = [] } = options;
  const numRuns = Math.max(1, Math.round(runs * run.runs), Math.min(runs, examples.length));
  const inputs = {
    seed: run.seed,
    ...(options.examples === undefined ? {} : { examples: options.examples as [T][] }),
  };
  const property = fc.asyncProperty(arbitrary, neverWeaker(predicate, run.onFound));
  const attempt = async (how: fc.Parameters<[T]>) => await fc.check(property, { ...inputs, ...how });
  // Draws new inputs if the path leads to no input or throws: inputs may depend on values of the target, which may have
  // changed since the finding.
  const replayed =
    run.path !== undefined &&
    (await attempt({ path: run.path, numRuns: 1, endOnFailure: true }).catch(() => undefined));
  const details = replayed && (replayed.failed || replayed.numRuns > 0) ? replayed : await attempt({ numRuns });
  if (!details.failed) return;
  const error = details.errorInstance;
  const finding = findingOf(error);
  if (finding === undefined) throw error ?? new Error('the property did not finish');
  const [smallest] = details.counterexample ?? [];
  // Only fast-check's own text contains the replay path of model commands.
  const written = fc.stringify(smallest);
  const described = options.describe?.(smallest as T) ?? (typeof smallest === 'bigint' ? String(smallest) : written);
  const replayPath = /replayPath="([^"]*)"/.exec(written)?.[1];
  throw new Violation({
    ...finding,
    counterexample: shortText(finding.counterexample ?? described, 2000, run.redactor),
    seed: run.seed,
    ...(details.counterexamplePath === null ? {} : { path: details.counterexamplePath }),
    ...defined({ replay_path: replayPath }),
  });
}

/**
 * Ignores an error weaker than an earlier one while shrinking: no answer is weaker than a violation, and any other
 * error is weaker than no answer.
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

function strength(error: unknown): number {
  if (error instanceof Violation) return 2;
  return error instanceof NoAnswer ? 1 : 0;
}

export function findingOf(error: unknown): Finding | undefined {
  if (error instanceof Violation) return error.finding;
  return error instanceof NoAnswer ? { expected: 'an answer to every request', actual: error.message } : undefined;
}

export interface PropertyBounds {
  shrinkMs: number;
  /** Milliseconds after which no input starts. Default: no bound. */
  tryMs?: () => number;
  /** Inputs tried even after `tryMs`. Default: 1. */
  least?: number;
  /** Examples that run in parallel before the random inputs. Default: 0. */
  examplesAtOnce?: number;
  describeLeftOut(tried: number, all: number): string;
}

/**
 * Returns `property` with bounds on the time of trying and shrinking. Shrinking ignores errors that prove no violation,
 * such as a rate limit.
 */
export function boundedProperty(
  t: Pick<CheckContext, 'property' | 'note' | 'saw' | 'signal' | 'session' | 'follows'>,
  { shrinkMs, tryMs = () => Number.POSITIVE_INFINITY, least = 1, examplesAtOnce = 0, describeLeftOut }: PropertyBounds,
): CheckContext['property'] {
  return async (arbitrary, predicate, options = {}) => {
    const examples = examplesAtOnce === 0 ? [] : (options.examples ?? []).map(([value]) => value);
    const each = predicate as (value: unknown) => Promise<void>;
    const { passed, failure } = await trySeveral(t.signal, examples, each, examplesAtOnce);
    const startedAt = performance.now();
    let tried = 0;
    let leftOut = 0;
    let failedAt: number | undefined;
    // Shrinks for at most 500 ms if the failure of another check may explain the finding.
    const longestMs = t.follows ? Math.min(shrinkMs, 500) : shrinkMs;
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
      t.saw('inputs', -leftOut);
      t.note(describeLeftOut(tried, tried + leftOut));
    }
    if (failure !== undefined) throw failure;
  };
}

export const AT_ONCE = 8;

/** Tests eight items at a time, then alone each item that has not passed, so that a finding shows no other requests. */
export async function eachAtOnce<T>(
  { signal }: Pick<CheckContext, 'signal'>,
  items: readonly T[],
  body: (item: T) => Promise<void>,
): Promise<void> {
  const { passed, failure } = await trySeveral(signal, items, body, AT_ONCE);
  for (const item of items) if (!passed.has(item)) await body(item);
  if (failure !== undefined) throw failure;
}

/** Returns a violation, but throws an error that proves no violation, such as a rate limit. */
async function trySeveral<T>(
  signal: AbortSignal,
  items: readonly T[],
  body: (item: T) => Promise<void>,
  atOnce: number,
): Promise<{ passed: ReadonlySet<unknown>; failure: unknown }> {
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

export const describeCommands = (commands: Iterable<unknown>): string =>
  String(commands).replace(/ *\/\*.*\*\/$/s, '') || 'no command at all';

const SURROGATES = { first: 0xd800, count: 0x800 };
const LAST_CODE_POINT = 0x10_ffff;

/** Any code point but a surrogate; fast-check's unit `binary` gives the same, but takes seconds to set up. */
export const codePoint: fc.Arbitrary<string> = fc
  .nat({ max: LAST_CODE_POINT - SURROGATES.count })
  .map((at) => String.fromCodePoint(at < SURROGATES.first ? at : at + SURROGATES.count));
