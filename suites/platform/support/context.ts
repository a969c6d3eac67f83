/** What every check of this suite is given, and the same platform in another API version. */
import type { HttpClient } from '../../../harness/client/http.ts';
import {
  atLeast,
  isPlatformVersion,
  type SupportedCodename,
  versionNamed,
} from '../../../harness/contract/versions.ts';
import type { CheckContext } from '../../../harness/runner/types.ts';
import type { PlatformContext } from '../../../harness/targets/opened.ts';

export type Platform = PlatformContext & CheckContext;

/** A client of the same platform that asks for another API version. */
export function speaking(t: Platform, version: string): HttpClient {
  return t.http.with({ headers: { ...t.http.headers, [t.versionHeader]: version } });
}

/** The same platform in one API version, whichever version the run speaks. */
export const inVersion = (t: Platform, codename: SupportedCodename): Platform => ({
  ...t,
  http: speaking(t, versionNamed(codename)),
  apiVersion: versionNamed(codename),
});

export const speaksAtLeast = (t: Platform, codename: SupportedCodename): boolean =>
  isPlatformVersion(t.apiVersion) && atLeast(t.apiVersion, codename);
