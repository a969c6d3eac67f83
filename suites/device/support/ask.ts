/** Requests whose answer is judged: silence and a dropped connection are the target's doing, and end the check as a finding. */
import { NoAnswer } from '../../../harness/client/errors.ts';
import type { HttpClient, HttpRequest, HttpResponse } from '../../../harness/client/http.ts';
import { persist } from './busy.ts';
import type { Device } from './context.ts';
import { patience, waitedInVain } from './patience.ts';

export const CURRENT = '/deployments/current';

export async function ask(
  context: Device,
  request: HttpRequest,
  expected = 'an answer',
  http: HttpClient = context.http,
): Promise<HttpResponse> {
  try {
    return await persist(
      context,
      () => http.request({ timeoutMs: patience(context), ...request }),
      () => false,
    );
  } catch (error) {
    if (!(error instanceof NoAnswer) || context.signal.aborted) throw error;
    waitedInVain(context);
    context.must(false, { expected, actual: error.message });
    throw error;
  }
}

/** The JSON object in an answer, or undefined. */
export function objectOf(response: HttpResponse): Record<string, unknown> | undefined {
  return isObject(response.json) ? response.json : undefined;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export const mediaType = (headers: Readonly<Record<string, string>>): string =>
  (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';

/** An answer in a few words. */
export function brief(response: HttpResponse): string {
  const type = mediaType(response.headers);
  return `${response.status}${type === '' ? '' : ` ${type}`} ${JSON.stringify(response.text.slice(0, 300))}`;
}

const NONE = new Set([204, 404, 409, 410, 503]);

/** Whether an answer of the deployment endpoint says that there is none. How it does is not stated, so every plausible way counts. */
export const saysNone = (response: HttpResponse): boolean =>
  NONE.has(response.status) || (response.status === 200 && response.json === null);

/** Whether the deployment endpoint is served to whoever asked: with a deployment, or with word that there is none. */
export const isServed = (response: HttpResponse): boolean => response.status === 200 || saysNone(response);

/** The current deployment; undefined when the device has none. */
export async function currentDeployment(context: Device): Promise<Record<string, unknown> | undefined> {
  const response = await ask(context, { path: CURRENT }, 'an answer to GET /deployments/current');
  if (saysNone(response)) return undefined;
  const body = objectOf(response);
  context.must(response.status === 200 && body !== undefined, {
    expected: '200 with a JSON object, a Deployment (or 404 while the device has no deployment)',
    actual: brief(response),
  });
  return body;
}
