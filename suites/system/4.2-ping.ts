/** Section 4.2: ping, with a device at the other end. */
import { requirement } from '../../harness/runner/define.ts';
import { code, ping } from '../platform/support/devices.ts';
import { said } from '../platform/support/send.ts';
import { check, eventually, platformOf, type System } from './support/system.ts';

const PING = requirement({
  id: 'system.ping',
  level: 'MUST',
  section: '4.2',
  since: '2026-11-21',
  text: 'A ping on the platform reaches the device and comes back.',
});
const SECOND = 1_000_000_000;

const success = check(PING, { sharing: 'shared', profile: 'core' }, async (t: System) => {
  const response = await ping(platformOf(t), t.deviceId, { timeout_nanos: 10 * SECOND });
  t.must(response.status === 200 && code(response) === 'success', {
    expected: '200 with code "success" from the device, which is online',
    actual: said(response),
  });
});

const cut = check(PING, { aspect: 'offline', sharing: 'disruptive' }, async (t: System) => {
  const p = platformOf(t);
  const answers = async (): Promise<{ found: true } | { seen: string }> => {
    const response = await ping(p, t.deviceId, { timeout_nanos: 2 * SECOND });
    return code(response) === 'success' ? { found: true } : { seen: said(response) };
  };
  await t.online();
  await eventually(t, 'a ping of the device to succeed while it is online', answers);
  await t.offline();
  try {
    const response = await ping(p, t.deviceId, { timeout_nanos: SECOND });
    t.must(code(response) !== 'success', {
      expected: 'no success from a device that is offline',
      actual: said(response),
    });
  } finally {
    await t.online();
  }
  await eventually(t, 'a ping of the device to succeed again once it is back', answers);
});

export const pingChecks = [success, cut];
