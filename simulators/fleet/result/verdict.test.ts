import { describe, expect, it } from 'vitest';
import type { LoadSample } from '../measure/saturation.ts';
import { calmLoad as calm } from './testing/result.ts';
import { gradeRun } from './verdict.ts';

const lateness = (p99: number) => ({ count: 1000, p50: 0.1, p90: 0.5, p99, p999: p99, max: p99, unit: 'ms' as const });
const graded = (samples: LoadSample[], p99 = 1, exhausted = 0) =>
  gradeRun({
    metrics: { 'schedule.lateness.ms': lateness(p99) },
    counters: { exhausted },
    samples: new Map([['worker 1', samples]]),
  });

describe('the saturation verdict', () => {
  it('is valid when the generator kept up', () => {
    expect(graded([calm, calm])).toEqual({ verdict: 'valid', reasons: [] });
  });

  it.each([
    ['late actions', graded([calm], 100), graded([calm], 1000), /started late: p99 .* ms .*--workers/],
    [
      'a stalled loop',
      graded([...Array(18).fill(calm), ...Array(2).fill({ ...calm, loop_max_ms: 900 })]),
      graded(Array(4).fill({ ...calm, loop_max_ms: 900 })),
      /worker 1: the event loop stalled .*--workers/,
    ],
    [
      'a whole core',
      graded([calm, ...Array(3).fill({ ...calm, cpu: 0.99 })]),
      graded(Array(9).fill({ ...calm, cpu: 1.1 })),
      /worker 1: a whole core was in use .*--shard/,
    ],
    [
      'descriptors',
      graded([{ ...calm, descriptors: 19_000 }]),
      graded([{ ...calm, descriptors: 19_990 }]),
      /file descriptors were in use; raise 'ulimit -n'/,
    ],
  ])('turns suspect, then invalid, because of %s, and says what to change', (_what, suspect, invalid, reason) => {
    expect(suspect.verdict).toBe('suspect');
    expect(invalid.verdict).toBe('invalid');
    expect(suspect.reasons).toEqual([expect.stringMatching(reason)]);
  });

  it('says when others took the processor', () => {
    const { verdict, reasons } = graded([{ ...calm, cpu_wait: 0.4 }], 100);
    expect(verdict).toBe('suspect');
    expect(reasons.at(-1)).toMatch(/waited for a processor \(worker 1 up to 40 % of a second\)/);
    expect(graded([{ ...calm, cpu_wait: 0.4 }])).toEqual({ verdict: 'valid', reasons: [] });
  });

  it('is invalid when local resources ran out', () => {
    expect(graded([calm], 1, 3)).toMatchObject({
      verdict: 'invalid',
      reasons: [expect.stringContaining('3 actions failed')],
    });
  });

  it('is invalid when requests waited for a connection, and names the option with its number', () => {
    const evidence = { metrics: {}, samples: new Map([['worker 1', [calm]]]), connections: 256 };
    expect(gradeRun({ ...evidence, counters: { 'http.crowded': 0 } }).verdict).toBe('valid');
    expect(gradeRun({ ...evidence, counters: { 'http.crowded': 7 } })).toMatchObject({
      verdict: 'invalid',
      reasons: [expect.stringMatching(/^7 requests waited because all 256 connections .* raise --connections/)],
    });
  });

  it('says when it was the platform that opened connections slowly', () => {
    const metrics = { 'schedule.lateness.ms': lateness(100), 'http.connect.ms': lateness(80) };
    const { reasons } = gradeRun({ metrics, counters: {}, samples: new Map() });
    expect(reasons).toEqual([expect.stringContaining('the platform took up to 80 ms (p99) to accept a connection')]);
  });
});
