/** API versions (specification section 9) and header dialects. */
import { guardOf } from './guard.ts';

/** Path prefix of the Device API. */
export const DEVICE_API_PREFIX = '/v0.2';
/** Oldest first. */
export const PLATFORM_VERSIONS = [
  '2025-10-21.zion',
  '2026-03-09.tetons',
  '2026-05-06.rainier',
  '2026-08-17.everglades',
] as const;
export type PlatformVersion = (typeof PLATFORM_VERSIONS)[number];
export const isPlatformVersion = guardOf(PLATFORM_VERSIONS);

export const END_OF_LIFE_VERSIONS = ['2025-10-21.zion'] as const satisfies readonly PlatformVersion[];
export const SUPPORTED_VERSIONS = [
  '2026-03-09.tetons',
  '2026-05-06.rainier',
  '2026-08-17.everglades',
] as const satisfies readonly PlatformVersion[];
export type SupportedVersion = (typeof SUPPORTED_VERSIONS)[number];
export const NEWEST_VERSION: SupportedVersion = '2026-08-17.everglades';

/** Whether `version` is `since` or later, by release order. */
export function atLeast(version: PlatformVersion, since: PlatformVersion): boolean {
  return PLATFORM_VERSIONS.indexOf(version) >= PLATFORM_VERSIONS.indexOf(since);
}

export const DIALECTS = ['spec', 'miru'] as const;
export type Dialect = (typeof DIALECTS)[number];

/** Header names that differ between the specification and the published service of the same design. */
export interface DialectNames {
  /** Carries the API version. */
  versionHeader: string;
  /** Prefix of the headers by which an agent describes itself (`-Version`, `-Host-Name`, `-Arch`, `-Language`, `-OS`). */
  agentHeaderPrefix: string;
  /** `iss` claim of a device token. */
  tokenIssuer: string;
  /** Directory below which a default file path is derived for a config schema without slots. */
  configRoot: string;
}

export const DIALECT_NAMES: Record<Dialect, DialectNames> = {
  spec: {
    versionHeader: 'Service-Version',
    agentHeaderPrefix: 'Agent',
    tokenIssuer: 'service',
    configRoot: '/srv/configs',
  },
  miru: {
    versionHeader: 'Miru-Version',
    agentHeaderPrefix: 'Miru-Agent',
    tokenIssuer: 'miru',
    configRoot: '/srv/miru/configs',
  },
};

/** What an agent sends as API version on its own interface. */
export const AGENT_API_VERSION = 'v0.4';
