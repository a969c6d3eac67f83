import { expect, it } from 'vitest';
import { decode, encode, histogram, Metrics, recordMs, summariesOf } from './metrics.ts';
import { SaturationSampler } from './saturation.ts';

it('a histogram keeps three significant digits, also when encoded and decoded', () => {
  const from = histogram();
  for (let ms = 1; ms <= 10_000; ms += 1) recordMs(from, ms);
  const read = decode(encode(from));
  expect(read.getValueAtPercentile(99) / 1000 / 9900).toBeCloseTo(1, 2);
  expect(encode(read)).toBe(encode(from));
  recordMs(read, 3_000_000);
  expect(read.totalCount).toBe(10_001);
});

it('a histogram records negative durations as 0, and those over a week as a week', () => {
  const from = histogram();
  recordMs(from, -5);
  recordMs(from, 1e12);
  expect(from.totalCount).toBe(2);
  expect(from.maxValue / 6.048e11).toBeCloseTo(1, 2);
  const shown = decode(encode(from));
  expect([shown.totalCount, shown.maxValue / 6.048e11]).toEqual([2, expect.closeTo(1, 2)]);
});

it('metrics leave out a warm-up, even for an action that ends after it', () => {
  const metrics = new Metrics();
  metrics.measuring = false;
  const warm = metrics.of();
  metrics.measuring = true;
  warm.time('ping.ms', 1);
  warm.count('ping.errors');
  metrics.of().time('ping.ms', 2);
  expect(summariesOf(metrics.snapshot())['ping.ms']?.count).toBe(1);
  expect(metrics.snapshot().counters).toEqual({});
});

it('an interval has only the durations since the previous one', () => {
  const metrics = new Metrics();
  metrics.time('ping.ms', 1);
  expect([1, 2].map(() => Object.keys(metrics.takeInterval().histograms))).toEqual([['ping.ms'], []]);
  expect(summariesOf(metrics.snapshot())['ping.ms']?.count).toBe(1);
});

it('the sampler sees a blocked event loop and its processor time', () => {
  const sampler = new SaturationSampler();
  sampler.start();
  sampler.take();
  const began = performance.now();
  const before = process.cpuUsage();
  // Also waits for processor time, because another process may hold the processor.
  while (performance.now() < began + 120 || process.cpuUsage(before).user < 30_000);
  const sample = sampler.take();
  const usedMs = sample.cpu * (performance.now() - began);
  sampler.stop();
  expect(sample.loop_max_ms).toBeGreaterThan(60);
  expect(usedMs).toBeGreaterThan(25);
  expect(sample.descriptors).toBeGreaterThan(0);
  expect(sample.descriptor_limit).toBeGreaterThan(0);
});
