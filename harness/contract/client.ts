/** How Muster tells a client under test its job: by environment variables. `fixtures/client.md` is the page for those who write one. */

/** What a client can be asked to do, by MUSTER_JOB. `describe` comes first and is never declared. */
export const CLIENT_JOBS = ['follow', 'current', 'list', 'ping', 'deploy'] as const;
export type ClientJob = (typeof CLIENT_JOBS)[number];

/** Those that speak to a Device API; the others speak to a Platform API. */
export const DEVICE_JOBS = ['follow', 'current'] as const satisfies readonly ClientJob[];

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
  platformUrl: 'MUSTER_PLATFORM_URL',
  platformKey: 'MUSTER_PLATFORM_KEY',
  platformVersion: 'MUSTER_PLATFORM_VERSION',
  collection: 'MUSTER_COLLECTION',
  limit: 'MUSTER_LIMIT',
  device: 'MUSTER_DEVICE_ID',
  pingNanos: 'MUSTER_PING_TIMEOUT_NANOS',
  release: 'MUSTER_RELEASE_ID',
} as const;
