/** Requests whose answer is judged: silence and a dropped connection are the target's doing, and end the check as a finding. */
import { NoAnswer } from '../../../harness/client/errors.ts';
import type { HttpClient, HttpRequest, HttpResponse } from '../../../harness/client/http.ts';
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
    return await http.request({ timeoutMs: patience(context), ...request });
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

/** Answers of the deployment endpoint that hold a deployment; undefined when the device has none to show (404: section 4.1 is silent). */
export async function currentDeployment(context: Device): Promise<Record<string, unknown> | undefined> {
  const response = await ask(context, { path: CURRENT }, 'an answer to GET /deployments/current');
  if (response.status === 404) return undefined;
  const body = objectOf(response);
  context.must(response.status === 200 && body !== undefined, {
    expected: '200 with a JSON object, a Deployment (or 404 while the device has no deployment)',
    actual: brief(response),
  });
  return body;
}
