/** Sections 2.2, 4.2 and 6.3: pings and deployments through a platform to its device. */
import type { HttpResponse } from '../../harness/client/http.ts';
import { pollWithin } from '../../harness/common/waiting.ts';
import { atLeast, isPlatformVersion } from '../../harness/contract/versions.ts';
import { Fact } from '../../harness/runner/session.ts';
import { timestampOf } from '../platform/oracle/moments.ts';
import type { Item } from '../platform/support/lists.ts';
import { blockIfForbidden, MILLISECOND_NANOS, ping, pingCode, SECOND_NANOS } from '../platform/support/ping.ts';
import { describeResponse, refused } from '../platform/support/requests.ts';
import {
  canReadFiles,
  DEPLOYMENT_UNTOLD,
  deploy,
  EventFollower,
  eventually,
  filesInPlace,
  lostFiles,
  mustHaveConfigFiles,
  platformSide,
  type RollOut,
  readDeployment,
  rollOut,
  type System,
  section,
  statuses,
  untilActivity,
  untilCurrent,
  untilReplaced,
  whileOffline,
} from './support/check.ts';
import { configPath } from './support/roll-out.ts';

export const { requirement, check, checks } = section({ level: 'MUST', section: '2.2', since: '2026-11-21' });

const reachesDevice = requirement({
  id: 'system.ping',
  section: '4.2',
  clause: 'Purpose: check connectivity with a device.',
  text: 'A ping on the platform reaches the device and comes back.',
});
// Runs first, because some agents finish earlier work before they answer a ping.
check(reachesDevice, { turn: 'first', writes: true, sharing: 'exclusive', profile: 'core' }, async (t: System) => {
  await mustReach(t, 'from the device, which is online');
});

const PAUSES = { firstPauseMs: 100, growth: 1.5, longestPauseMs: 1000 };
const LONGEST_NANOS = 10 * SECOND_NANOS;

/** True after pings without success; the next wait for a success then lasts a quarter of the time. */
const UNREACHED = new Fact(() => false);

/**
 * Repeats the ping, because a ping can get lost, e.g. while a device connects. Returns the milliseconds of the ping
 * that was answered.
 */
async function mustReach(t: System, from: string): Promise<number> {
  const timeoutMs = t.platform.patienceMs / (t.session.get(UNREACHED) ? 4 : 1);
  let last: HttpResponse | undefined;
  // Doubles the timeout, because many short pings keep an agent busy.
  let nanos = SECOND_NANOS / 4;
  const tryFor = async (timeout_nanos: number): Promise<HttpResponse | undefined> => {
    last = await ping(platformSide(t), t.deviceId, { timeout_nanos });
    blockIfForbidden(platformSide(t), last);
    return pingCode(last) === 'success' ? last : undefined;
  };
  const inTime = await pollWithin(
    'an answer to a ping',
    async () => {
      const answer = await tryFor(nanos);
      nanos = Math.min(LONGEST_NANOS, nanos * 2);
      return answer;
    },
    { ...PAUSES, timeoutMs, signal: t.signal },
  );
  // Pings once more, because the device may have reconnected after the last ping.
  const reached =
    inTime ?? (await tryFor(Math.min(LONGEST_NANOS, Math.max(SECOND_NANOS, timeoutMs * MILLISECOND_NANOS))));
  t.session.set(UNREACHED, reached?.status !== 200);
  const expected = `200 with code "success" ${from}, to one of several pings`;
  t.must(reached?.status === 200, { expected, actual: last === undefined ? 'no answer' : describeResponse(last) });
  return reached.durationMs;
}

check(
  reachesDevice,
  { writes: true, aspect: 'offline', sharing: 'disruptive', premises: [reachesDevice.id, 'system.offline'] },
  async (t: System) => {
    await t.online();
    const tookMs = await mustReach(t, 'from the device while it is online');
    const longer = Math.round(2 * tookMs * MILLISECOND_NANOS);
    await whileOffline(t, async () => {
      const timeout_nanos = Math.min(LONGEST_NANOS, Math.max(SECOND_NANOS, longer));
      const response = await ping(platformSide(t), t.deviceId, { timeout_nanos });
      const expected = 'no success from a device that is offline';
      t.must(pingCode(response) !== 'success', { expected, actual: describeResponse(response) });
    });
    await mustReach(t, 'from the device, which is back online');
  },
);

