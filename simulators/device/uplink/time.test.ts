import { describe, expect, it, test } from 'vitest';
import { random } from '../../common/random.ts';
import { ManualTime } from './testing/manual-time.ts';
import { failureDelay, networkDelay, pause, reconnectDelay, transientDelay } from './time.ts';

const attempts = (count: number) => Array.from({ length: count }, (_, attempt) => attempt);

test('a pause ends with its time, or with its signal and then leaves no timer', async () => {
  const time = new ManualTime();
  const over = pause(time, 100, undefined);
  time.advance(100);
  await over;
  const abort = new AbortController();
  const aborted = pause(time, 100, abort.signal);
  expect(time.waiting).toEqual([100]);
  abort.abort(new Error('enough'));
  await expect(aborted).rejects.toThrow('enough');
  expect(time.waiting).toEqual([]);
  await expect(pause(time, 100, abort.signal)).rejects.toThrow('enough');
});

describe('backoff', () => {
  it('of a failure starts at 15 s, doubles, and ends at 24 h', () => {
    expect(attempts(4).map(failureDelay)).toEqual([15_000, 30_000, 60_000, 120_000]);
    expect(failureDelay(13)).toBe(86_400_000);
    expect(failureDelay(10_000)).toBe(86_400_000);
  });

  it('of an unreachable platform starts at 15 s, doubles, and ends at 5 min', () => {
    expect(attempts(7).map(networkDelay)).toEqual([15_000, 30_000, 60_000, 120_000, 240_000, 300_000, 300_000]);
  });

  it('of a reconnection starts at about 1 s, doubles, never passes 5 min, and differs from robot to robot', () => {
    const randomness = random(1);
    for (const attempt of attempts(20)) {
      const nominal = Math.min(300_000, 1_000 * 2 ** attempt);
      const delays = attempts(50).map(() => reconnectDelay(attempt, randomness));
      expect(Math.min(...delays)).toBeGreaterThanOrEqual(nominal * 0.75);
      expect(Math.max(...delays)).toBeLessThanOrEqual(Math.min(300_000, nominal * 1.25));
      expect(new Set(delays).size).toBeGreaterThan(10);
    }
  });

  it('between the retries of a request is half a second to a second', () => {
    const randomness = random(1);
    for (const delay of attempts(100).map(() => transientDelay(randomness))) {
      expect(delay).toBeGreaterThanOrEqual(500);
      expect(delay).toBeLessThanOrEqual(1_000);
    }
  });
});
