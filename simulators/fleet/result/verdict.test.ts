import { expect, it } from 'vitest';
import type { LoadSample } from '../measure/saturation.ts';
import { calmLoad as calm } from './testing/result.ts';
import { gradeDisturbances, gradeRun } from './verdict.ts';

const USUAL = { count: 1000, p50: 0.1, p90: 0.5, p95: 0.5, unit: 'ms' } as const;
const lateness = (p99: number) => ({ ...USUAL, p99, p999: p99, max: p99 });
const usual = { seconds: 10, connections: 64, robots: 1, cores: 1, rates: { fields: [], part: 1 } };
const graded = (samples: LoadSample[], p99 = 1, exhausted = 0, machine: { robots?: number; cores?: number } = {}) =>
  gradeRun({
    ...usual,
    ...machine,
    metrics: { 'schedule.lateness.ms': lateness(p99) },
    counters: { exhausted },
    samples: new Map([['worker 1', samples]]),
  });

const open = (descriptors: number) => graded([{ ...calm, descriptors }]);

it.each([2, 200_000])('the saturation verdict is valid when the generator kept up for %i seconds', (seconds) => {
  expect(graded(Array(seconds).fill(calm))).toEqual({ verdict: 'valid', reasons: [], atBest: 'valid' });
});

it.each([
  ['late actions', graded([calm], 100), graded([calm], 1000), /started late: p99 (100 m|1 )s \(limit 50 ms\)$/],
  [
    'a stalled loop',
    graded([...Array(18).fill(calm), ...Array(2).fill({ ...calm, loop_max_ms: 900 })]),
    graded(Array(4).fill({ ...calm, loop_max_ms: 900 })),
    /worker 1: the event loop stalled .*\(limit 5 %\)$/,
  ],
  [
    'a whole core',
    graded([calm, ...Array(3).fill({ ...calm, cpu: 0.99 })]),
    graded(Array(9).fill({ ...calm, cpu: 1.1 })),
    /worker 1: a whole core was in use .*\(limit 50 %\)$/,
  ],
  ['descriptors', open(19_000), open(19_990), /file descriptors were in use \(limit 90 %\)$/],
])('the saturation verdict turns suspect, then invalid, because of %s', (_what, suspect, invalid, reason) => {
  expect(suspect.verdict).toBe('suspect');
  expect(invalid.verdict).toBe('invalid');
  expect(suspect.reasons[0]).toMatch(reason);
  expect(suspect.reasons).toHaveLength(2);
});

it('the saturation verdict reports when other processes took the processor', () => {
  const { verdict, reasons } = graded([{ ...calm, cpu_wait: 0.4 }], 100);
  expect(verdict).toBe('suspect');
  expect(reasons).toContainEqual(expect.stringMatching(/waited for a processor \(worker 1 up to 40 % of a second\)/));
  expect(graded([{ ...calm, cpu_wait: 0.4 }]).reasons).toEqual([]);
});

it.each([
  ['a busy process, and cores that are idle', { cpu: 0.9 }, 4, 'use --workers 4 (now 1)'],
  ['a core that is full', { cpu: 1 }, 1, 'this machine carries about 700 robots'],
  ['others that take the processor', { cpu: 0.3, cpu_wait: 0.3 }, 1, 'this machine carries about 400 robots'],
  ['a calm process', {}, 1, 'this machine carries about 800 robots'],
])('the saturation verdict has one piece of advice, with a number: %s', (_, load, cores, advice) => {
  const { reasons } = graded([{ ...calm, ...load }], 1000, 0, { robots: 1000, cores });
  expect(reasons.filter((reason) => /^use |^raise |carries/.test(reason))).toEqual([expect.stringContaining(advice)]);
});

it('the saturation verdict advises a rate for a load of requests, and a number of robots otherwise', () => {
  const samples = new Map([['worker 1', Array<LoadSample>(10).fill({ ...calm, cpu: 1 })]]);
  const advice = (counters: Record<string, number>, fields: string[], started = 0, part = 1) => {
    const metrics = { 'schedule.lateness.ms': lateness(1000), 'start.ms': { ...lateness(1), count: started } };
    return gradeRun({ ...usual, metrics, counters, samples, robots: 20, rates: { fields, part } }).reasons.at(-1);
  };
  const counters = { 'http.attempts': 10_000, 'ping.attempts': 1000 };
  expect(advice(counters, ['reads'])).toBe(
    'this machine carries about 700 requests a second: use reads: 700/s in the scenario, or --shard on 2 machines',
  );
  expect(advice(counters, ['ping', 'reads'], 20, 0.5)).toContain('use 1400/s for ping and reads of the scenario');
  expect(advice(counters, ['reads'], 20_000)).toContain('use --robots 14, or --shard on 2 machines');
  expect(advice({ 'http.attempts': 9000, 'rollout.attempts': 8000 }, ['reads'])).toContain('use --robots 14, or');
});

it('the saturation verdict blames other processes for a busy machine with a small fleet', () => {
  const { reasons } = graded([{ ...calm, cpu: 0.05, cpu_wait: 0.5 }], 1000, 0, { robots: 20, cores: 2 });
  expect(reasons.at(-1)).toBe(
    'this machine was busy with other things: the workers got 0.05 of 2 processors, and waited for 0.50 more; let ' +
      'the others end, or use another one',
  );
});

it('the saturation verdict gives no advice about a stopped process', () => {
  const { reasons, atBest } = graded([{ ...calm, loop_max_ms: 5000 }, ...Array(99).fill(calm)], 1, 0, { robots: 9 });
  expect(reasons).toEqual([expect.stringContaining('it stood still for 5.0 s')]);
  expect(atBest).toBe('suspect');
});

it('the saturation verdict knows the best verdict that the run can still reach', () => {
  expect(graded([calm], 1000)).toMatchObject({ verdict: 'invalid', atBest: 'valid' });
  expect(gradeDisturbances({ 'uplink.lost': 1 }, new Map())).toMatchObject({ atBest: 'suspect' });
});

it('the saturation verdict is invalid when local resources ran out', () => {
  expect(graded([calm], 1, 3)).toEqual({
    verdict: 'invalid',
    reasons: [
      expect.stringContaining('3 actions or syncs failed'),
      "raise 'ulimit -n' (now 20000), or make room on the disk of the robots' files",
    ],
    atBest: 'invalid',
  });
});

it('the saturation verdict reports a platform that opened connections slowly', () => {
  const metrics = { 'schedule.lateness.ms': lateness(100), 'http.connect.ms': lateness(80) };
  const { reasons } = gradeRun({ ...usual, metrics, counters: {}, samples: new Map() });
  expect(reasons[0]).toContain('the platform accepted connections within 80 ms (p99)');
});
