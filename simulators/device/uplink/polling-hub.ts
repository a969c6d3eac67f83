/** Options of polling uplinks, and what all their robots share: the platform's public API and the key to it. */
import {
  DIALECT_NAMES,
  type Dialect,
  NEWEST_VERSION,
  type SupportedVersion,
} from '../../../harness/contract/versions.ts';
import { type CommonOptions, parseUrl, type Shared, share } from './shared.ts';

export interface PollingUplinkOptions extends CommonOptions {
  kind: 'polling';
  /** Base URL of the Platform API, e.g. `https://host/beta`; a bare host stands for its `/beta`. */
  platform: string;
  /** Needs the scopes `deployments:read` and `config_instances:read`, and `devices:read` and `devices:write` unless `deviceId` is given. */
  apiKey: string;
  /** Id of the robot's device. Default: the device with its name, created when it does not exist. */
  deviceId?: string;
  apiVersion?: SupportedVersion;
  dialect?: Dialect;
  /** Milliseconds between polls. Default 30 s. */
  intervalMs?: number;
}

const DEFAULT_BASE_PATH = '/beta';
const DEFAULT_INTERVAL_MS = 30_000;

export interface PollingHub extends Shared {
  readonly headers: Record<string, string>;
  readonly deviceId: string | undefined;
  readonly intervalMs: number;
}

/** Throws when an option is not a valid address. */
export function createPollingHub(options: PollingUplinkOptions): PollingHub {
  const { apiKey, apiVersion = NEWEST_VERSION, deviceId, dialect = 'spec', intervalMs = DEFAULT_INTERVAL_MS } = options;
  const baseUrl = parseUrl('platform', options.platform, ['http:', 'https:']);
  if (baseUrl.pathname === '/') baseUrl.pathname = DEFAULT_BASE_PATH;
  const headers = { 'X-API-Key': apiKey, [DIALECT_NAMES[dialect].versionHeader]: apiVersion };
  return Object.assign(share(options, baseUrl), { headers, deviceId, intervalMs });
}
