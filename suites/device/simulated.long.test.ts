/**
 * The reference device passes the whole suite, and while others use it. Defects fail with a finding in words: a sample of the matrix,
 * which is a command of its own and runs the variants.
 */
import { describe, expect, it } from 'vitest';
import { deviceDefect } from '../../simulators/defects/device/index.ts';
import { type DeviceBehaviour, referenceBehaviour } from '../../simulators/device/index.ts';
import {
  expectPassesEverything,
  passesWhereNothingHappens,
  resultsWith,
  runDeviceSuite,
  startDevice,
} from './testing/run.ts';

/** Checks that follow events by their ids, and must not take other events for their own. Without restarts, since other events go on. */
const FOLLOWERS = [
  'device.events.replay.exclusive',
  'device.events.replay.live',
  'device.events.replay.seam',
  'device.events.replay.complete.sequences',
  'device.events.types',
  'device.events.at-least-once',
  'device.events.concurrent',
  'device.events.client',
];

describe('the reference device', () => {
  it.for(['unix', 'loopback'] as const)('passes everything over %s', (transport) => expectPassesEverything(transport));

  it('passes while others publish events', async () => {
    await using started = await startDevice('unix');
    const { device, address, control } = started;
    const foreign = setInterval(() => {
      if (device.running) device.publish(2).catch(() => {});
    }, 10);
    try {
      const report = await runDeviceSuite({ ...address, control, fast: true, only: FOLLOWERS });
      expect(resultsWith(report, 'fail', 'warn', 'blocked')).toEqual([]);
    } finally {
      clearInterval(foreign);
    }
  });
});

it.for(['hangs-up', 'empty-object', 'never-answers', 'empty-list'] as const)(
  'no check passes on its own on a server that does nothing: %s',
  async (kind) => {
    expect(await passesWhereNothingHappens(kind)).toEqual([]);
  },
);

async function runAgainst(behaviour: DeviceBehaviour, transport: 'unix' | 'loopback', only: readonly string[]) {
  await using started = await startDevice(transport, behaviour);
  const { address, control } = started;
  return await runDeviceSuite({ ...address, control, only, patienceMs: 4000 });
}

/** One of each kind: those that a client sees, and those that show only in time, after a restart or on the disk. */
const DEFECTS = [
  'status-from-activity',
  'current-is-the-first',
  'failed-stays',
  'frame-without-event',
  'envelope-id-differs',
  'type-with-version',
  'newlines-raw',
  'replay-inclusive',
  'header-wins',
  'types-swallow-replay',
  'seam-gap',
  'malformed-is-expired',
  'boundary-off-by-one',
  'heartbeat-as-event',
  'slow-reader-thinned-out',
  'event-before-files',
  'ids-restart-at-one',
  'stored-after-delivery',
  'torn-line-glued',
  'log-never-compacted',
  'loopback-token-prefix',
] as const;

describe('a device with a defect', () => {
  it.for(DEFECTS)('fails: %s', async (name) => {
    const defect = deviceDefect(name);
    const transport = defect.breaks.some((id) => id.startsWith('device.loopback')) ? 'loopback' : 'unix';
    const report = await runAgainst(defect.behaviour(referenceBehaviour), transport, defect.breaks);
    const red = report.checks.filter(({ outcome }) => outcome === 'fail' || outcome === 'warn');
    expect(red.map(({ requirement_id }) => requirement_id)).toEqual(expect.arrayContaining([defect.breaks[0]]));
    for (const { expected, actual } of red) expect([expected, actual]).not.toContain(undefined);
    // Words, and not what the generator counts with.
    for (const { counterexample = 'none' } of red) expect(counterexample).toMatch(/[a-z]{2}/i);
  });
});
