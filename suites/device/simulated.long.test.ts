/** The reference device passes the suite over loopback, and while others use it. */
import { describe, expect, it } from 'vitest';
import { expectPassesEverything, resultsWith, runDeviceSuite, startDevice } from './testing/run.ts';

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
  it('passes everything over loopback', () => expectPassesEverything('loopback'));

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
