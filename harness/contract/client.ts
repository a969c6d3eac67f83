/**
 * How Muster tells a client under test its job, by environment variables, and what each job is: one row of `JOB_TABLE`.
 * Without shapes, so that it loads in no time. `fixtures/client.md` is the page for those who write a client.
 */
import type { Deployment } from './device-api.ts';

/** How a client can reach a Device API, the one that is used first when it has several. */
export const CLIENT_PLACES = ['url', 'socket', 'discovery'] as const;
export type ClientPlace = (typeof CLIENT_PLACES)[number];

/** Names of the environment variables. */
export const CLIENT_VARIABLES = {
  job: 'MUSTER_JOB',
  deviceUrl: 'MUSTER_DEVICE_URL',
  socket: 'MUSTER_DEVICE_SOCKET',
  discovery: 'MUSTER_DISCOVERY_FILE',
  heartbeatSeconds: 'MUSTER_HEARTBEAT_SECONDS',
  types: 'MUSTER_TYPES',
  platformUrl: 'MUSTER_PLATFORM_URL',
  platformKey: 'MUSTER_PLATFORM_KEY',
  platformVersion: 'MUSTER_PLATFORM_VERSION',
  collection: 'MUSTER_COLLECTION',
  limit: 'MUSTER_LIMIT',
  device: 'MUSTER_DEVICE_ID',
  pingNanos: 'MUSTER_PING_TIMEOUT_NANOS',
  release: 'MUSTER_RELEASE_ID',
} as const;
/** What the environment says, by the names above. */
export type ClientValues = Readonly<Partial<Record<keyof typeof CLIENT_VARIABLES, string | undefined>>>;

/** The environment that says so. */
export const clientVariables = (values: ClientValues): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [CLIENT_VARIABLES[name as keyof ClientValues], value ?? '']),
  );

/** The deployment that a server answers with where a check says nothing else. */
export const DEPLOYMENT: Deployment = {
  object: 'deployment',
  id: 'dpl_Qa9Ws2',
  description: 'the second one',
  status: 'deployed',
  activity_status: 'deployed',
  error_status: 'none',
  target_status: 'deployed',
  device_id: 'dvc_Xw2Yc8',
  release_id: 'rls_Kq7Lm3',
  created_at: '2026-05-06T10:00:00Z',
};

/** All that is known of a job in one place. A new one is a row here, a file of checks and one of defects. */
interface Job {
  /** Completes `the client …`, as the meaning of the capability. */
  readonly means: string;
  readonly api: 'device' | 'platform';
  /** Variables that it is given beside those of its API, with their usual values. */
  readonly given: ClientValues;
  /** Its request; `{device}` stands for the value of that variable. */
  readonly request: {
    readonly method: 'GET' | 'POST';
    readonly path: string;
    readonly body?: Readonly<Record<string, string>>;
    /** The specification shows no path: a client may ask at another one. */
    readonly isPathOpen?: true;
    /** It may have been carried out when no answer came, so that it is not sent again. */
    readonly isOnce?: true;
  };
  /** What a server answers where a check says nothing else; undefined for a stream, and for pages. */
  readonly answer: object | undefined;
  /** Kinds of lines that the client prints; `client-lines.ts` has their shapes. */
  readonly lines: readonly string[];
  /** A line that claims success without having it: what is no client prints it. */
  readonly claim: { readonly saw: string; readonly [member: string]: unknown };
  /** Id of the plainest check: others mean nothing where it fails. */
  readonly plainest: string;
}

/** What a client can be asked to do, by MUSTER_JOB. `describe` comes first and is never declared. */
export const JOB_TABLE = {
  follow: {
    means: 'follows the event stream of a Device API',
    api: 'device',
    given: {},
    request: { method: 'GET', path: '/events' },
    answer: undefined,
    lines: ['event', 'gap', 'end'],
    claim: { saw: 'event', id: 1, type: 'deployment.deployed', data: {} },
    plainest: 'client.stream.dispatch',
  },
  current: {
    means: 'asks a Device API for the current deployment',
    api: 'device',
    given: {},
    request: { method: 'GET', path: '/deployments/current' },
    answer: DEPLOYMENT,
    lines: ['deployment'],
    claim: { saw: 'deployment', deployment: { id: 'x' } },
    plainest: 'client.current.shown',
  },
  list: {
    means: 'lists a collection of a Platform API',
    api: 'platform',
    given: { collection: 'devices' },
    request: { method: 'GET', path: '/{collection}' },
    answer: undefined,
    lines: ['item'],
    claim: { saw: 'item', item: { id: 'x' } },
    plainest: 'client.pages.items',
  },
  ping: {
    means: 'pings a device through a Platform API',
    api: 'platform',
    given: { device: DEPLOYMENT.device_id },
    request: { method: 'POST', path: '/devices/{device}/ping' },
    answer: { code: 'success', round_trip_nanos: 4_200_000 },
    lines: ['pong'],
    claim: { saw: 'pong', code: 'success', round_trip_nanos: 1 },
    plainest: 'client.ping.answer',
  },
  deploy: {
    means: 'creates a deployment on a Platform API',
    api: 'platform',
    given: { device: DEPLOYMENT.device_id, release: DEPLOYMENT.release_id },
    request: {
      method: 'POST',
      path: '/deployments',
      body: { device_id: '{device}', release_id: '{release}', target_status: 'deployed' },
      isPathOpen: true,
      isOnce: true,
    },
    answer: DEPLOYMENT,
    lines: ['deployment'],
    claim: { saw: 'deployment', deployment: { id: 'x' } },
    plainest: 'client.deploy.shown',
  },
} as const satisfies Readonly<Record<string, Job>>;

export type ClientJob = keyof typeof JOB_TABLE;
/** Jobs that end by themselves. */
export type CallJob = Exclude<ClientJob, 'follow'>;

type JobOf<Api> = { [J in ClientJob]: (typeof JOB_TABLE)[J]['api'] extends Api ? J : never }[ClientJob];
export type PlatformJob = JobOf<'platform'>;

/** What is known of a job. */
export const jobOf = (job: ClientJob): Job => JOB_TABLE[job];

export const CLIENT_JOBS = Object.keys(JOB_TABLE) as ClientJob[];
export const CALL_JOBS = CLIENT_JOBS.filter((job): job is CallJob => job !== 'follow');
const jobsOf = <Api extends Job['api']>(api: Api) =>
  CLIENT_JOBS.filter((job): job is JobOf<Api> => JOB_TABLE[job].api === api);
/** Those that speak to a Device API. */
export const DEVICE_JOBS = jobsOf('device');
/** Those that speak to a Platform API. */
export const PLATFORM_JOBS = jobsOf('platform');

/** A template with the values of the variables that it names. */
export const filledIn = (template: string, values: ClientValues): string =>
  template.replace(/\{(\w+)\}/g, (_, name: keyof ClientValues) => values[name] ?? '');
