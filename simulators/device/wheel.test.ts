import { expect, it } from 'vitest';
import { Wheel } from './uplink/time.ts';

it('a wheel keeps its interval when every timer fires late', () => {
  const [intervalMs, lateMs] = [64, 40];
  let now = 0;
  let tick = (): void => {};
  const after = (_delayMs: number, run: () => void) => {
    tick = run;
    return undefined as never;
  };
  const wheel = new Wheel({ elapsed: () => now, after, cancel: () => {} }, intervalMs, 4);
  let beats = 0;
  wheel.add({ beat: () => (beats += 1) });
  for (; now < 10 * intervalMs; now += lateMs) tick();
  expect(beats).toBeGreaterThanOrEqual(9);
  expect(beats).toBeLessThanOrEqual(10);
});
