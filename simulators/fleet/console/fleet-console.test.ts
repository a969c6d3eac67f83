import { expect, it } from 'vitest';
import { firstMessage } from '../../common/testing/requests.ts';
import type { FleetDocument } from '../../console/page/fleet/document.ts';
import { resultWith, tickWith } from '../result/testing/result.ts';
import type { ByHand } from '../run/by-hand.ts';
import type { Fleet } from '../run/fleet.ts';
import { FleetConsole } from './fleet-console.ts';

/** Tones of the thresholds on the page of a run after `act`. */
async function tonesAfter(act: (page: FleetConsole) => void, thresholds: string[] = [], record?: object) {
  const { promise: served, resolve: onServed } = Promise.withResolvers<string>();
  const page = new FleetConsole({ scenario: { name: 'test', phases: [] }, robots: 1, thresholds, onServed });
  await using stack = new AsyncDisposableStack();
  await page.serve({ record, options: {} } as unknown as Fleet, { underWay: [] } as unknown as ByHand, stack);
  act(page);
  const [, message = ''] = /^data: (.*)$/m.exec(await firstMessage(`${await served}events`)) ?? [];
  return (JSON.parse(message) as { whole: FleetDocument }).whole.thresholds.map(({ tone }) => tone);
}

const MET = { value: 12, ok: true };

it.each([
  ['of a whole run', {}, MET, 'good'],
  ['of a shard', { shard: { index: 1, count: 2 } }, MET, 'open'],
  ['of an invalid run', { verdict: 'invalid' }, MET, 'open'],
  ['of an incomplete run that broke a rule', { complete: false, violations: [{}] }, MET, 'open'],
  ['without a measurement', {}, { value: null, ok: false }, 'open'],
  ['that was missed', {}, { value: 9000, ok: false }, 'bad'],
])('the page marks a threshold %s as the report does', async (_, change, threshold, tone) => {
  const result = resultWith({ ...change, thresholds: [{ expr: 'ping.ms.p99<1s', ...threshold }] } as object);
  expect(await tonesAfter((page) => page.end(result))).toEqual([tone]);
});

it.each([
  ['that may still be whole', {}, 'good'],
  ['that lost a worker', { incomplete: ['worker 2 was lost'] }, 'open'],
  ['with a robot that did not start', { notStarted: 1 }, 'open'],
])('the page marks a threshold of a run %s, before its end', async (_, change, tone) => {
  const counters = { 'ping.failed': 0 };
  const standing = { metrics: {}, counters, times: () => undefined, measuredSeconds: 1, phases: [] };
  const lists = { violations: [], failures: [], incomplete: [], phases: [], byHand: [], pauses: [] };
  const verdictSoFar = { verdict: 'valid', atBest: 'valid', reasons: [] };
  const progress = { counters, summaries: () => ({}) };
  const record = { ...lists, standing, verdictSoFar, progress, notStarted: 0, ...change };
  const show = (page: FleetConsole) => page.second(tickWith({ at_ms: 0 }), null);
  expect(await tonesAfter(show, ['ping.failed.count==0'], record)).toEqual([tone]);
});
