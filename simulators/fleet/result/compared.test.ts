import { expect, it } from 'vitest';
import { random } from '../../common/random.ts';
import { Metrics, summariesOf } from '../measure/metrics.ts';
import { compareFleets } from './compared.ts';
import type { FleetResult } from './result.ts';
import { resultWith } from './testing/result.ts';

function run(seed: string, { count = 1000, factor = 1, failing = 0.01 } = {}): FleetResult {
  const chance = random(seed);
  const metrics = new Metrics();
  metrics.beginPhase('2-hold', true);
  const record = metrics.of('arm');
  for (let n = 0; n < count; n += 1) {
    record.count('ping.attempts');
    record.count('ping.errors', chance.next() < failing ? 1 : 0);
    record.time('ping.ms', factor * (20 - 30 * Math.log(1 - chance.next())));
    record.time('schedule.lateness.ms', n);
  }
  const snapshot = metrics.snapshot();
  return resultWith({ ...snapshot, metrics: summariesOf(snapshot) });
}

const differing = (before: FleetResult, after: FleetResult): string[] =>
  compareFleets(before, after).figures.flatMap(({ name, change }) => (change === 'same' ? [] : [`${name} ${change}`]));

const PART = '{class=arm,phase=2-hold}';

it('two runs of a fleet of the same platform show no difference, for few or many samples', () => {
  for (const count of [1, 5, 40, 400, 4000])
    for (let n = 0; n < 20; n += 1)
      expect(differing(run(`${count}/${n}`, { count }), run(`${count}/${n}/2`, { count }))).toEqual([]);
});

it('two runs of a fleet show slower and quicker figures, for the whole and for the phase', () => {
  const slower = [`ping.ms${PART}.p50`, `ping.ms${PART}.p99`, 'ping.ms.p50', 'ping.ms.p99'];
  const [usual, slow] = [run('a', { count: 4000 }), run('b', { count: 4000, factor: 2 })];
  expect(differing(usual, slow).toSorted()).toEqual(slower.map((name) => `${name} worse`).toSorted());
  expect(differing(slow, usual).toSorted()).toEqual(slower.map((name) => `${name} better`).toSorted());
});

it('two runs of a fleet do not differ within the usual variation of a platform', () => {
  expect(differing(run('a', { count: 4000 }), run('b', { count: 4000, factor: 1.3 }))).toEqual([]);
  const [quick, slow] = [0.01, 0.02].map((factor) => run(`${factor}`, { count: 4000, factor }));
  expect(quick && slow && differing(quick, slow)).toEqual(['ping.ms.p99 worse', `ping.ms${PART}.p99 worse`]);
});

it('two runs of a fleet show more errors, and ignore figures of the load generator', () => {
  const changes = differing(run('a'), run('b', { failing: 0.1 }));
  expect(changes).toEqual(expect.arrayContaining(['ping.errors.rate worse', `ping.errors${PART}.rate worse`]));
  expect(changes.join()).not.toContain('schedule');
});

it('two runs of a fleet lose no duration of late roll-outs when none is late', () => {
  const { metrics, histograms } = run('a');
  const late = resultWith({ metrics, histograms: { 'rollout.late.ms': histograms['ping.ms'] ?? '' } });
  expect(differing(late, resultWith({ metrics, histograms: {} }))).toEqual([]);
});

it('two runs of a fleet list newly missed thresholds, differing settings and reasons against a comparison', () => {
  const threshold = { expr: 'ping.ms.p99<1s', value: 900, ok: true };
  const { metrics } = run('a');
  const suspect = { verdict: 'suspect' as const, verdict_reasons: ['late', 'busy'] };
  const before = resultWith({ thresholds: [threshold], metrics, ...suspect });
  const after = resultWith({
    thresholds: [{ ...threshold, value: 1100, ok: false }],
    robots: 20,
    verdict: 'invalid',
  });
  expect(compareFleets(before, after)).toMatchObject({
    missed: ['ping.ms.p99<1s'],
    settings: [{ name: 'robots', before: '10', after: '20' }],
    reasons: ['the second run measured its own load generator'],
    doubts: ['the load generator of the first run was suspect: late; busy'],
  });
  expect(compareFleets(before, resultWith({ scenario: 'other' })).reasons).toEqual([
    'the runs are of different scenarios',
  ]);
});
