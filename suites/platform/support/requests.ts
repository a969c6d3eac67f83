/** Requests that are repeated while the platform answers 429, and answers as a finding shows them. */
import { NoAnswerInTime } from '../../../harness/client/errors.ts';
import type { Endpoint, HttpClient, HttpRequest, HttpResponse } from '../../../harness/client/http.ts';
import { show } from '../../../harness/runner/violation.ts';
import type { Platform } from './context.ts';
import { kindOfRequest, paceOf } from './pace.ts';
import { gateOf } from './throttling.ts';

/** The specification shows no rate limit. A platform that answers 429 for longer than this refuses the request. */
const LONGEST_THROTTLING_MS = 60_000;

export interface PlatformRequest extends Omit<HttpRequest, 'timeoutMs'> {
  /** What the platform may take for it on top of what any answer may take, milliseconds. */
  takesMs?: number;
  /** How late the answer may be, milliseconds. Default: the run's patience. */
  lateMs?: number;
}

/** Sends the request again, after a pause, for as long as the answer is 429. Blocks the check after a minute of that. */
export async function send(t: Platform, request: PlatformRequest, http: HttpClient = t.http): Promise<HttpResponse> {
  const whole = { ...request, headers: { accept: 'application/json', ...request.headers } };
  const gate = gateOf(http.endpoint, request.path);
  const until = performance.now() + LONGEST_THROTTLING_MS;
  for (let attempt = 0; ; attempt += 1) {
    await gate.pass(t.signal);
    const response = await sendOnce(t, whole, http);
    if (response.status !== 429) {
      recordWrite(http.endpoint, request, response);
      return response;
    }
    if (performance.now() > until) break;
    gate.close(response.headers, attempt);
  }
  return t.blocked(`the platform kept answering 429 to ${request.method ?? 'GET'} ${request.path} for a minute`);
}

/** Sends the request, whatever the answer. Waits less for a kind of request that the platform has left unanswered before. */
export async function sendOnce(
  t: Platform,
  request: PlatformRequest,
  http: HttpClient = t.http,
): Promise<HttpResponse> {
  const { takesMs = 0, lateMs = t.patienceMs, ...rest } = request;
  const pace = paceOf(http.endpoint);
  const kind = kindOfRequest(request.method ?? 'GET', request.path);
  const timeoutMs = takesMs + pace.waitMs(kind, lateMs);
  try {
    const response = await http.request({ ...rest, timeoutMs });
    pace.answered(kind, Math.max(0, response.durationMs - takesMs));
    return response;
  } catch (error) {
    if (error instanceof NoAnswerInTime) pace.timedOut(kind);
    throw error;
  }
}

/** Status and body of an answer, shortened, for a finding. */
export const summary = (response: HttpResponse): string =>
  `${response.status}${response.text === '' ? ' with no body' : ` ${show(response.text, 300)}`}`;

/** Characters of a body in a finding. */
const BODY_SHOWN = 300;

/** A request in one line, as a finding shows it: `POST /deployments {"parent_id":null}`. Text is shown as it is sent. */
export function describeRequest(method: string, path: string, body?: unknown): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return [method, path, ...(text === undefined ? [] : [show(text, BODY_SHOWN)])].join(' ');
}

export const ok = ({ status }: HttpResponse): boolean => status >= 200 && status <= 299;
export const refused = ({ status }: HttpResponse): boolean => status >= 400 && status <= 499;
export const serverError = ({ status }: HttpResponse): boolean => status >= 500;
export const isJson = (response: HttpResponse): boolean =>
  /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(response.headers['content-type'] ?? '');

/** The platform has nothing at this path, or not with this method. */
export const NOT_SERVED: readonly number[] = [404, 405, 501];

/** Kinds of write that succeeded, by connection: all clients of one run share the `endpoint` object. */
const successfulWrites = new WeakMap<Endpoint, Set<string>>();

function recordWrite(endpoint: Endpoint, { method = 'GET', path }: HttpRequest, response: HttpResponse): void {
  if (method === 'GET' || !ok(response)) return;
  const kinds = successfulWrites.get(endpoint) ?? new Set();
  successfulWrites.set(endpoint, kinds.add(kindOfRequest(method, path)));
}

/** Whether this run has seen a write of this kind succeed. If so, a later 403 does not mean that the key lacks a scope. */
export const hasSucceeded = (endpoint: Endpoint, method: string, path: string): boolean =>
  successfulWrites.get(endpoint)?.has(kindOfRequest(method, path)) ?? false;
