import { describe, expect, it } from 'vitest';
import { SaturationSampler } from './saturation.ts';

describe('the sampler', () => {
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
});
