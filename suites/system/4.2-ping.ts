/** Checks section 4.2 of the specification: a ping on the platform reaches the device. */

import type { HttpResponse } from '../../harness/client/http.ts';
import { pollWithin } from '../../harness/common/waiting.ts';
import { blockIfForbidden, MILLISECOND_NANOS, ping, pingCode, SECOND_NANOS } from '../platform/support/ping.ts';
import { describeResponse } from '../platform/support/requests.ts';
import { platformSide, type System, section, whileOffline } from './support/check.ts';

export const { requirement, check, checks } = section({ section: '4.2', since: '2026-11-21' });

const reachesDevice = requirement({
  id: 'system.ping',
  level: 'MUST',
  clause: 'Purpose: check connectivity with a device.',
  text: 'A ping on the platform reaches the device and comes back.',
});
// Runs first and alone, because some agents finish earlier work before they answer a ping.
check(reachesDevice, { turn: 'first', writes: true, sharing: 'exclusive', profile: 'core' }, async (t: System) => {
  await mustReach(t, 'from the device, which is online');
});

const LONGEST_NANOS = 10 * SECOND_NANOS;

/**
 * Repeats the ping, because a ping can get lost, e.g. while a device connects. Returns the milliseconds of the answered
 * ping.
 */
async function mustReach(t: System, from: string): Promise<number> {
  // The wait is shorter if an earlier ping had no answer.
  const timeoutMs = t.session.waits.effect.within('ping', t.platform.patienceMs);
  let last: HttpResponse | undefined;
  // Doubles the timeout of each ping, because many short pings keep an agent busy.
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
    { timeoutMs, firstPauseMs: 100, growth: 1.5, longestPauseMs: 1000, signal: t.signal },
  );
  // Sends one more ping, because the device may have reconnected after the last ping.
  const reached =
    inTime ?? (await tryFor(Math.min(LONGEST_NANOS, Math.max(SECOND_NANOS, timeoutMs * MILLISECOND_NANOS))));
  t.must(reached?.status === 200, {
    expected: `200 with code "success" ${from}, to one of several pings`,
    actual: last === undefined ? 'no answer' : describeResponse(last),
  });
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
      t.must(pingCode(response) !== 'success', {
        expected: 'no success from a device that is offline',
        actual: describeResponse(response),
      });
    });
    await mustReach(t, 'from the device, which is back online');
  },
);
