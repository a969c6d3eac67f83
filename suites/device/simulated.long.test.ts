import { expect, it } from 'vitest';
import { resultsWith, runDeviceSuite } from '../../harness/tools/subjects/run.ts';
import { startRobot } from '../../harness/tools/subjects/simulators.ts';

/** Checks that follow their own events by id, and must ignore those of others. */
const FOLLOWERS = [
  ...'replay.exclusive replay.live replay.seam replay.complete.sequences'.split(' '),
  ...'types at-least-once concurrent client'.split(' '),
].map((id) => `device.events.${id}`);

it('the reference device passes while others publish events', async () => {
  await using started = await startRobot({ fresh: true });
  const { device, place } = started;
  const foreign = setInterval(() => {
    if (device.running) device.publish(2).catch(() => {});
  }, 10);
  try {
    const report = await runDeviceSuite(place, { fast: true, only: FOLLOWERS });
    expect(resultsWith(report, 'fail', 'warn', 'blocked')).toEqual([]);
  } finally {
    clearInterval(foreign);
  }
});
