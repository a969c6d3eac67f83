/** API versions (section 9 of the specification) and dialects of header names. */
import { guardOf } from './enums.ts';

export const DEVICE_API_PREFIX = '/v0.2';

/** Oldest first; `end-of-life` versions are no longer supported. */
export const API_VERSIONS = [
  { id: '2025-10-21.zion', status: 'end-of-life' },
  { id: '2026-03-09.tetons', status: 'supported' },
  { id: '2026-05-06.rainier', status: 'supported' },
  { id: '2026-08-17.everglades', status: 'supported' },
] as const satisfies readonly { id: `${string}.${string}`; status: 'supported' | 'end-of-life' }[];

type Declared = (typeof API_VERSIONS)[number];
type CodenameOf<Id> = Id extends `${string}.${infer Name}` ? Name : never;

export type PlatformVersion = Declared['id'];
export type SupportedVersion = Extract<Declared, { status: 'supported' }>['id'];
/** E.g. `rainier`; also the capability of targets that accept the version. */
export type Codename = CodenameOf<PlatformVersion>;
export type SupportedCodename = CodenameOf<SupportedVersion>;

export const PLATFORM_VERSIONS: readonly PlatformVersion[] = API_VERSIONS.map(({ id }) => id);
export const isPlatformVersion = guardOf(PLATFORM_VERSIONS);
const inStatus = <S extends Declared['status']>(status: S) =>
  API_VERSIONS.filter((version): version is Extract<Declared, { status: S }> => version.status === status);
export const SUPPORTED_VERSIONS: readonly SupportedVersion[] = inStatus('supported').map(({ id }) => id);
export const END_OF_LIFE_VERSIONS: readonly PlatformVersion[] = inStatus('end-of-life').map(({ id }) => id);
export const SUPPORTED_CODENAMES: readonly SupportedCodename[] = SUPPORTED_VERSIONS.map(codenameOf);
export const NEWEST_VERSION = SUPPORTED_VERSIONS.at(-1) as SupportedVersion;

export function codenameOf<Id extends PlatformVersion>(version: Id): CodenameOf<Id> {
  return version.slice(version.indexOf('.') + 1) as CodenameOf<Id>;
}

export function versionNamed(codename: SupportedCodename): SupportedVersion {
  return SUPPORTED_VERSIONS[SUPPORTED_CODENAMES.indexOf(codename)] ?? NEWEST_VERSION;
}

export function atLeast(version: PlatformVersion, since: Codename): boolean {
  const first = PLATFORM_VERSIONS.findIndex((id) => codenameOf(id) === since);
  return PLATFORM_VERSIONS.indexOf(version) >= first;
}

export const versionsFrom = (since: Codename): SupportedVersion[] =>
  SUPPORTED_VERSIONS.filter((version) => atLeast(version, since));

export const codenamesFrom = (since: Codename): SupportedCodename[] => versionsFrom(since).map(codenameOf);

export function codenamesBefore(end: Codename): SupportedCodename[] {
  return SUPPORTED_VERSIONS.filter((version) => !atLeast(version, end)).map(codenameOf);
}

export const DIALECTS = ['spec', 'miru'] as const;
export type Dialect = (typeof DIALECTS)[number];

/** Names that differ between the specification and the published service; `tokenIssuer`: `iss` of device tokens. */
export const NAMES_BY_DIALECT = {
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
} satisfies Record<Dialect, object>;
export type DialectNames = (typeof NAMES_BY_DIALECT)[Dialect];

export const AGENT_API_VERSION = 'v0.4';
