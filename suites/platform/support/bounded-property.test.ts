/** What a property of this suite tries, and when it stops. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NoAnswer } from '../../../harness/client/errors.ts';
import { Redactor } from '../../../harness/client/redact.ts';
import { runProperty } from '../../../harness/runner/property.ts';
import type { CheckContext } from '../../../harness/runner/types.ts';
import { Blocked, Violation } from '../../../harness/runner/violation.ts';
import { type Bounds, boundedProperty, eachAtOnce } from './bounded-property.ts';

const examples = [1, 2, 3].map((value): [unknown] => [value]);
const options = { runs: 13, examples };
const random = fc.integer({ min: 1000, max: 2000 });

function propertyOf(bounds: Partial<Bounds> = {}, signal = new AbortController().signal) {
  const notes: string[] = [];
  const run = { seed: 1, runs: 1, redactor: new Redactor(), onFound: () => {} };
  const property: CheckContext['property'] = (arbitrary, predicate, given) =>
    runProperty(arbitrary, predicate, run, given);
  return { notes, property: boundedProperty({ property, signal, note: (note) => void notes.push(note) }, bounds) };
}
const violation = (actual: unknown) => new Violation({ expected: 'another', actual: String(actual) });

describe('a bounded property', () => {
  it('tries each example once, and then random values', async () => {
    const tried: number[] = [];
    const { property, notes } = propertyOf();
    await property(random, async (value) => void tried.push(value), options);
    expect(tried.slice(0, 3)).toEqual([1, 2, 3]);
    expect(tried).toHaveLength(13);
    expect(notes).toEqual([]);
  });

  it('tries few random values where time is up, and says so', async () => {
    const tried: number[] = [];
    const { property, notes } = propertyOf({ randomMs: -1 });
    await property(random, async (value) => void tried.push(value), options);
    expect(tried).toHaveLength(5);
    expect(notes).toEqual(['answers are slow: 2 of 10 random values were tried']);
  });

  it('tries an example that failed beside others once more by itself', async () => {
    const tried: number[] = [];
    const { property } = propertyOf();
    const body = async (value: number) => {
      tried.push(value);
      if (value === 2) throw violation(value);
    };
    await expect(property(random, body, options)).rejects.toMatchObject({
      finding: { actual: '2', counterexample: '2' },
    });
    expect(tried.filter((value) => value === 2).length).toBeGreaterThan(1);
    expect(tried.filter((value) => value === 1)).toHaveLength(1);
  });

  it('reports an example that failed only beside others', async () => {
    let times = 0;
    const { property } = propertyOf();
    const body = async () => {
      times += 1;
      if (times === 1) throw new NoAnswer('hung up');
    };
    await expect(property(random, body, options)).rejects.toThrow('hung up');
  });

  it('looks for no smaller counterexample when the time for that is up', async () => {
    let failed = 0;
    const { property } = propertyOf({ shrinkMs: -1 });
    const body = async (value: number) => {
      failed += 1;
      throw violation(value);
    };
    await expect(property(random, body, { runs: 5 })).rejects.toBeInstanceOf(Violation);
    expect(failed).toBe(1);
  });

  it('throws what decides nothing as it is', async () => {
    const { property } = propertyOf();
    const body = () => Promise.reject(new Blocked('429 for a minute'));
    await expect(property(random, body, options)).rejects.toBeInstanceOf(Blocked);
  });

  it('tries nothing once the check is over', async () => {
    const tried: number[] = [];
    const { property } = propertyOf({}, AbortSignal.abort(new Blocked('over')));
    await expect(property(random, async (value) => void tried.push(value), options)).rejects.toThrow('over');
    expect(tried).toEqual([]);
  });
});

describe('each at once', () => {
  const { signal } = new AbortController();

  it('ends with the one that failed, by itself', async () => {
    const tried: string[] = [];
    const body = async (item: string) => {
      tried.push(item);
      if (item === 'b') throw violation(item);
    };
    await expect(eachAtOnce({ signal }, ['a', 'b', 'c'], body)).rejects.toMatchObject({ finding: { actual: 'b' } });
    expect(tried).toEqual(['a', 'b', 'c', 'b']);
  });

  it('runs eight at a time', async () => {
    let now = 0;
    let most = 0;
    const body = async () => {
      now += 1;
      most = Math.max(most, now);
      await new Promise(setImmediate);
      now -= 1;
    };
    await eachAtOnce({ signal }, Array.from({ length: 20 }).map(String), body);
    expect(most).toBe(8);
  });
});
