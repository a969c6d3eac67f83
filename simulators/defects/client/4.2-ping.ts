/** Clients that ping wrongly. */
import { CallFailed } from '../../client/reference-call.ts';
import { defect, variant } from '../define-client.ts';

const JSON_TYPE = { 'Content-Type': 'application/json' };

export const defects = [
  defect('ping-without-time', 'Does not give the round trip to its caller.', ['client.ping.answer'], {
    calls: { pong: ({ code }) => ({ code: String(code) }) },
  }),
  defect('ping-in-ms', 'Gives the round trip in milliseconds.', ['client.ping.answer'], {
    calls: {
      pong: ({ code, round_trip_nanos: nanos }) => ({
        code: String(code),
        round_trip_nanos: Math.round(Number(nanos ?? 0) / 1e6),
      }),
    },
  }),
  defect('ping-as-form', 'Calls the body of a ping a form.', ['client.ping.body'], {
    calls: ({ ping }) => ({
      ping: (wanted) => ({ ...ping(wanted), headers: { 'Content-Type': 'application/x-www-form-urlencoded' } }),
    }),
  }),
  defect('ping-20s', 'Lets the platform wait for 20 seconds.', ['client.ping.timeout'], {
    calls: { ping: () => ({ headers: JSON_TYPE, body: { timeout_nanos: 20_000_000_000 } }) },
  }),
  defect('ping-in-seconds', 'Sends its timeout as a number of seconds with a fraction.', ['client.ping.timeout'], {
    calls: { ping: () => ({ headers: JSON_TYPE, body: { timeout_nanos: 2.5 } }) },
  }),
  defect('ping-as-text', 'Sends its timeout as text.', ['client.ping.timeout'], {
    calls: { ping: () => ({ headers: JSON_TYPE, body: { timeout_nanos: '2s' } }) },
  }),
  defect('ping-passes-on', 'Passes any timeout of its caller on.', ['client.ping.longest'], {
    calls: { ping: (wanted = 2_000_000_000) => ({ headers: JSON_TYPE, body: { timeout_nanos: wanted } }) },
  }),
  defect(
    'ping-impatient',
    'Gives up before the time that it let the platform wait is over.',
    ['client.ping.patience'],
    {
      calls: {
        ping: () => ({ headers: JSON_TYPE, body: { timeout_nanos: 6_000_000_000 } }),
        answerMs: () => 2500,
        retry: () => undefined,
      },
    },
  ),
  defect('ping-always-success', 'Takes every answer of a ping for a success.', ['client.ping.unknown-code'], {
    calls: ({ pong }) => ({ pong: (value) => ({ ...pong(value), code: 'success' }) }),
  }),
];

export const variants = [
  variant('ping-without-timeout', 'Leaves the timeout of a ping to the platform.', {
    calls: { ping: () => ({ headers: JSON_TYPE, body: {} }) },
  }),
  variant('ping-longest', 'Lets the platform wait for ten seconds.', {
    calls: { ping: () => ({ headers: JSON_TYPE, body: { timeout_nanos: 10_000_000_000 } }) },
  }),
  variant('ping-refuses', 'Refuses a timeout above ten seconds, and sends nothing.', {
    calls: ({ ping }) => ({
      ping: (wanted) => {
        if (wanted !== undefined && wanted > 10_000_000_000) throw new CallFailed('more than 10 s');
        return ping(wanted);
      },
    }),
  }),
  variant('ping-code-as-error', 'Tells any code but success as an error.', {
    calls: ({ pong }) => ({
      pong: (value) => {
        if (value['code'] !== 'success') throw new CallFailed(`the ping ended with ${value['code']}`);
        return pong(value);
      },
    }),
  }),
  variant('charset', 'Names the character set of its bodies.', {
    calls: ({ ping }) => ({
      ping: (wanted) => ({ ...ping(wanted), headers: { 'content-type': 'application/json; charset=utf-8' } }),
    }),
  }),
];
