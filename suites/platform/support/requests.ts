import { NoAnswerInTime } from '../../../harness/client/errors.ts';
import type { HttpClient, HttpRequest, HttpResponse } from '../../../harness/client/http.ts';
import { isObject } from '../../../harness/common/lenient.ts';
import { type RetryHeaders, retryAfterMs } from '../../../harness/common/units.ts';
import { backoffMs } from '../../../harness/common/waiting.ts';
import { type SupportedCodename, versionNamed } from '../../../harness/contract/versions.ts';
import { Fact, SHORTEST_PAUSE_MS, throttled } from '../../../harness/runner/session.ts';
import type { CheckContext } from '../../../harness/runner/types.ts';
import { shortText } from '../../../harness/runner/violation.ts';
import type { PlatformContext } from '../../../harness/targets/opened.ts';

export type Platform = PlatformContext & CheckContext;

export function clientOfVersion(t: Platform, version: string): HttpClient {
  return t.http.with({ headers: { ...t.http.headers, [t.versionHeader]: version } });
}

export const inVersion = (t: Platform, codename: SupportedCodename): Platform => ({
  ...t,
  http: clientOfVersion(t, versionNamed(codename)),
  apiVersion: versionNamed(codename),
});

interface PlatformRequest extends Omit<HttpRequest, 'timeoutMs'> {
  /** Milliseconds that the request itself is expected to take; the timeout grows by them. */
  takesMs?: number;
  /** Milliseconds of tolerated delay. Default: the timeout of the run. */
  lateMs?: number;
}

/** Milliseconds to wait after a 429 or 503: as long as its headers say, or else twice as long after each attempt. */
export function pauseMs(headers: RetryHeaders, attempt: number): number {
  const pause = retryAfterMs(headers) ?? backoffMs({ firstMs: 100, longestMs: 3200 }, attempt);
  return Math.min(Math.max(pause, SHORTEST_PAUSE_MS), 10_000);
}

/**
 * Maximum number of tries after 503: less than a second in all for an unknown kind of request, because 503 may mean
 * something else than a busy platform. A known kind, answered before, gets 16 s, because a rate limit may answer 503.
 */
const BUSY_TRIES = { unknown: 4, known: 10 };
const UNAVAILABLE_KINDS = new Fact(() => new Set<string>());
const ANSWERED_KINDS = new Fact(() => new Set<string>());

const isLimited = ({ status, headers }: HttpResponse): boolean =>
  status === 429 || (status === 403 && headers['retry-after'] !== undefined);

export async function send(t: Platform, request: PlatformRequest, http: HttpClient = t.http): Promise<HttpResponse> {
  const { method = 'GET', path } = request;
  const whole = { ...request, headers: { accept: 'application/json', ...request.headers } };
  const kind = kindOfRequest(method, path);
  const [unavailable, answered] = [t.session.get(UNAVAILABLE_KINDS), t.session.get(ANSWERED_KINDS)];
  // Pauses all checks together, but pings per device: some platforms allow one ping per device at a time.
  const gate = t.session.gate(path.endsWith('/ping') ? path : '');
  const isBusy = ({ status }: HttpResponse): boolean =>
    status === 503 && !path.endsWith('/ping') && !unavailable.has(kind);
  const isDueAgain = throttled<HttpResponse>({
    gate,
    signal: t.signal,
    isThrottled: (answer) => isLimited(answer) || isBusy(answer),
    pauseMs: (answer, attempt) => {
      const tries = BUSY_TRIES[answered.has(kind) ? 'known' : 'unknown'];
      const isLast = isBusy(answer) ? attempt + 1 >= tries : gate.isUsedUp;
      return isLast ? undefined : pauseMs(answer.headers, attempt);
    },
  });
  await gate.pass(t.signal);
  let response: HttpResponse;
  do response = await sendOnce(t, whole, http);
  while (await isDueAgain(response));
  if (isLimited(response))
    t.blocked(`the platform kept answering ${response.status} for a minute, at last to ${method} ${path}`);
  gate.isUsedUp = false;
  (isBusy(response) ? unavailable : answered).add(kind);
  if (method !== 'GET' && ok(response)) t.session.get(SUCCESSFUL_WRITES).add(kind);
  return NUMBER_ID.test(response.text) ? { ...response, json: withTextIds(response.json) } : response;
}

const NUMBER_ID = /"id"\s*:\s*\d/;

/** Writes integer ids as texts, except in deployments, whose ids alone have a stated type (section 2.1). */
export function withTextIds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withTextIds);
  if (!isObject(value) || value['object'] === 'deployment') return value;
  const members = Object.entries(value).map(([name, each]) => {
    const isId = (name === 'id' || name.endsWith('_id')) && Number.isInteger(each);
    return [name, isId ? String(each) : withTextIds(each)];
  });
  return Object.fromEntries(members);
}

async function sendOnce(t: Platform, request: PlatformRequest, http: HttpClient): Promise<HttpResponse> {
  const { takesMs = 0, lateMs = t.patienceMs, ...rest } = request;
  const waits = t.session.waits.platform;
  const kind = kindOfRequest(request.method ?? 'GET', request.path);
  const timeoutMs = takesMs + waits.within(kind, lateMs);
  try {
    const response = await http.request({ ...rest, timeoutMs });
    const { durationMs } = response;
    waits.succeeded(kind, Math.max(0, durationMs - takesMs));
    if (takesMs === 0) t.session.took('answer', durationMs);
    return response;
  } catch (error) {
    if (error instanceof NoAnswerInTime) waits.timedOut(kind);
    throw error;
  }
}

/** `POST /devices/dvc_1/ping` becomes `POST /devices/{id}/ping`. */
export const kindOfRequest = (method: string, path: string): string =>
  `${method} ${path.replace(/^(\/[^/?]+)\/[^/?]+/, '$1/{id}')}`;

const SUCCESSFUL_WRITES = new Fact(() => new Set<string>());

/** True if such a write has succeeded before; a 403 then does not mean a missing scope. */
export const hasSucceeded = ({ session }: Platform, method: string, path: string): boolean =>
  session.get(SUCCESSFUL_WRITES).has(kindOfRequest(method, path));

export const describeResponse = (response: Pick<HttpResponse, 'status' | 'text'>): string =>
  `${response.status}${response.text === '' ? ' with no body' : ` ${shortText(response.text, 300)}`}`;

export const describeRequest = (method: string, path: string, body: string): string =>
  `${method} ${path} ${shortText(body, 300)}`;

export const ok = ({ status }: Pick<HttpResponse, 'status'>): boolean => status >= 200 && status <= 299;
export const refused = ({ status }: Pick<HttpResponse, 'status'>): boolean => status >= 400 && status <= 499;
export const serverError = ({ status }: Pick<HttpResponse, 'status'>): boolean => status >= 500;
export const isJson = (response: { readonly headers: Readonly<Record<string, string>> }): boolean =>
  /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(response.headers['content-type'] ?? '');

export const NOT_SERVED: readonly number[] = [404, 405, 501];
