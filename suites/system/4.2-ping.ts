/** Section 4.2: whether a ping on the platform reaches the device. */
import { requirement } from '../../harness/runner/define.ts';
import { check, eventually, type Look, type System } from './support/check.ts';
import { ping, pingCode, platformSide, SECOND_NANOS, summary } from './support/platform-side.ts';

const reachesDevice = requirement({
  id: 'system.ping',
  level: 'MUST',
  section: '4.2',
  since: '2026-11-21',
  clause: 'Purpose: check connectivity with a device.',
  text: 'A ping on the platform reaches the device and comes back.',
});
const onlineCheck = check(reachesDevice, { sharing: 'shared', profile: 'core' }, async (t: System) => {
  const response = await ping(platformSide(t), t.deviceId, { timeout_nanos: 10 * SECOND_NANOS });
  t.must(response.status === 200 && pingCode(response) === 'success', {
    expected: '200 with code "success" from the device, which is online',
    actual: summary(response),
  });
});

const offlineCheck = check(reachesDevice, { aspect: 'offline', sharing: 'disruptive' }, async (t: System) => {
  const platform = platformSide(t);
  const pingSucceeds = async (): Promise<Look<true>> => {
    const response = await ping(platform, t.deviceId, { timeout_nanos: 2 * SECOND_NANOS });
    return pingCode(response) === 'success' ? { found: true } : { seen: summary(response) };
  };
  await t.online();
  await eventually(t, 'a ping of the device to succeed while it is online', pingSucceeds);
  await t.offline();
  try {
    const response = await ping(platform, t.deviceId, { timeout_nanos: SECOND_NANOS });
    t.must(pingCode(response) !== 'success', {
      expected: 'no success from a device that is offline',
      actual: summary(response),
    });
  } finally {
    await t.online();
  }
  await eventually(t, 'a ping of the device to succeed again when it is back online', pingSucceeds);
});

export default [onlineCheck, offlineCheck];