const arrives = requirement({
  id: 'system.deploy',
  section: '6.3',
  clause: "The deployment's config instances have been written to the device's file system.",
  text:
    'A deployment made on the platform arrives: deployment.deployed on the device’s stream, ' +
    'the same deployment as current, its files written, and deployed reported back.',
});
const coreOptions = { needs: ['write'], profile: 'core' } as const;
check(arrives, { ...coreOptions, aspect: 'told', deviation: DEPLOYMENT_UNTOLD }, async (t: System) => {
  await using events = await EventFollower.open(t);
  await deploy(t, events);
});
check(arrives, { ...coreOptions, premises: [`${arrives.id}.told`] }, async (t: System) => {
  await using events = await EventFollower.open(t);
  const rolledOut = await rollOut(t);
  const { id, fixture } = rolledOut;
  const event = await events.until('deployment.deployed', id);
  t.must(event.data['release_id'] === fixture.release.id && event.data['activity_status'] === 'deployed', {
    expected: `deployment.deployed of ${id} with release_id ${fixture.release.id} and activity_status deployed`,
    actual: event.data,
  });
  if (canReadFiles(t)) await mustHaveConfigFiles(t, rolledOut);
  const onDevice = await untilCurrent(t, id);
  const onPlatform = await untilActivity(t, id, 'deployed');
  for (const field of ['id', 'device_id', 'release_id', 'description', 'error_status', 'target_status'] as const) {
    t.must(onDevice[field] === onPlatform[field], {
      expected: `the same ${field} on both sides: ${JSON.stringify(onPlatform[field])} on the platform`,
      actual: `${JSON.stringify(onDevice[field])} on the device`,
    });
  }
  t.must(onPlatform['error_status'] === 'none' && onPlatform['device_id'] === t.deviceId, {
    expected: `no error, and device ${t.deviceId}`,
    actual: `${statuses(onPlatform)}, device ${onPlatform['device_id']}`,
  });
  const { apiVersion } = t.platform;
  if (!isPlatformVersion(apiVersion) || !atLeast(apiVersion, 'everglades')) return;
  await eventually(t, `${id} to show when it was deployed, as it shows when it was queued`, async () => {
    const item = await readDeployment(t, rolledOut);
    const [queued, deployed] = [timestampOf(item, 'queued'), timestampOf(item, 'deployed')];
    return typeof queued !== 'string' || typeof deployed === 'string' ? { found: true } : { seen: item };
  });
});

const SETTLED = '2026-11-25';

/** Requirement until `SETTLED`; `system.newer` and `system.replaced` have taken its place. */
const replaces = requirement({
  id: 'system.replace',
  section: '6.3',
  until: SETTLED,
  clause: '`deployment.removed` … Named as a type; trigger is not stated.',
  text:
    'A newer deployment replaces the current one: ' +
    'the old one is reported with deployment.removed and ends archived, and only the new one is current.',
});
check(replaces, { needs: ['write'], premises: [arrives.id] }, async (t: System) => {
  const { first, second } = await replaceOne(t, async (events, { first, second }) => {
    await events.until('deployment.removed', first.id);
    await untilActivity(t, first.id, 'archived');
    const expected = `no deployment.removed for ${second.id}, which is current`;
    t.must(events.count('deployment.removed', second.id) === 0, { expected, actual: 'there was one' });
  });
  if (!canReadFiles(t)) return;
  await eventually(t, `no file of ${first.id}, which was replaced, to be on the device`, async () => {
    const files = await filesInPlace(t, first);
    return files.length === 0 ? { found: true } : { seen: files.join(', ') };
  });
  await mustHaveConfigFiles(t, second);
});

