import { expect, it } from 'vitest';
import type { Fleet, Measured } from './fleet.ts';
import { resultOf } from './outcome.ts';
import type { RunOptions } from './run.ts';

const NOTHING: Measured = {
  metrics: {},
  counters: {},
  histograms: {},
  verdict: 'valid',
  verdict_reasons: [],
  measured_seconds: 0,
};
const REFUSED = 'no connection to the MQTT broker at mqtt://broker:1883: connect ECONNREFUSED';
/** What a result is made of, as far as these tests go. */
const fleetWith = (change: object): Fleet =>
  ({
    robots: 500,
    incomplete: [],
    errors: [],
    notStarted: 0,
    phases: [],
    violations: [],
    missed: [],
    elapsedMs: 1,
    startMs: 0,
    rssBytesPerRobot: 0,
    progress: { series: [{ robots: { online: 1, connecting: 499 } }], trouble: REFUSED },
    ...change,
  }) as unknown as Fleet;
const reasonsOf = (
  change: object,
  interrupted: boolean,
): Pick<ReturnType<typeof resultOf>, 'incomplete_reasons' | 'notes'> => {
  const options = { scenario: { name: 'test', phases: [] }, robots: 500, keyBits: 2048, thresholds: [], seed: 1 };
  const { incomplete_reasons, notes } = resultOf(options as unknown as RunOptions, fleetWith(change), NOTHING, {
    startedAt: '2026-01-01T00:00:00Z',
    workers: 1,
    interrupted,
  });
  return { incomplete_reasons, notes };
};

it('says of robots that stayed away why the first of them did, and of other failures besides', () => {
  const errors = ['ping of robot-1: HTTP 500', `start of robot-7: not online after 120 s: ${REFUSED}`];
  expect(reasonsOf({ notStarted: 499, errors }, false)).toEqual({
    incomplete_reasons: [`499 of 500 robots did not come online: robot-7: not online after 120 s: ${REFUSED}`],
    notes: ['failed: ping of robot-1: HTTP 500'],
  });
});

it('says of an interrupted run what kept robots away so far', () => {
  expect(reasonsOf({}, true).incomplete_reasons).toEqual([
    'the run was interrupted',
    `499 of 500 robots were not online: ${REFUSED}`,
  ]);
  expect(reasonsOf({ progress: { series: [], trouble: undefined } }, true).incomplete_reasons).toEqual([
    'the run was interrupted',
  ]);
});
