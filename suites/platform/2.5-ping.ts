/** Sections 2.5 and 4.2: ping. */
import { requirement } from '../../harness/check/define.ts';
import { code, ping } from './support/devices.ts';
import { check, type Platform } from './support/platform.ts';
import { isJson, said } from './support/send.ts';

const SECOND = 1_000_000_000;

const SUCCESS = requirement(
  'platform.ping.success',
  'MUST',
  '2.5',
  'A ping of a device that is online answers 200 with code "success" and the round trip in nanoseconds, which is no longer than the call.',
);
const success = check(SUCCESS, { needs: ['online-device'], profile: 'core' }, async (t: Platform) => {
  const device = t.onlineDevice;
  if (device === undefined) t.blocked('no online device was named');
  const response = await ping(t, device, { timeout_nanos: 10 * SECOND });
  t.must(response.status === 200 && isJson(response) && code(response) === 'success', {
    expected: '200, application/json, code "success" from a device that is online',
    actual: `${response.headers['content-type'] ?? 'no Content-Type'}, ${said(response)}`,
  });
  const trip = (response.json as { round_trip_nanos?: unknown }).round_trip_nanos;
  t.must(typeof trip === 'number' && Number.isInteger(trip) && trip >= 0, {
    expected: 'an integer of 0 or more in round_trip_nanos',
    actual: said(response),
  });
  // The platform's clock may tick a little differently from ours.
  const longest = response.durationMs * 1.05 * 1e6 + 5e6;
  t.must(trip <= longest, {
    expected: `a round trip no longer than the call took, ${Math.round(response.durationMs)} ms, in nanoseconds`,
    actual: trip,
  });
  t.should(trip === 0 || trip >= 1000, {
    expected: 'nanoseconds: no round trip over a network takes less than a microsecond',
    actual: trip,
  });
});

export const pingChecks = [success];
