/** Section 4.2: whether a ping on the platform reaches the device. */

import type { HttpResponse } from '../../harness/client/http.ts';
import { pollWithin } from '../../harness/common/waiting.ts';
import { blockIfForbidden, ping, pingCode, SECOND_NANOS } from '../platform/support/ping.ts';
import { describeResponse } from '../platform/support/requests.ts';
import { platformSide, type System, section, whileOffline } from './support/check.ts';

export const { requirement, check, checks } = section({ section: '4.2', since: '2026-11-21' });

const reachesDevice = requirement({
  id: 'system.ping',
  level: 'MUST',
  clause: 'Purpose: check connectivity with a device.',
  text: 'A ping on the platform reaches the device and comes back.',
});
// Alone and first, because some agents hear a ping only once they are done with what came before it.
check(reachesDevice, { turn: 'first', writes: true, sharing: 'exclusive', profile: 'core' }, async (t: System) => {
  await mustReach(t, 'from the device, which is online');
});

const MILLISECOND_NANOS = SECOND_NANOS / 1000;
/** Of the first ping, which may be sent too early. */
const FIRST_NANOS = SECOND_NANOS / 4;
/**
 * Of each one after a ping that was not answered, up to what section 8 allows: many short ones would keep a slow agent
 * busy.
 */
const GROWTH = 2;
/** The least that a device gets which must not answer. */
const OFFLINE_NANOS = SECOND_NANOS;
const TIMES_LONGER = 2;
const LONGEST_NANOS = 10 * SECOND_NANOS;

/**
 * Pings the device until an answer comes, within the patience for effects: a device may be connected for a while
 * before it hears pings, and one of them can get lost. Resolves with how long the ping that was answered took,
 * milliseconds.
 */
async function mustReach(t: System, from: string): Promise<number> {
  // Where the device has got nothing else in vain, it hardly gets a ping.
  const timeoutMs = t.session.waits.effect.within('ping', t.platform.patienceMs);
  let last: HttpResponse | undefined;
  let nanos = FIRST_NANOS;
  const tryFor = async (timeout_nanos: number): Promise<HttpResponse | undefined> => {
    last = await ping(platformSide(t), t.deviceId, { timeout_nanos });
    blockIfForbidden(platformSide(t), last);
    return pingCode(last) === 'success' ? last : undefined;
  };
  const inTime = await pollWithin(
    'an answer to a ping',
    async () => {
      const answer = await tryFor(nanos);
      nanos = Math.min(LONGEST_NANOS, nanos * GROWTH);
      return answer;
    },
    { timeoutMs, firstPauseMs: 100, growth: 1.5, longestPauseMs: 1000, signal: t.signal },
  );
  // The last of them may have been sent before the device was connected again, and have waited until the time was up.
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
    // Offline it gets more time than it took when it was online.
    const longer = Math.round(TIMES_LONGER * tookMs * MILLISECOND_NANOS);
    await whileOffline(t, async () => {
      const timeout_nanos = Math.min(LONGEST_NANOS, Math.max(OFFLINE_NANOS, longer));
      const response = await ping(platformSide(t), t.deviceId, { timeout_nanos });
      t.must(pingCode(response) !== 'success', {
        expected: 'no success from a device that is offline',
        actual: describeResponse(response),
      });
    });
    await mustReach(t, 'from the device, which is back online');
  },
);
