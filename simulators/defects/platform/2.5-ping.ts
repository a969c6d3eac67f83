import { setTimeout as sleep } from 'node:timers/promises';
import { PING_TIMEOUT_MAXIMUM_NANOS } from '../../../harness/contract/limits.ts';
import type { Answer } from '../../platform/behaviour.ts';
import { defect, type PlatformChange, variant } from '../define-platform.ts';

const LIMIT = ['platform.ping.limit'];

/** Maximum nanoseconds of a timeout: one day, because Node's timers overflow after 24 days. */
const A_DAY_NANOS = 86_400_000_000_000;

const unanswered =
  (answer: Answer): PlatformChange =>
  ({ pingAnswer }) => ({
    pingAnswer: (outcome, elapsed) => (outcome.code === 'timeout' ? answer : pingAnswer(outcome, elapsed)),
  });

export const defects = [
  defect(
    'ping-round-trip-negative',
    'Gives a negative round trip for a ping that nobody answered.',
    ['platform.ping.timeout'],
    unanswered({ status: 200, body: { code: 'timeout', round_trip_nanos: -1 } }),
  ),
  defect('ping-timeout-doubled', 'Waits twice as long as asked.', ['platform.ping.timeout'], ({ ping }) => ({
    ping: (link, deviceId, timeoutNanos) => ping(link, deviceId, timeoutNanos * 2),
  })),
  defect('ping-timeout-is-success', 'Calls a ping that nobody answered a success.', ['platform.ping.timeout'], {
    pingAnswer: (_outcome, elapsed) => ({ status: 200, body: { code: 'success', round_trip_nanos: elapsed } }),
  }),
  defect('ping-patient', 'Waits five seconds longer than asked.', ['platform.ping.timeout'], ({ ping }) => ({
    // Adds five seconds after a timeout only; an answer of the device passes at once.
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
  defect(
    'ping-32-bit',
    'Refuses a timeout that 32 bits do not hold.',
    ['platform.ping.success'],
    ({ pingTimeout }) => ({
      pingTimeout: (asked) => (asked < 2 ** 31 ? pingTimeout(asked) : 'refuse'),
    }),
  ),
  defect('ping-never-succeeds', 'Calls every ping a timeout.', ['platform.ping.success'], {
    pingAnswer: () => ({ status: 200, body: { code: 'timeout' } }),
  }),
  defect('ping-round-trip-too-long', 'Gives the round trip in picoseconds.', ['platform.ping.success'], {
    pingAnswer: ({ code, round_trip_nanos }) => ({
      status: 200,
      body: { code, ...(round_trip_nanos !== undefined && { round_trip_nanos: round_trip_nanos * 1000 }) },
    }),
  }),
  defect('ping-round-trip-missing', 'Omits the round trip.', ['platform.ping.success'], {
    pingAnswer: ({ code }) => ({ status: 200, body: { code } }),
  }),
];

export const variants = [
  variant('ping-at-least-a-second', 'Waits at least a second for a device.', ({ ping }) => ({
    ping: (link, deviceId, timeoutNanos) => ping(link, deviceId, Math.max(timeoutNanos, 1_000_000_000)),
  })),
  variant('ping-long-clamped', 'Clamps a ping of more than 10 seconds instead of refusing it.', {
    pingTimeout: (asked) => (asked > 0 ? Math.min(asked, PING_TIMEOUT_MAXIMUM_NANOS) : 'refuse'),
  }),
  variant(
    'ping-timeout-408',
    'Answers 408 to a ping that nobody answered.',
    unanswered({ status: 408, body: { code: 'timeout' } }),
  ),
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
    unanswered({ status: 200, body: { code: 'unreachable', round_trip_nanos: null } }),
  ),
];
