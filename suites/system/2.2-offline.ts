/** Section 2.2, `queued`: what is deployed while the device is offline waits for it, and arrives once. */
import { requirement } from '../../harness/runner/define.ts';
import { read } from '../platform/support/read.ts';
import { Follower } from './support/events.ts';
import { current, rollOut, shownAs, statuses } from './support/roll-out.ts';
import { check, platformOf, type System } from './support/system.ts';

const OFFLINE = requirement({
  id: 'system.offline',
  level: 'MUST',
  section: '2.2',
  since: '2026-11-21',
  text: 'A deployment for a device that is offline is queued; it is deployed, once, when the device is back.',
});
const offline = check(OFFLINE, { needs: ['write'], writes: true, sharing: 'disruptive' }, async (t: System) => {
  await t.online();
  await using events = await Follower.open(t);
  const before = await rollOut(t);
  await events.until('deployment.deployed', before.id);
  await shownAs(t, before.id, 'deployed');
  await t.offline();
  try {
    const waiting = await rollOut(t);
    await shownAs(t, waiting.id, 'queued');
    const still = await read(platformOf(t), 'deployments', waiting.id);
    t.must(still['activity_status'] === 'queued', {
      expected: 'queued for as long as the device is offline',
      actual: statuses(still),
    });
    await t.online();
    await events.until('deployment.deployed', waiting.id);
    await shownAs(t, waiting.id, 'deployed');
    await current(t, waiting.id);
    // Whatever was to come of the reconnection has come before this one.
    const after = await rollOut(t);
    await events.until('deployment.deployed', after.id);
    const times = events.count('deployment.deployed', waiting.id);
    t.must(times === 1, {
      expected: `one deployment.deployed of ${waiting.id}, which was queued while the device was offline`,
      actual: `${times} of them, with ids of their own`,
    });
  } finally {
    await t.online();
  }
});

const OVERTAKEN = requirement({
  id: 'system.offline.newest',
  level: 'MUST',
  section: '2.2',
  since: '2026-11-21',
  text: 'Of several deployments made while the device is offline the newest is its current one when it is back.',
});
const overtaken = check(OVERTAKEN, { needs: ['write'], writes: true, sharing: 'disruptive' }, async (t: System) => {
  await t.online();
  await using events = await Follower.open(t);
  await events.until('deployment.deployed', (await rollOut(t)).id);
  await t.offline();
  try {
    const older = await rollOut(t);
    const newer = await rollOut(t);
    await t.online();
    await events.until('deployment.deployed', newer.id);
    await current(t, newer.id);
    await shownAs(t, newer.id, 'deployed');
    await shownAs(t, older.id, 'archived');
  } finally {
    await t.online();
  }
});

export const offlineChecks = [offline, overtaken];
