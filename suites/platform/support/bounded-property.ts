/** A property whose tries end in time, whatever an answer of the platform takes. */
import { boundedProperty as bound } from '../../../harness/runner/bounded-property.ts';
import { findingOf } from '../../../harness/runner/property.ts';
import type { CheckContext } from '../../../harness/runner/types.ts';

type Property = CheckContext['property'];
type Tools = Pick<CheckContext, 'property' | 'note' | 'signal'>;

export interface Bounds {
  /** No random value is tried after so many milliseconds, but for the first ones. */
  randomMs: number;
  /** No smaller counterexample is looked for after so many milliseconds. */
  shrinkMs: number;
}
const BOUNDS: Bounds = { randomMs: 5000, shrinkMs: 10_000 };
/** So many random values are tried however slow the platform is. */
const LEAST_RANDOM = 2;
const EXAMPLES_AT_ONCE = 8;

/** Whether an error says something against the platform. Any other, such as a rate limit, decides nothing. */
const decides = (error: unknown): boolean => findingOf(error) !== undefined;

/**
 * `property`, with bounds. Examples are tried eight at a time first, and those that failed once more by themselves, so that a finding
 * shows the requests of one try alone.
 */
export function boundedProperty(t: Tools, bounds: Partial<Bounds> = {}): Property {
  const { randomMs, shrinkMs } = { ...BOUNDS, ...bounds };
  return async (arbitrary, predicate, options = {}) => {
    const examples = (options.examples ?? []).map(([value]) => value);
    const { passed, failure } = await tryExamples(t.signal, examples, predicate as (value: unknown) => Promise<void>);
    const bounded = bound(t.property, {
      ...{ shrinkMs, tryMs: () => randomMs, least: LEAST_RANDOM },
      isExempt: (value) => examples.includes(value),
      onLeftOut: (tried, all) => t.note(`answers are slow: ${tried} of ${all} random values were tried`),
    });
    await bounded(
      arbitrary,
      async (value) => {
        if (!passed.has(value)) await predicate(value);
      },
      options,
    );
    // It failed beside others, and not by itself.
    if (failure !== undefined) throw failure;
  };
}

/**
 * Runs `body` for all of `items`, eight at a time. One that fails runs once more by itself, so that a finding shows its requests alone.
 */
export async function eachAtOnce<T>(
  t: Pick<Tools, 'signal'>,
  items: readonly T[],
  body: (item: T) => Promise<void>,
): Promise<void> {
  const { passed, failure } = await tryExamples(t.signal, items, body);
  for (const item of items) if (!passed.has(item)) await body(item);
  if (failure !== undefined) throw failure;
}

interface Tried {
  passed: ReadonlySet<unknown>;
  /** The first that says something against the platform. */
  failure: unknown;
}

/** Stops after the first batch in which one fails: the property shows it. Throws an error that decides nothing. */
async function tryExamples<T>(
  signal: AbortSignal,
  examples: readonly T[],
  predicate: (value: T) => Promise<void>,
): Promise<Tried> {
  const passed = new Set<unknown>();
  for (let at = 0; at < examples.length; at += EXAMPLES_AT_ONCE) {
    signal.throwIfAborted();
    const batch = examples.slice(at, at + EXAMPLES_AT_ONCE);
    const results = await Promise.allSettled(batch.map(predicate));
    for (const [index, { status }] of results.entries()) if (status === 'fulfilled') passed.add(batch[index]);
    const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    const failure = errors.find(decides);
    if (failure !== undefined) return { passed, failure };
    if (errors.length > 0) throw errors[0];
  }
  return { passed, failure: undefined };
}
