import { expect, it } from 'vitest';
import { random } from '../../../simulators/common/random.ts';
import { type Sample, slopeOf } from '../measure/series.ts';

const NOISE = { least: 2, share: 0.05 };
const series = (value: (minute: number, noise: number) => number): Sample[] => {
  const { next } = random('slope');
  return Array.from({ length: 360 }, (_, index) => [index * 5, value(index / 12, next() - 0.5)]);
};

const full = (minute: number): number => (minute % 1) * minute;
const step = series((minute, noise) => (minute < 20 ? 110 : 205) + 2 * noise);
const leakWithStep = series((minute, noise) => 100 + minute + (minute < 20 ? 0 : 90) + 10 * noise);
const STEPS = { ...NOISE, steps: true };

it.each<[string, boolean, Sample[], Parameters<typeof slopeOf>[1]]>([
  ['a leak below periodic growth', true, series((minute, noise) => 100 + minute + full(minute) + noise), NOISE],
  ['a step', true, step, NOISE],
  ['a step in stepwise memory', false, step, STEPS],
  ['a leak in stepwise memory', true, leakWithStep, STEPS],
  ['what comes and goes', false, series((minute, noise) => 100 + full(minute) + noise), NOISE],
  ['noise', false, series((_, noise) => 100 + 30 * noise), NOISE],
  ['a sawtooth', false, series((minute, noise) => 100 + 20 * (minute % 1) + noise), NOISE],
  ['a warm-up', false, series((minute, noise) => 100 + 5 * Math.min(minute, 9) + noise), NOISE],
  ['a gain that is nothing', false, series((minute) => 100 + 0.01 * minute), NOISE],
  ['a fall', false, series((minute) => 100 - minute), NOISE],
  ['one number', false, series(() => 7), NOISE],
])('%s counts as growth: %s', (_, grows, samples, noise) => {
  expect(slopeOf(samples, noise)?.grows).toBe(grows);
});

it('finds a leak in noise, with its rate', () => {
  const leak = series((minute, noise) => 100 + minute + 10 * noise);
  const slope = slopeOf(leak, NOISE);
  expect(slope?.grows).toBe(true);
  expect(slope?.perMinute).toBeCloseTo(1, 1);
  expect(slope?.low).toBeLessThan(1);
  expect(slope?.high).toBeGreaterThan(1);
});

it('decides nothing on few samples', () => {
  expect(slopeOf(series(() => 1).slice(0, 9), NOISE)).toBeUndefined();
});
