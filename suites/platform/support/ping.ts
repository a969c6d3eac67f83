import { NoAnswerInTime } from '../../../harness/client/errors.ts';
import type { HttpResponse } from '../../../harness/client/http.ts';
import { createDevice, mayWrite } from './create.ts';
import { envelopeProblems, getList, type Page, search } from './lists.ts';
import { describeRequest, describeResponse, NOT_SERVED, ok, type Platform, send } from './requests.ts';

export const SECOND_NANOS = 1_000_000_000;
export const MILLISECOND_NANOS = 1_000_000;
/** Maximum wait of a ping in milliseconds (section 8). */
export const LONGEST_PING_MS = 10_000;

export const findDevice = async (t: Platform): Promise<string | undefined> =>
  t.onlineDevice ?? t.offlineDevice ?? listedDevice(t);

async function listedDevice(t: Platform): Promise<string | undefined> {
  const response = await getList(t, 'devices', { limit: 1 });
  if (!ok(response) || envelopeProblems(response.json).length > 0) return undefined;
  const [listed] = (response.json as Page).data;
  return (listed ?? (mayWrite(t) ? await createDevice(t) : undefined))?.id;
}

export function describePing(device: string, timeoutNanos: number | string): string {
  const digits = String(timeoutNanos);
  const nanos = digits.length <= 40 ? digits : `${digits.slice(0, 12)}… (${digits.length} characters)`;
  return describeRequest('POST', `/devices/${device}/ping`, `{"timeout_nanos":${nanos}}`);
}

type Waits = Pick<Parameters<typeof send>[1], 'takesMs' | 'lateMs'>;

/** Sends text unchanged, and an object as JSON. */
export function ping(t: Platform, device: string, body: unknown, waits: Waits = {}): Promise<HttpResponse> {
  const path = `/devices/${encodeURIComponent(device)}/ping`;
  const headers = { 'content-type': 'application/json' };
  return send(t, { method: 'POST', path, body, headers, takesMs: LONGEST_PING_MS, ...waits });
}

export function unanswered(error: unknown): 'no answer' {
  // Throws any other error: a connection that the platform closes early fails the check.
  if (error instanceof NoAnswerInTime) return 'no answer';
  throw error;
}

export const pingCode = ({ json }: Pick<HttpResponse, 'json'>): unknown => Object(json).code;

async function isDeleted(t: Platform, device: string): Promise<boolean> {
  if (ok(await send(t, { path: `/devices/${encodeURIComponent(device)}` }))) return false;
  // Assumes no deletion without a list of devices, because then nothing shows which devices exist.
  if (NOT_SERVED.includes((await getList(t, 'devices', { limit: 1 })).status)) return false;
  return (await search(t, 'devices', device)) === undefined;
}

/** Blocks the check if the answer is 404 and the device no longer exists, because a deleted device is not offline. */
export async function blockIfDeleted(t: Platform, device: string, { status }: HttpResponse): Promise<void> {
  if (status === 404 && (await isDeleted(t, device))) t.blocked(`the platform shows no device ${device}`);
}

export function blockIfForbidden(t: Platform, response: HttpResponse): void {
  if (response.status !== 401 && response.status !== 403) return;
  t.blocked(`the API key may not ping: ${describeResponse(response)}`);
}

/** Proves that the platform serves pings, so that later refusals mean something; returns the device. */
export async function requirePing(t: Platform): Promise<string> {
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const device = await (attempt === 0 ? findDevice(t) : listedDevice(t));
    if (device === undefined) t.undecided('the platform lists no device, and none was named');
    const response = await ping(t, device, { timeout_nanos: SECOND_NANOS });
    if (response.status === 404 && (await isDeleted(t, device))) continue;
    blockIfForbidden(t, response);
    const served = !NOT_SERVED.includes(response.status);
    const actual = describeResponse(response);
    if (device !== t.onlineDevice && !served)
      t.blocked(`POST /devices/${device}/ping answered ${actual}; name an online device to find out why`);
    t.must(served, { expected: 'POST /devices/{device_id}/ping to be served', actual });
    return device;
  }
  return t.blocked('the devices that were listed had been deleted before they could be pinged');
}
