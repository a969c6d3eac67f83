/** Checks key, scope and version before a body is read. */
import { inVersion, type Operation } from '../../../harness/contract/platform/operation.ts';
import type { SupportedVersion } from '../../../harness/contract/versions.ts';
import { END_OF_LIFE_VERSIONS, SUPPORTED_VERSIONS } from '../../../harness/contract/versions.ts';
import type { Core } from '../core.ts';
import type { ApiKey, KeyRing } from '../keys.ts';
import { PlatformError } from '../ports.ts';

export interface Admitted {
  key: ApiKey;
  version: SupportedVersion;
}

export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Throws PlatformError. */
export function admit(core: Core, keys: KeyRing, operation: Operation, headers: RequestHeaders): Admitted {
  const { behaviour } = core;
  const presented = headerText(headers, 'x-api-key');
  const key = behaviour.authenticate(keys.find(presented), presented, keys.keys, operation.id);
  if (key === undefined) {
    const problem = presented === undefined ? 'the header X-API-Key is missing' : 'the API key is not known';
    throw new PlatformError(401, 'unauthorized', problem);
  }
  const version = versionOf(core, headers);
  if (!inVersion(operation, version) && !behaviour.servesForeignOperations) {
    throw new PlatformError(404, 'unknown_route', `${operation.method} ${operation.path} is no part of ${version}`);
  }
  for (const scope of operation.scopes) {
    if (!behaviour.permits(key, scope)) {
      throw new PlatformError(403, 'missing_scope', `the API key lacks the scope ${scope}`, { scope });
    }
  }
  return { key, version };
}

function versionOf(core: Core, headers: RequestHeaders): SupportedVersion {
  const { versionHeader } = core.names;
  const asked = headerText(headers, versionHeader.toLowerCase());
  const version = core.behaviour.version(asked);
  if (version !== undefined) return version;
  const accepted = { header: versionHeader, accepted: SUPPORTED_VERSIONS };
  if (asked === undefined)
    throw new PlatformError(400, 'version_required', `the header ${versionHeader} is missing`, accepted);
  if ((END_OF_LIFE_VERSIONS as readonly string[]).includes(asked)) {
    throw new PlatformError(400, 'version_end_of_life', `the version ${asked} is no longer supported`, accepted);
  }
  const shown = JSON.stringify(asked.slice(0, 64));
  throw new PlatformError(400, 'version_unknown', `${versionHeader}: ${shown} is no version of this API`, accepted);
}

function headerText(headers: RequestHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}
