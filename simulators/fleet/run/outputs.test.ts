import { expect, it } from 'vitest';
import { histogram, Metrics, summary } from '../measure/metrics.ts';
import { calmLoad } from '../result/testing/result.ts';
import type { PhaseOutcome, RolloutRow } from '../worker/worker.ts';
import { resultOf } from './outputs.ts';
import { FleetRecord } from './record.ts';
import { runOptionsIn } from './testing/fleets.ts';

const REFUSED = 'no connection to the MQTT broker at mqtt://broker:1883: connect ECONNREFUSED';
const options = runOptionsIn('', 'phases: [{ do: ramp, over: 0s }]\n', { robots: 500, keyBits: 2048 });

const recordWith = ({ trouble }: { trouble: boolean }): FleetRecord => {
  const record = new FleetRecord();
  record.progress.add('this process', {
    robots: { online: 1, connecting: 499 },
    interval: { histograms: {}, counters: {} },
    load: calmLoad,
    judged: true,
    ...(trouble && { trouble: REFUSED }),
  });
  record.second(500);
  return record;
};
const resultFrom = (record: FleetRecord, interrupted: boolean, counters: Record<string, number> = {}) => {
  const fleet = { robots: 500, robotName: (index: number) => `robot-${index}`, record };
  const run = { startedAt: '2026-01-01T00:00:00Z', workers: 1, interrupted, notes: [] };
  return resultOf(
    options,
    fleet,
    { ...record.measured(), metrics: { 'ping.ms': summary(histogram()) }, counters },
    run,
  );
};

it('a result begins with its outcome, apart from the verdict on the generator', () => {
  const record = recordWith({ trouble: false });
  const passed = resultFrom(record, false);
  expect(Object.keys(passed)[0]).toBe('outcome');
  expect(passed).toMatchObject({ outcome: 'PASSED', verdict: 'valid', complete: true });
  expect(resultFrom(record, true)).toMatchObject({ outcome: 'INCOMPLETE', verdict: 'valid', complete: false });
});

it('a result says why a robot stayed away, and notes other failures', () => {
  const record = recordWith({ trouble: true });
  record.notStarted = 499;
  record.failures.push(
    { kind: 'ping', robot: 'robot-1', message: 'HTTP 500', count: 30 },
    { kind: 'start', robot: 'robot-7', message: `not online after 120 s: ${REFUSED}`, count: 499 },
  );
  expect(resultFrom(record, false)).toMatchObject({
    incomplete_reasons: [`499 of 500 robots did not come online: robot-7: not online after 120 s: ${REFUSED}`],
    notes: ['failed: ping of robot-1: HTTP 500 (30 times)'],
  });
});

it('a result notes robots that waited for each other', () => {
  const record = recordWith({ trouble: false });
  expect(resultFrom(record, false).notes).toEqual([]);
  const { notes } = resultFrom(record, false, { 'uplink.crowded': 3 });
  expect(notes).toEqual([expect.stringContaining('uplink.crowded')]);
});

it('a record whose workers have died has the figures of their seconds', () => {
  const [record, metrics] = [new FleetRecord(), new Metrics()];
  metrics.of().time('ping.ms', 5);
  const tick = { robots: { online: 1 }, interval: metrics.takeInterval(), load: calmLoad, judged: true };
  record.progress.add('worker 1', tick);
  const { metrics: figures, histograms } = record.measured();
  expect(figures).toMatchObject({ 'ping.ms': { count: 1 } });
  expect(Object.keys(histograms)).toEqual(['ping.ms']);
});

const NOTHING: PhaseOutcome = { actions: 0, notStarted: 0, rollouts: [], missed: [], failures: [], late: [] };
const MISSED = { name: 'robot-0', deployment_id: null, at_ms: 0, total_ms: null, late_ms: null } as RolloutRow;

it('a result lists no missed roll-outs of a warm-up', () => {
  const rollout = (measure: boolean) => ({ do: 'rollout', over: '1s', measure }) as const;
  const record = new FleetRecord();
  for (const [index, measure] of [false, true].entries()) {
    const name = `robot-${index}`;
    const outcome = { ...NOTHING, rollouts: [{ ...MISSED, name }], missed: [name] };
    record.endPhase({ phase: rollout(measure), index, epoch: 0 }, [outcome]);
  }
  const { missed, rollouts } = resultFrom(record, false);
  expect([missed, rollouts.missed.map(({ name }) => name)]).toEqual([['robot-1'], ['robot-1']]);
});

it.each(['an action by hand', 'an interrupt', 'an interrupt between phases'])(
  'a late event that a worker tells at %s gets into the row of its roll-out',
  (end) => {
    const rollout = { do: 'rollout', over: '1s' } as const;
    const record = new FleetRecord();
    const rollouts = [{ ...MISSED, deployment_id: 'd1' }];
    record.endPhase({ phase: rollout, index: 0, epoch: 0 }, [{ ...NOTHING, rollouts }]);
    const late = [{ ...NOTHING, late: [{ deployment_id: 'd1', late_ms: 70 }] }];
    if (end === 'an interrupt') record.beginPhase({ phase: rollout, index: 1, epoch: 0 });
    if (end === 'an action by hand') record.endByHand(rollout, 0, late, '');
    else record.interruptPhase(late);
    expect(resultFrom(record, false).rollouts.missed).toMatchObject([{ late_ms: 70 }]);
  },
);

it('an interrupted result gives the reason for missing robots', () => {
  expect(resultFrom(recordWith({ trouble: true }), true).incomplete_reasons).toEqual([
    'the run was interrupted',
    `499 of 500 robots were not online: ${REFUSED}`,
  ]);
  expect(resultFrom(recordWith({ trouble: false }), true).incomplete_reasons).toEqual(['the run was interrupted']);
});
