/** Checks section 2.2 of the specification: a queued deployment waits for an offline device, and arrives once. */
import { readItem } from '../platform/support/lists.ts';
import {
  deploy,
  EventFollower,
  platformSide,
  rollOut,
  type System,
  section,
  statuses,
  untilActivity,
  untilCurrent,
  whileOffline,
} from './support/check.ts';

export const { requirement, check, checks } = section({ level: 'MUST', section: '2.2', since: '2026-11-21' });

const options = { needs: ['write'], sharing: 'disruptive', premises: ['system.deploy'] } as const;

const queued = requirement({
  id: 'system.offline',
  clause: 'Config instances wait to be received by the device and are deployed as soon as the device is online.',
  text: 'A deployment for a device that is offline is queued, and is deployed once when the device is online again.',
});
check(queued, options, async (t: System) => {
  await t.online();
  await using events = await EventFollower.open(t);
  const before = await deploy(t, events);
  await untilActivity(t, before.id, 'deployed');
  await whileOffline(t, async () => {
    const waiting = await rollOut(t);
    await untilActivity(t, waiting.id, 'queued');
    const still = await readItem(platformSide(t), 'deployments', waiting.id);
    t.must(still['activity_status'] === 'queued', {
      expected: 'queued for as long as the device is offline',
      actual: statuses(still),
    });
    await t.online();
    await events.until('deployment.deployed', waiting.id);
    await untilActivity(t, waiting.id, 'deployed');
    await untilCurrent(t, waiting.id);
    // Deploys again: events arrive in order, so after this deployment no event of `waiting` can arrive.
    await deploy(t, events);
    const times = events.count('deployment.deployed', waiting.id);
    t.must(times === 1, {
      expected: `one deployment.deployed of ${waiting.id}, which was queued while the device was offline`,
      actual: `${times} of them, with different ids`,
    });
  });
});

const newest = requirement({
  id: 'system.offline.newest',
  clause: 'deployed as soon as the device is online',
  text: 'After several deployments to an offline device, the newest is its current one when it is online again.',
});
check(newest, { ...options, premises: [...options.premises, 'system.newer', queued.id] }, async (t: System) => {
  await t.online();
  await using events = await EventFollower.open(t);
  await deploy(t, events);
  await whileOffline(t, async () => {
    const older = await rollOut(t);
    const newer = await rollOut(t);
    await t.online();
    await events.until('deployment.deployed', newer.id);
    await untilCurrent(t, newer.id);
    await untilActivity(t, newer.id, 'deployed');
    await untilActivity(t, older.id, 'archived');
  });
});
