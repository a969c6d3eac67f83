import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decode, encode, histogram, Metrics, mergeSnapshots, recordMs, summariesOf } from './metrics.ts';
import { SaturationSampler } from './saturation.ts';

const sample = fc.tuple(fc.constantFrom('a.ms', 'b.ms'), fc.double({ min: 0, max: 4_000_000, noNaN: true }));

describe('merging', () => {
  it('equals the whole, however the samples are split', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(sample, fc.nat(3)), { maxLength: 200 }), (samples) => {
        const whole = new Metrics();
        const parts = Array.from({ length: 4 }, () => new Metrics());
        for (const [[name, ms], part] of samples) {
          for (const into of [whole, parts[part]]) {
            into?.time(name, ms);
            into?.count(`${name}.count`);
          }
        }
        const merged = mergeSnapshots(parts.map((part) => part.snapshot()));
        const expected = mergeSnapshots([whole.snapshot()]);
        expect(merged).toEqual(expected);
        expect(summariesOf(merged)).toEqual(summariesOf(whole.snapshot()));
      }),
      { numRuns: 40 },
    );
  });

  it('does not depend on the order or on merging in steps', () => {
    const part = (values: number[]) => {
      const metrics = new Metrics();
      for (const value of values) metrics.time('x.ms', value);
      return metrics.snapshot();
    };
    const [a, b, c] = [part([1, 2, 3]), part([1000, 2000]), part([0.5])] as const;
    expect(mergeSnapshots([c, mergeSnapshots([b, a])])).toEqual(mergeSnapshots([a, b, c]));
  });
});

describe('a histogram', () => {
  it('keeps three significant digits, also when encoded and decoded', () => {
    const from = histogram();
    for (let ms = 1; ms <= 10_000; ms += 1) recordMs(from, ms);
    const read = decode(encode(from));
    expect(read.getValueAtPercentile(99) / 1000 / 9900).toBeCloseTo(1, 2);
    expect(encode(read)).toBe(encode(from));
    recordMs(read, 3_000_000);
    expect(read.totalCount).toBe(10_001);
  });

  it('records negative durations as 0, and those over an hour as an hour', () => {
    const from = histogram();
    recordMs(from, -5);
    recordMs(from, 1e12);
    expect(from.totalCount).toBe(2);
    expect(from.maxValue / 3.6e9).toBeCloseTo(1, 2);
  });
});

it('leaves out a warm-up, even when an action ends after it', () => {
  const metrics = new Metrics({ intervals: true });
  metrics.measuring = false;
  const warm = metrics.of();
  metrics.measuring = true;
  warm.time('ping.ms', 1);
  warm.count('ping.errors');
  metrics.of().time('ping.ms', 2);
  expect(summariesOf(metrics.snapshot())['ping.ms']?.count).toBe(1);
  expect(metrics.snapshot().counters).toEqual({});
});

it('takes only what is new since the last interval', () => {
  const metrics = new Metrics({ intervals: true });
  metrics.time('ping.ms', 1);
  expect(Object.keys(metrics.takeInterval().histograms)).toEqual(['ping.ms']);
  expect(metrics.takeInterval().histograms).toEqual({});
  expect(summariesOf(metrics.snapshot())['ping.ms']?.count).toBe(1);
});

it('sees a blocked event loop and the time it cost', () => {
  const sampler = new SaturationSampler();
  sampler.start();
  sampler.take();
  const began = performance.now();
  const before = process.cpuUsage();
  // Others may have the processor for most of the time: what counts is what this process used of it.
  while (performance.now() < began + 120 || process.cpuUsage(before).user < 30_000);
  const sample = sampler.take();
  const usedMs = sample.cpu * (performance.now() - began);
  sampler.stop();
  expect(sample.loop_max_ms).toBeGreaterThan(60);
  expect(usedMs).toBeGreaterThan(25);
  expect(sample.descriptors).toBeGreaterThan(0);
  expect(sample.descriptor_limit).toBeGreaterThan(0);
});