const newer = requirement({
  id: 'system.newer',
  since: SETTLED,
  clause: 'Config instances are currently available for consumption on the device.',
  text:
    'A newer deployment that has arrived is the current one, ' +
    'and one whose config files are gone from the device is not shown as deployed.',
});
check(newer, { needs: ['write'], premises: [arrives.id] }, async (t: System) => {
  const { first, second } = await replaceOne(t);
  if (!canReadFiles(t)) return;
  await mustHaveConfigFiles(t, second);
  const expected = `${first.id}, whose config files are gone, to be another than deployed on the platform`;
  await eventually(t, expected, async () => {
    const item = await readDeployment(t, first);
    const isThere = (await lostFiles(t, first)).length < first.fixture.files.length;
    return isThere || item['activity_status'] !== 'deployed' ? { found: true } : { seen: statuses(item) };
  });
});

const replaced = requirement({
  id: 'system.replaced',
  section: '6.3',
  level: 'INFO',
  since: SETTLED,
  clause: '`deployment.removed` … Named as a type; trigger is not stated.',
  text:
    'What becomes of a deployment that a newer one replaces, and whether deployment.removed tells of it, ' +
    'is not stated.',
});
check(replaced, { needs: ['write'], premises: [newer.id] }, async (t: System) => {
  let told = 0;
  const { first } = await replaceOne(t, async (events, made) => {
    told = events.count('deployment.removed', made.first.id);
  });
  const item = await readDeployment(t, first);
  t.observe('deployment.removed of a deployment that a newer one replaced', told > 0 ? 'came' : 'had not come');
  t.observe('a deployment that a newer one replaced', String(item['activity_status']));
  if (!canReadFiles(t)) return;
  const { length } = await filesInPlace(t, first);
  t.observe('the files of a deployment that a newer one replaced', length === 0 ? 'are gone' : 'are there');
});

async function replaceOne(
  t: System,
  then = async (_events: EventFollower, _made: Record<'first' | 'second', RollOut>): Promise<void> => {},
) {
  await using events = await EventFollower.open(t);
  const made = { first: await deploy(t, events), second: await deploy(t, events) };
  await untilCurrent(t, made.second.id);
  await untilActivity(t, made.second.id, 'deployed');
  await then(events, made);
  return made;
}

/** Path with a file name beyond 255 bytes, the limit of file systems. */
const IMPOSSIBLE_PATH = `/srv/configs/${'too-long-'.repeat(40)}.json`;

const failed = requirement({
  id: 'system.failed',
  clause:
    '`failed` = a fatal error occurred, the deployment is archived and, if it was deployed, removed from the device.',
  text: 'A deployment that cannot be applied ends failed and archived, and nothing of it stays on the device.',
});
const afterDeploy = { needs: ['write'], premises: [arrives.id] } as const;
check(failed, afterDeploy, async (t: System) => {
  await using events = await EventFollower.open(t);
  await deploy(t, events);
  // A platform may refuse such a path; the roll-out before shows that it takes others.
  const blocked = (reason: string, answer?: Pick<HttpResponse, 'status'>): never =>
    answer !== undefined && refused(answer) && ![401, 403].includes(answer.status)
      ? t.notApplicable(`a platform may refuse a file name that is too long: ${reason}`)
      : t.blocked(reason);
  const bad = await rollOut({ ...t, blocked }, [configPath(), IMPOSSIBLE_PATH]);
  await requireFailure(t, bad);
  const end = await eventually(t, `${bad.id} to end failed and archived`, async () => {
    const item = await readDeployment(t, bad);
    const hasEnded = item['error_status'] === 'failed' && item['activity_status'] === 'archived';
    return hasEnded ? { found: item } : { seen: statuses(item) };
  });
  t.must(end['status'] === 'failed', { expected: 'status failed', actual: statuses(end) });
  t.should(end['target_status'] === 'archived', {
    expected: 'target_status archived, as the deployment has failed for good',
    actual: statuses(end),
  });
  await mustLeaveNothing(t, bad);
  // The device must still accept the next deployment.
  await deploy(t, events);
  const expected = `no deployment.deployed of ${bad.id}, of which one file can never be written`;
  t.must(events.count('deployment.deployed', bad.id) === 0, { expected, actual: 'there was one' });
});

