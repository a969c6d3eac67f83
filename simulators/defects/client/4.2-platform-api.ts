import { CallFailed, type JobBehaviour } from '../../client/behaviour.ts';
import { defect, isDeploymentStatus, variant } from '../define-client.ts';

const TIMEOUT = ['client.ping.timeout'];

const trip = (line: Record<string, unknown>, kept: (nanos: number) => number) => ({
  ...line,
  round_trip_nanos: kept(Number(line['round_trip_nanos'])),
});

const nanos = (timeout_nanos: unknown) => ({ ping: { body: () => ({ timeout_nanos }) } });

const failing =
  (why: (value: Readonly<Record<string, unknown>>) => string | undefined) =>
  ({ shown }: JobBehaviour): Pick<JobBehaviour, 'shown'> => ({
    shown: (value) => {
      const reason = why(value);
      if (reason !== undefined) throw new CallFailed(reason);
      return shown(value);
    },
  });

const UNKNOWN = ['client.deploy.unknown'];

export const defects = [
  defect('ping-without-time', 'Does not give the round trip to its caller.', ['client.ping.answer'], {
    jobs: { ping: { shown: ({ code }) => ({ code: String(code) }) } },
  }),
  defect('ping-in-ms', 'Gives the round trip in milliseconds.', ['client.ping.answer'], {
    jobs: {
      ping: {
        shown: ({ code, round_trip_nanos: trip }) => ({
          code: String(code),
          round_trip_nanos: Math.round(Number(trip ?? 0) / 1e6),
        }),
      },
    },
  }),
  defect('ping-in-32-bits', 'Keeps the round trip in 32 bits.', ['client.ping.round-trip'], {
    jobs: { ping: ({ shown }) => ({ shown: (value) => trip(shown(value), (nanos) => nanos | 0) }) },
  }),
  defect('ping-as-float', 'Keeps the round trip as a short floating-point number.', ['client.ping.round-trip'], {
    jobs: { ping: ({ shown }) => ({ shown: (value) => trip(shown(value), Math.fround) }) },
  }),
  defect('ping-as-form', 'Calls the body of a ping a form.', ['client.ping.body'], {
    jobs: { ping: { headers: { 'Content-Type': 'application/x-www-form-urlencoded' } } },
  }),
  defect('ping-20s', 'Lets the platform wait for 20 seconds.', TIMEOUT, { jobs: nanos(20_000_000_000) }),
  defect('ping-in-seconds', 'Sends its timeout as a number of seconds with a fraction.', TIMEOUT, { jobs: nanos(2.5) }),
  defect('ping-as-text', 'Sends its timeout as text.', TIMEOUT, { jobs: nanos('2s') }),
  defect('ping-2000', 'Sends its own timeout in milliseconds.', TIMEOUT, { jobs: nanos(2000) }),
  defect('ping-wish-in-ms', 'Sends the timeout that its caller wants in milliseconds.', ['client.ping.wish'], {
    jobs: {
      ping: ({ body }) => ({
        body: ({ pingNanos, ...wanted }) =>
          pingNanos === undefined ? body(wanted) : { timeout_nanos: Number(pingNanos) / 1e6 },
      }),
    },
  }),
  defect('ping-passes-on', 'Passes any timeout of its caller on.', ['client.ping.longest'], {
    jobs: { ping: { body: ({ pingNanos = 2_000_000_000 }) => ({ timeout_nanos: Number(pingNanos) }) } },
  }),
  defect(
    'ping-impatient',
    'Gives up before the time that it let the platform wait is over.',
    ['client.ping.patience'],
    { jobs: nanos(6_000_000_000), calls: { answerMs: () => 2500, retry: () => undefined } },
  ),
  defect('ping-strict', 'Breaks down at members that it does not know.', ['client.ping.unknown-members'], {
    jobs: { ping: failing((value) => (Object.keys(value).length > 2 ? 'unknown members' : undefined)) },
  }),
  defect(
    'ping-typed-success',
    'Takes every answer for a success that has all members of one.',
    ['client.ping.unknown-code'],
    {
      jobs: {
        ping: {
          shown: ({ round_trip_nanos }) => {
            if (!Number.isInteger(round_trip_nanos)) throw new CallFailed('no round trip');
            return { code: 'success', round_trip_nanos };
          },
        },
      },
    },
  ),
  defect('ping-always-success', 'Takes every answer of a ping for a success.', ['client.ping.unknown-code'], {
    jobs: { ping: ({ shown }) => ({ shown: (value) => ({ ...shown(value), code: 'success' }) }) },
  }),
  defect('deploy-strict', 'Breaks down at a status of the new deployment that it does not know.', UNKNOWN, {
    jobs: { deploy: failing(({ status }) => (isDeploymentStatus(status) ? undefined : 'unknown status')) },
  }),
  defect('deploys-twice', 'Creates two deployments for one call.', ['client.deploy.shown'], {
    jobs: { deploy: { requests: 2 } },
  }),
  defect('parent-null', 'Asserts that the device has no deployment, without a look.', ['client.deploy.parent'], {
    jobs: { deploy: ({ body }) => ({ body: (wanted) => ({ ...body(wanted), parent_id: null }) }) },
  }),
];

export const variants = [
  variant('ping-without-timeout', 'Leaves the timeout of a ping to the platform.', {
    jobs: { ping: { body: () => ({}) } },
  }),
  variant('ping-own-time', 'Lets the platform wait for two seconds, whatever its caller wants.', {
    jobs: nanos(2_000_000_000),
  }),
  variant('ping-less', 'Keeps a tenth of the timeout that its caller wants for itself.', {
    jobs: {
      ping: ({ body }) => ({
        body: (wanted) => {
          const { timeout_nanos: nanos } = body(wanted) ?? {};
          return typeof nanos === 'number' ? { timeout_nanos: Math.round(nanos * 0.9) } : {};
        },
      }),
    },
  }),
  variant('ping-longest', 'Lets the platform wait for ten seconds.', { jobs: nanos(10_000_000_000) }),
  variant('ping-refuses', 'Refuses a timeout above ten seconds, and sends nothing.', {
    jobs: {
      ping: ({ body }) => ({
        body: (wanted) => {
          if (Number(wanted.pingNanos ?? 0) > 10_000_000_000) throw new CallFailed('more than 10 s');
          return body(wanted);
        },
      }),
    },
  }),
  variant('ping-code-as-error', 'Tells any code but success as an error.', {
    jobs: { ping: failing(({ code }) => (code === 'success' ? undefined : `the ping ended with ${code}`)) },
  }),
  variant('charset', 'Names the character set of its bodies.', {
    jobs: { ping: { headers: { 'content-type': 'application/json; charset=utf-8' } } },
  }),
  variant('deploys-again', 'Creates a deployment again when no answer came.', {
    calls: ({ retry }) => ({ retry: (why) => retry(why.job === 'deploy' ? { ...why, job: 'list' } : why) }),
  }),
];
