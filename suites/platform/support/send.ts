/** Requests that outlast a rate limit (the specification shows none, so a platform may have one), and answers in words. */
import { setTimeout as sleep } from 'node:timers/promises';
import { show } from '../../../harness/check/violation.ts';
import type { HttpClient, HttpRequest, HttpResponse } from '../../../harness/client/http.ts';
import { SUPPORTED_VERSIONS, type SupportedVersion } from '../../../harness/contract/versions.ts';
import type { Platform } from './platform.ts';

const ATTEMPTS = 8;
const LONGEST_PAUSE_MS = 10_000;

/** Sends, and sends again after a pause for as long as the answer is 429. Throws Blocked when that goes on. */
export async function send(t: Platform, request: HttpRequest, http: HttpClient = t.http): Promise<HttpResponse> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const response = await http.request(request);
    if (response.status !== 429) return response;
    await sleep(pauseMs(response.headers['retry-after'], attempt), undefined, { signal: t.signal });
  }
  return t.blocked(`the platform went on answering 429 to ${request.method ?? 'GET'} ${request.path}`);
}

function pauseMs(retryAfter: string | undefined, attempt: number): number {
  const seconds = Number(retryAfter);
  const asked = retryAfter !== undefined && Number.isFinite(seconds) ? seconds * 1000 : 100 * 2 ** attempt;
  return Math.min(Math.max(asked, 50), LONGEST_PAUSE_MS);
}

/** The same platform, spoken to in another version. */
export function speaking(t: Platform, version: string): HttpClient {
  return t.http.with({ headers: { ...t.http.headers, [t.versionHeader]: version } });
}

/** `everglades` → `2026-08-17.everglades`. */
export function versionNamed(codename: 'tetons' | 'rainier' | 'everglades'): SupportedVersion {
  const version = SUPPORTED_VERSIONS.find((candidate) => candidate.endsWith(`.${codename}`));
  if (version === undefined) throw new Error(`no supported version is called ${codename}`);
  return version;
}

/** Runs a check in one version, whatever version the run speaks. */
export const inVersion = (t: Platform, codename: 'tetons' | 'rainier' | 'everglades'): Platform => ({
  ...t,
  http: speaking(t, versionNamed(codename)),
  apiVersion: versionNamed(codename),
});

/** An answer as a finding shows it. */
export const said = (response: HttpResponse): string =>
  `${response.status}${response.text === '' ? ' with no body' : ` ${show(response.text, 300)}`}`;

export const ok = (response: HttpResponse): boolean => response.status >= 200 && response.status <= 299;
export const refused = (response: HttpResponse): boolean => response.status >= 400 && response.status <= 499;
export const broken = (response: HttpResponse): boolean => response.status >= 500;
export const isJson = (response: HttpResponse): boolean =>
  /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(response.headers['content-type'] ?? '');
