import { expect, test } from 'vitest';
import { EarlyEnd } from './early-end.ts';
import type { RunOptions } from './plan.ts';

const { signal } = new AbortController();
const ending = (scenario: object, abortOn: readonly string[] = []): EarlyEnd =>
  new EarlyEnd({ scenario: scenario as RunOptions['scenario'], abortOn, signal });

/** Why a run ends that has these errors of 100 requests, at these milliseconds; undefined while it goes on. */
function ended(end: EarlyEnd, seconds: readonly (readonly [atMs: number, errors: number])[]): (string | undefined)[] {
  const incomplete: string[] = [];
  return seconds.map(([elapsedMs, errors]) => {
    const counters = { 'http.errors': errors, 'http.attempts': 100 };
    const standing = { metrics: {}, counters, times: () => undefined, measuredSeconds: 10, phases: [] };
    end.look({ standing, elapsedMs, incomplete });
    expect(end.signal.aborted).toBe(incomplete.length > 0);
    return incomplete.join();
  });
}

test('a run ends early once a condition has held for the whole time, without a break', () => {
  const end = ending({ abort_on: ['http.errors.rate>50%'], abort_after: '3s' });
  const errors = [60, 70, 10, 60, 60, 60, 61, 62];
  const reasons = ended(
    end,
    errors.map((count, second) => [1000 * second, count] as const),
  );
  const reason = 'ended early: http.errors.rate>50% has held for 3 s';
  expect(reasons).toEqual(['', '', '', '', '', '', reason, reason]);
});

test('what was not measured holds nowhere, and 30 s is long enough where nothing is said', () => {
  const seconds = [0, 29_000, 30_000].map((at) => [at, 1] as const);
  const reasons = ended(ending({}, ['rollout.ms.p99>1s', 'http.errors.count>=1']), seconds);
  expect(reasons).toEqual(['', '', 'ended early: http.errors.count>=1 has held for 30 s']);
  expect(ended(ending({}), [[90_000, 100]])).toEqual(['']);
});