const currentOnDevice = async (t: System): Promise<Partial<Item>> =>
  ((await t.device.http.get('/deployments/current')).json ?? {}) as Partial<Item>;

/**
 * Not applicable if the device applies the deployment or keeps retrying, because the specification does not say which
 * errors are fatal.
 */
async function requireFailure(t: System, bad: RollOut): Promise<void> {
  let last = await eventually(t, `${bad.id} to fail: its file cannot be written`, async () => {
    const item = await readDeployment(t, bad);
    if (item['error_status'] !== 'none') return { found: item };
    const { id, activity_status: activity } = await currentOnDevice(t);
    if (id === bad.id && activity === 'deployed')
      t.notApplicable('the device applied a deployment whose file name is too long for a file system');
    return { seen: statuses(item) };
  });
  const isFatal = await pollWithin(
    `${bad.id} to fail for good`,
    async () => {
      last = await readDeployment(t, bad);
      return last['error_status'] === 'retrying' ? undefined : true;
    },
    { ...PAUSES, timeoutMs: t.device.patienceMs, signal: t.signal },
  );
  if (!isFatal) t.notApplicable(`the device goes on retrying a deployment that cannot be applied: ${statuses(last)}`);
}

async function mustLeaveNothing(t: System, bad: RollOut): Promise<void> {
  await eventually(t, `the device not to have ${bad.id} as its current deployment`, async () => {
    const current = await currentOnDevice(t);
    const isGone = current.id !== bad.id || current['activity_status'] === 'archived';
    return isGone ? { found: true } : { seen: JSON.stringify(current) };
  });
  if (!canReadFiles(t)) return;
  const expected = `no file of ${bad.id}, which failed, to be on the device`;
  const isClean = await pollWithin(expected, async () => (await filesInPlace(t, bad)).length === 0 || undefined, {
    ...PAUSES,
    timeoutMs: t.device.patienceMs,
    signal: t.signal,
  });
  // Only warns, because section 2.2 removes a failed deployment only if it was deployed before.
  t.should(isClean === true, { expected, actual: 'some are there' });
}

const offlineOptions = { ...afterDeploy, sharing: 'disruptive' } as const;

const queued = requirement({
  id: 'system.offline',
  clause: 'Config instances wait to be received by the device and are deployed as soon as the device is online.',
  text: 'A deployment for a device that is offline is queued, and is deployed once when the device is online again.',
});
check(queued, offlineOptions, async (t: System) => {
  await using events = await EventFollower.open(t);
  const before = await deploy(t, events);
  await untilActivity(t, before.id, 'deployed');
  await whileOffline(t, async () => {
    const waiting = await rollOut(t);
    await untilActivity(t, waiting.id, 'queued');
    const still = await readDeployment(t, waiting);
    const expected = 'queued for as long as the device is offline';
    t.must(still['activity_status'] === 'queued', { expected, actual: statuses(still) });
    await t.online();
    await events.until('deployment.deployed', waiting.id);
    await untilActivity(t, waiting.id, 'deployed');
    await untilCurrent(t, waiting.id);
    // Events arrive in order, so no event of `waiting` can follow this deployment.
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
const afterQueued = { ...offlineOptions, premises: [...offlineOptions.premises, 'system.newer', queued.id] } as const;
check(newest, afterQueued, async (t: System) => {
  await using events = await EventFollower.open(t);
  await deploy(t, events);
  await whileOffline(t, async () => {
    const older = await rollOut(t);
    const newer = await rollOut(t);
    await t.online();
    await events.until('deployment.deployed', newer.id);
    await untilCurrent(t, newer.id);
    await untilActivity(t, newer.id, 'deployed');
    await untilReplaced(t, older.id, newer.id);
  });
});
