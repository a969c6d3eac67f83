import { setTimeout as sleep } from 'node:timers/promises';
import { PING_TIMEOUT_MAXIMUM_NANOS } from '../../../harness/contract/lists.ts';
import { defect, type PlatformChange, unchecked, variant } from '../define-platform.ts';

const LIMIT = ['platform.ping.limit'];
const SUCCESS = ['platform.ping.success'];

/** One day, because Node's timers overflow after 24 days. */
const A_DAY_NANOS = 86_400_000_000_000;
const SLOW_LINK_NANOS = 1_500_000_000;

const unanswered =
  (status: number, body: object): PlatformChange =>
  ({ pingAnswer }) => ({
    pingAnswer: (outcome, elapsed) => (outcome.code === 'timeout' ? { status, body } : pingAnswer(outcome, elapsed)),
  });

export const defects = [
  defect(
    'ping-round-trip-negative',
    'Gives a negative round trip for a ping that nobody answered.',
    ['platform.ping.timeout'],
    unanswered(200, { code: 'timeout', round_trip_nanos: -1 }),
  ),
  defect('ping-timeout-doubled', 'Waits twice as long as asked.', ['platform.ping.timeout'], ({ ping }) => ({
    ping: (link, deviceId, timeoutNanos) => ping(link, deviceId, timeoutNanos * 2),
  })),
  defect('ping-timeout-is-success', 'Calls a ping that nobody answered a success.', ['platform.ping.timeout'], {
    pingAnswer: (_outcome, elapsed) => ({ status: 200, body: { code: 'success', round_trip_nanos: elapsed } }),
  }),
  defect('ping-patient', 'Waits five seconds longer than asked.', ['platform.ping.timeout'], ({ ping }) => ({
    ping: async (link, deviceId, timeoutNanos) => {
      const outcome = await ping(link, deviceId, timeoutNanos);
      if (outcome.code === 'timeout') await sleep(5000);
      return outcome;
    },
  })),
  defect('ping-huge-fails', 'Fails on a timeout that is not a safe integer.', LIMIT, ({ pingTimeout }) => ({
    pingTimeout: (asked) => {
      if (!Number.isSafeInteger(asked)) throw new RangeError('the timeout is not exact');
      return pingTimeout(asked);
    },
  })),
  defect('ping-unlimited', 'Waits as long as asked, even beyond ten seconds.', LIMIT, {
    pingTimeout: (asked) => (asked > 0 ? Math.min(asked, A_DAY_NANOS) : 'refuse'),
  }),
  defect('ping-32-bit', 'Refuses a timeout that 32 bits do not hold.', SUCCESS, ({ pingTimeout }) => ({
    pingTimeout: (asked) => (asked < 2 ** 31 ? pingTimeout(asked) : 'refuse'),
  })),
  defect('ping-never-succeeds', 'Calls every ping a timeout.', SUCCESS, {
    pingAnswer: () => ({ status: 200, body: { code: 'timeout' } }),
  }),
  defect('ping-round-trip-too-long', 'Gives the round trip in picoseconds.', SUCCESS, {
    pingAnswer: ({ code, round_trip_nanos }) => ({
      status: 200,
      body: { code, ...(round_trip_nanos !== undefined && { round_trip_nanos: round_trip_nanos * 1000 }) },
    }),
  }),
  defect('ping-round-trip-missing', 'Omits the round trip.', SUCCESS, {
    pingAnswer: ({ code }) => ({ status: 200, body: { code } }),
  }),
  defect(
    'ping-unknown-device',
    'Answers as after a timeout whatever names an unknown device.',
    ['platform.ping.unknown-device', 'platform.robust.references'],
    ({ error }) => ({
      error: (facts) => (facts.code === 'device_not_found' ? { status: 200, body: { code: 'timeout' } } : error(facts)),
    }),
  ),
  defect('ping-body-unread', 'Treats any body as a ping of one second.', ['platform.ping.bad-body'], (reference) => ({
    pingTimeout: (asked) => (Number.isInteger(asked) ? reference.pingTimeout(asked) : 1_000_000_000),
    readBody: (bytes, strict) => {
      try {
        return strict(bytes);
      } catch (error) {
        if (bytes.length > 1000) throw error;
        return {};
      }
    },
    ...unchecked('pingDevice')(reference),
  })),
];

export const variants = [
  variant('ping-at-least-a-second', 'Waits at least a second for a device.', ({ ping }) => ({
    ping: (link, deviceId, timeoutNanos) => ping(link, deviceId, Math.max(timeoutNanos, 1_000_000_000)),
  })),
  variant('ping-slow-device', 'Reaches devices over a slow link: no round trip takes less than 1.5 s.', ({ ping }) => ({
    ping: async (link, deviceId, timeoutNanos) => {
      const spentNanos = Math.min(timeoutNanos, SLOW_LINK_NANOS);
      await sleep(spentNanos / 1e6);
      if (timeoutNanos <= SLOW_LINK_NANOS) return { code: 'timeout' };
      const outcome = await ping(link, deviceId, timeoutNanos - spentNanos);
      return outcome.code === 'timeout'
        ? outcome
        : { ...outcome, round_trip_nanos: outcome.round_trip_nanos + spentNanos };
    },
  })),
  variant('ping-long-clamped', 'Clamps a ping of more than 10 seconds instead of refusing it.', {
    pingTimeout: (asked) => (asked > 0 ? Math.min(asked, PING_TIMEOUT_MAXIMUM_NANOS) : 'refuse'),
  }),
  variant('ping-timeout-408', 'Answers 408 to a ping that nobody answered.', unanswered(408, { code: 'timeout' })),
  variant(
    'ping-timeout-504',
    'Answers 504 with an error body to a ping that nobody answered.',
    ({ error, pingAnswer }) => ({
      pingAnswer: (outcome, elapsed) =>
        outcome.code === 'timeout'
          ? error({ status: 504, code: 'device_unreachable', params: {}, message: 'the device did not answer' })
          : pingAnswer(outcome, elapsed),
    }),
  ),
  variant(
    'ping-other-words',
    'Answers an unanswered ping with another code and a round trip of null.',
    unanswered(200, { code: 'unreachable', round_trip_nanos: null }),
  ),
];
