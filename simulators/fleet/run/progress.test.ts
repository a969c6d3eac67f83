import { expect, it } from 'vitest';
import { calmLoad } from '../result/testing/result.ts';
import { Progress } from './progress.ts';

const tickOf = (pings: number, own = calmLoad) => ({
  robots: { online: 1 },
  interval: { histograms: {}, counters: { 'ping.attempts': pings } },
  load: own,
  judged: true,
});

it('a run of days has equal steps, with mean rates and worst moments', () => {
  const progress = new Progress();
  progress.limit();
  const seconds = 40_000;
  for (let second = 1; second <= seconds; second += 1) {
    progress.add('worker', tickOf(2 * second, { ...calmLoad, loop_max_ms: second === 1000 ? 9000 : 1 }));
    progress.second(1000 * second, 'hold', 1);
  }
  const { series, samples, latest, judgedSeconds } = progress;
  expect(series.length).toBeLessThanOrEqual(7200);
  const widths = new Set(series.slice(1).map(({ at_ms }, at) => at_ms - (series[at]?.at_ms ?? 0)));
  expect([...widths]).toEqual([8000]);
  expect(new Set(series.map(({ rates }) => rates['ping']))).toEqual(new Set([2]));
  expect(series.filter(({ loop_max_ms }) => loop_max_ms === 9000)).toHaveLength(1);
  expect(samples.get('worker')?.length).toBe(series.length);
  expect(samples.get('worker')?.filter(({ loop_max_ms }) => loop_max_ms === 9000)).toHaveLength(1);
  expect(latest?.at_ms).toBe(1000 * seconds);
  expect(judgedSeconds).toBe(seconds);
});

it('the short rest of a run shows no burst of its last answers', () => {
  const progress = new Progress();
  progress.add('worker', tickOf(40));
  progress.second(1000, 'hold', 1);
  progress.add('worker', tickOf(43));
  progress.second(1010, 'finishing', 1);
  expect(progress.series.map(({ rates }) => rates['ping'])).toEqual([40, 3]);
});

it('a run without a limit keeps each second', () => {
  const progress = new Progress();
  for (let second = 1; second <= 8000; second += 1) progress.second(1000 * second, 'hold', 1);
  expect(progress.series).toHaveLength(8000);
});

it('a lost worker keeps its figures, but not its robots and load', () => {
  const progress = new Progress();
  progress.add('worker 1', tickOf(4));
  progress.add('worker 2', tickOf(3));
  progress.lose('worker 1');
  expect(progress.second(1000, 'hold', 2)).toMatchObject({ robots: { online: 1, waiting: 1 }, cpu: calmLoad.cpu });
  expect(progress.counters['ping.attempts']).toBe(7);
});

it('a failed request counts once, for any purpose', () => {
  const progress = new Progress();
  const counters = { 'http.attempts': 9, 'http.errors': 5, 'read.errors': 3, 'rollout.errors': 2, 'ping.errors': 1 };
  progress.add('worker', { ...tickOf(0), interval: { histograms: {}, counters } });
  expect(progress.errors).toBe(6);
});
