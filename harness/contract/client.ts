/**
 * Jobs of a client under test, the environment variables that assign a job, and the JSON lines of a client: its
 * description and its observations; see `fixtures/client.md`.
 */
import type { Static, TSchema } from 'typebox';
import type { Deployment } from './device-api.ts';
import { objectShape, shape, Type } from './shape.ts';

/** Ways to reach a Device API, in order of preference. */
export const CLIENT_PLACES = ['url', 'socket', 'discovery'] as const;
export type ClientPlace = (typeof CLIENT_PLACES)[number];

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
export type ClientValues = Readonly<Partial<Record<keyof typeof CLIENT_VARIABLES, string | undefined>>>;

export const clientVariables = (values: ClientValues): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [CLIENT_VARIABLES[name as keyof ClientValues], value ?? '']),
  );

export const DEPLOYMENT: Deployment = {
  object: 'deployment',
  id: 'dpl_Qa9Ws2',
  description: 'the second one',
  status: 'deployed',
  activity_status: 'deployed',
  error_status: 'none',
  target_status: 'deployed',
  device_id: 'dvc_1',
  release_id: 'rls_Kq7Lm3',
  created_at: '2026-05-06T10:00:00Z',
};

interface Job {
  /** Completes the sentence `the client ...`. */
  readonly means: string;
  readonly api: 'device' | 'platform';
  readonly given: ClientValues;
  /** `{device}` in `path` and `body` stands for the value of the variable `device`. */
  readonly request: {
    readonly method: 'GET' | 'POST';
    readonly path: string;
    readonly body?: Readonly<Record<string, string>>;
    /** A client may use any path, because the specification names none. */
    readonly isPathOpen?: true;
    /** A client must not repeat the request, because an unanswered one may have been carried out. */
    readonly isOnce?: true;
  };
  readonly answer: object | undefined;
  readonly lines: readonly string[];
  readonly claim: { readonly saw: string; readonly [member: string]: unknown };
  /** Id of the simplest check, on which the job's other checks depend. */
  readonly plainest: string;
}

/** Jobs by the value of MUSTER_JOB; every client also knows `describe`. */
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
export type CallJob = Exclude<ClientJob, 'follow'>;

type JobOf<Api> = { [J in ClientJob]: (typeof JOB_TABLE)[J]['api'] extends Api ? J : never }[ClientJob];
export type PlatformJob = JobOf<'platform'>;

export const jobOf = (job: ClientJob): Job => JOB_TABLE[job];

export const CLIENT_JOBS = Object.keys(JOB_TABLE) as ClientJob[];
export const CALL_JOBS = CLIENT_JOBS.filter((job): job is CallJob => job !== 'follow');
const jobsOf = <Api extends Job['api']>(api: Api) =>
  CLIENT_JOBS.filter((job): job is JobOf<Api> => JOB_TABLE[job].api === api);
export const DEVICE_JOBS = jobsOf('device');
export const PLATFORM_JOBS = jobsOf('platform');

export const filledIn = (template: string, values: ClientValues): string =>
  template.replace(/\{(\w+)\}/g, (_, name: keyof ClientValues) => values[name] ?? '');

/** Line that a client prints if MUSTER_JOB is `describe`. */
export const clientDescription = objectShape('ClientDescription', {
  jobs: Type.Array(Type.String(), { description: `Jobs that it knows, among ${CLIENT_JOBS.join(', ')}` }),
  reaches: Type.Optional(
    Type.Array(Type.String(), {
      description: `Ways to a Device API that it knows, among ${CLIENT_PLACES.join(', ')}; url when left out`,
    }),
  ),
  deduplicates: Type.Optional(Type.Boolean({ description: 'It dispatches an event that comes twice only once' })),
  heartbeat: Type.Optional(
    Type.Boolean({ description: 'It takes the heartbeat interval of the agent from MUSTER_HEARTBEAT_SECONDS' }),
  ),
  name: Type.Optional(Type.String()),
  version: Type.Optional(Type.String()),
});
export type ClientDescription = Static<typeof clientDescription.schema>;

type LineKind = (typeof JOB_TABLE)[ClientJob]['lines'][number] | 'error';

const LINES = {
  event: Type.Object({
    saw: Type.Literal('event'),
    id: Type.Union([Type.String(), Type.Integer()], { description: 'Id of the event, as text or as a number' }),
    type: Type.String({ description: 'The type by which it was dispatched' }),
    data: Type.Unknown({ description: 'The payload: member data of the envelope' }),
  }),
  gap: Type.Object({ saw: Type.Literal('gap') }),
  end: Type.Object({ saw: Type.Literal('end'), reason: Type.Optional(Type.String()) }),
  deployment: Type.Object({
    saw: Type.Literal('deployment'),
    deployment: Type.Object({ id: Type.String() }, { description: 'The deployment with its members' }),
  }),
  item: Type.Object({
    saw: Type.Literal('item'),
    item: Type.Object({ id: Type.String() }, { description: 'The item with its members' }),
  }),
  pong: Type.Object({
    saw: Type.Literal('pong'),
    code: Type.String({ description: 'Member code of the answer' }),
    round_trip_nanos: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
  }),
  error: Type.Object({
    saw: Type.Literal('error'),
    status: Type.Optional(Type.Union([Type.Integer(), Type.Null()], { description: 'Status of the answer, if known' })),
    message: Type.Optional(Type.String()),
  }),
} satisfies Record<LineKind, TSchema>;

export type ClientLine = { [K in LineKind]: Static<(typeof LINES)[K]> }[LineKind];

/** Line of an observation; Muster does not judge lines of a different shape, but shows such lines in findings. */
export const clientLine = shape('ClientLine', Type.Unsafe<ClientLine>(Type.Union(Object.values(LINES))));
