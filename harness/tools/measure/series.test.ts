import { expect, it } from 'vitest';
import { random } from '../../../simulators/common/random.ts';
import { type Sample, slopeOf } from '../measure/series.ts';

const NOISE = { least: 2, share: 0.05 };
const series = (value: (minute: number, noise: number) => number): Sample[] => {
  const { next } = random('slope');
  return Array.from({ length: 360 }, (_, index) => [index * 5, value(index / 12, next() - 0.5)]);
};

it('finds a leak in noise, with its rate', () => {
  const slope = slopeOf(
    series((minute, noise) => 100 + minute + 10 * noise),
    NOISE,
  );
  expect(slope?.grows).toBe(true);
  expect(slope?.perMinute).toBeCloseTo(1, 1);
  expect(slope?.low).toBeLessThan(1);
  expect(slope?.high).toBeGreaterThan(1);
});

const full = (minute: number): number => (minute % 1) * minute;

it('finds a leak below periodic growth', () => {
  const leak = series((minute, noise) => 100 + minute + full(minute) + noise);
  expect(slopeOf(leak, NOISE)?.grows).toBe(true);
});

it.each([
  ['what comes and goes', series((minute, noise) => 100 + full(minute) + noise)],
  ['noise', series((_, noise) => 100 + 30 * noise)],
  ['a sawtooth', series((minute, noise) => 100 + 20 * (minute % 1) + noise)],
  ['a warm-up', series((minute, noise) => 100 + 5 * Math.min(minute, 9) + noise)],
  ['a gain that is nothing', series((minute) => 100 + 0.01 * minute)],
  ['a fall', series((minute) => 100 - minute)],
  ['one number', series(() => 7)],
])('reports %s as flat', (_, samples) => {
  expect(slopeOf(samples, NOISE)?.grows).toBe(false);
});

const STEPS = { ...NOISE, steps: true };

it('a step in stepwise memory is flat, and a leak there is found', () => {
  const step = series((minute, noise) => (minute < 20 ? 110 : 205) + 2 * noise);
  expect(slopeOf(step, NOISE)?.grows).toBe(true);
  expect(slopeOf(step, STEPS)?.grows).toBe(false);
  const leak = series((minute, noise) => 100 + minute + (minute < 20 ? 0 : 90) + 10 * noise);
  expect(slopeOf(leak, STEPS)?.grows).toBe(true);
});

it('decides nothing on few samples', () => {
  expect(slopeOf(series(() => 1).slice(0, 9), NOISE)).toBeUndefined();
});
