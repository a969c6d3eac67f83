/** Requests that outlast a rate limit (the specification shows none, so a platform may have one), and answers in words. */

import type { HttpClient, HttpRequest, HttpResponse } from '../../../harness/client/http.ts';
import { type SupportedCodename, versionNamed } from '../../../harness/contract/versions.ts';
import { show } from '../../../harness/runner/violation.ts';
import type { Platform } from './platform.ts';
import { gateOf } from './rate-limit.ts';
import { noteWrite } from './writes.ts';

/** How long one request may be put off: beyond it a platform is not limiting, it is refusing. */
const PUT_OFF_MS = 60_000;

/** Sends, and sends again after a pause for as long as the answer is 429. Throws Blocked when that goes on for a minute. */
export async function send(t: Platform, request: HttpRequest, http: HttpClient = t.http): Promise<HttpResponse> {
  const whole = { ...request, headers: { accept: 'application/json', ...request.headers } };
  const gate = gateOf(http.endpoint, request.path);
  const until = performance.now() + PUT_OFF_MS;
  for (let attempt = 0; ; attempt += 1) {
    await gate.pass(t.signal);
    const response = await http.request(whole);
    if (response.status !== 429) {
      noteWrite(http.endpoint, request, response.status);
      return response;
    }
    if (performance.now() > until) break;
    gate.close(response.headers, attempt);
  }
  return t.blocked(`the platform went on answering 429 to ${request.method ?? 'GET'} ${request.path} for a minute`);
}

/** The same platform, spoken to in another version. */
export function speaking(t: Platform, version: string): HttpClient {
  return t.http.with({ headers: { ...t.http.headers, [t.versionHeader]: version } });
}

/** Runs a check in one version, whatever version the run speaks. */
export const inVersion = (t: Platform, codename: SupportedCodename): Platform => ({
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
