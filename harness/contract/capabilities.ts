/** Capabilities that targets declare; a check applies only to a target with all needed capabilities. */
import { CLIENT_JOBS, type ClientJob, JOB_TABLE } from './client.ts';
import { SUPPORTED_CODENAMES, type SupportedCodename, versionNamed } from './versions.ts';

const DEVICE_CAPABILITIES = {
  unix: 'the Device API is on a unix socket',
  loopback: 'the Device API is on loopback TCP, with a discovery file',
  root: 'Muster runs as root, so that it can try file permissions as another user',
  drive: 'control can create deployments and publish events',
  compact: 'control can compact the event log',
  restart: 'control can stop and start the agent',
  log: 'the JSONL event log can be read, and written while the agent is stopped',
  files: 'the folder of config files can be read',
} as const;

const PLATFORM_CAPABILITIES = {
  write: 'the suite may create resources on the platform (not with --read-only)',
  'seed-data': 'the platform holds enough items to page through, or the suite may create them',
  'limited-key': 'an API key without devices:read was given (--limited-key)',
  'online-device': 'a device that answers a ping is known (--online-device)',
  'offline-device': 'a device that does not answer is known (--offline-device)',
} as const;

const CLIENT_CAPABILITIES = {
  url: 'the client reaches a Device API by a URL',
  socket: 'the client reaches a Device API on a unix socket',
  discovery: 'the client reaches a Device API on loopback TCP, by a discovery file',
  deduplicates: 'the client dispatches an event that comes twice only once',
  heartbeat: 'the client can be told the heartbeat interval of the agent (MUSTER_HEARTBEAT_SECONDS)',
} as const;

export type Capability =
  | keyof typeof DEVICE_CAPABILITIES
  | keyof typeof PLATFORM_CAPABILITIES
  | ClientJob
  | keyof typeof CLIENT_CAPABILITIES
  | SupportedCodename;

export const CAPABILITIES_OF: Readonly<Record<'device' | 'platform' | 'client', readonly Capability[]>> = {
  device: Object.keys(DEVICE_CAPABILITIES) as Capability[],
  platform: [...(Object.keys(PLATFORM_CAPABILITIES) as Capability[]), ...SUPPORTED_CODENAMES],
  client: [...CLIENT_JOBS, ...(Object.keys(CLIENT_CAPABILITIES) as Capability[])],
};

export const CAPABILITIES: readonly Capability[] = Object.values(CAPABILITIES_OF).flat();

export const CAPABILITY_MEANINGS = {
  ...DEVICE_CAPABILITIES,
  ...PLATFORM_CAPABILITIES,
  ...Object.fromEntries(CLIENT_JOBS.map((job) => [job, `the client ${JOB_TABLE[job].means} (job ${job})`])),
  ...CLIENT_CAPABILITIES,
  ...Object.fromEntries(SUPPORTED_CODENAMES.map((name) => [name, `the platform accepts ${versionNamed(name)}`])),
} as Readonly<Record<Capability, string>>;

export const CAPABILITY_OPTIONS: Readonly<Partial<Record<Capability, string>>> = {
  unix: '--socket PATH',
  loopback: '--discovery FILE',
  drive: '--control ADDRESS',
  compact: '--control with POST /compact',
  restart: '--command, or --control with POST /stop and /start',
  log: '--control that names event_log',
  files: '--control that names config_root',
  'limited-key': '--limited-key KEY',
  'online-device': '--online-device ID',
  'offline-device': '--offline-device ID',
};
