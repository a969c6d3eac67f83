/** Requests that must be answered: a silent or dropped connection is the target's doing, and ends the check as a finding. */
import { NoAnswer } from '../../../harness/client/errors.ts';
import type { HttpClient, HttpRequest, HttpResponse } from '../../../harness/client/http.ts';
import { type Device, waitFor } from './check.ts';
import { retryWhileThrottled } from './throttling.ts';

export const CURRENT = '/deployments/current';

export async function request(
  t: Device,
  request: HttpRequest,
  expected = 'an answer',
  http: HttpClient = t.http,
): Promise<HttpResponse> {
  try {
    return await retryWhileThrottled(t, () =>
      waitFor(t, 'answer', (within) => http.request({ timeoutMs: within, ...request })),
    );
  } catch (error) {
    if (!(error instanceof NoAnswer) || t.signal.aborted) throw error;
    t.must(false, { expected, actual: error.message });
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

/** Status, media type and the beginning of the body. */
export function summary(response: HttpResponse): string {
  const type = mediaType(response.headers);
  return `${response.status}${type === '' ? '' : ` ${type}`} ${JSON.stringify(response.text.slice(0, 300))}`;
}

const NO_DEPLOYMENT = new Set([204, 404, 409, 410, 503]);

/** Whether the answer means that there is no current deployment. The specification does not say how, so every plausible way counts. */
export const meansNoDeployment = (response: HttpResponse): boolean =>
  NO_DEPLOYMENT.has(response.status) || (response.status === 200 && response.json === null);

/** Whether the deployment endpoint served the request, with a deployment or by saying that there is none. */
export const isServed = (response: HttpResponse): boolean => response.status === 200 || meansNoDeployment(response);

/** Whether it is a deployment, as far as it takes to tell it from an answer that anything gets. */
export function isDeployment(response: HttpResponse | undefined): boolean {
  if (response?.status !== 200) return false;
  const { id, activity_status } = objectOf(response) ?? {};
  return typeof id === 'string' && typeof activity_status === 'string';
}

/** The current deployment; undefined when the device has none. */
export async function currentDeployment(t: Device): Promise<Record<string, unknown> | undefined> {
  const response = await request(t, { path: CURRENT }, 'an answer to GET /deployments/current');
  if (meansNoDeployment(response)) return undefined;
  const body = objectOf(response);
  t.must(response.status === 200 && body !== undefined, {
    expected: '200 with a JSON object, a Deployment (or 404 while the device has no deployment)',
    actual: summary(response),
  });
  return body;
}
