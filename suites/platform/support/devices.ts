/** Devices to ping, and the ping itself. */
import { NoAnswer } from '../../../harness/client/errors.ts';
import type { HttpClient, HttpResponse } from '../../../harness/client/http.ts';
import { createDevice, mayWrite } from './create.ts';
import { envelopeProblems, getList, type Page } from './lists.ts';
import type { Platform } from './platform.ts';
import { ok, said, send } from './send.ts';
import { walk } from './walk.ts';

/** The online one, else the offline one, else the first that is listed, else a new one if the run may create it. */
export async function aDevice(t: Platform): Promise<string | undefined> {
  const named = t.onlineDevice ?? t.offlineDevice;
  return named ?? listedDevice(t);
}

async function listedDevice(t: Platform): Promise<string | undefined> {
  const response = await getList(t, 'devices', { limit: 1 });
  if (!ok(response) || envelopeProblems(response.json).length > 0) return undefined;
  const [listed] = (response.json as Page).data;
  return (listed ?? (mayWrite(t) ? await createDevice(t) : undefined))?.id;
}

export interface PingOptions {
  http?: HttpClient;
  /** Longest wait for the answer, milliseconds. Default: 10 seconds, which no ping may exceed, and the run's patience. */
  timeoutMs?: number;
}

/** `body`: an object is sent as JSON, text as it is. Throws NoAnswer when nothing comes in time. */
export function ping(t: Platform, device: string, body: unknown, options: PingOptions = {}): Promise<HttpResponse> {
  return send(
    t,
    {
      method: 'POST',
      path: `/devices/${encodeURIComponent(device)}/ping`,
      body,
      headers: { 'content-type': 'application/json' },
      timeoutMs: options.timeoutMs ?? 10_000 + t.patienceMs,
    },
    options.http,
  );
}

/** The answer, or how long was waited for none. */
export async function pingWithin(
  t: Platform,
  device: string,
  body: unknown,
  timeoutMs: number,
): Promise<HttpResponse | 'no answer'> {
  try {
    return await ping(t, device, body, { timeoutMs });
  } catch (error) {
    // A connection that is closed early is an answer of a kind, and not the one that is awaited here.
    if (error instanceof NoAnswer && error.message.includes('no whole answer within')) return 'no answer';
    throw error;
  }
}

export const code = (response: HttpResponse): unknown =>
  typeof response.json === 'object' && response.json !== null && 'code' in response.json
    ? response.json.code
    : undefined;

const ATTEMPTS = 3;

/** A ping of `aDevice`, or of another where that has been deleted meanwhile; undefined when there is none. */
export async function firstPing(t: Platform): Promise<{ device: string; response: HttpResponse } | undefined> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const device = await (attempt === 0 ? aDevice(t) : listedDevice(t));
    if (device === undefined) return undefined;
    const response = await ping(t, device, { timeout_nanos: 1_000_000_000 });
    if (response.status !== 404 || !(await gone(t, device))) return { device, response };
  }
  return t.blocked('the devices that were listed were gone before they could be pinged');
}

/** Neither read by its id nor listed. */
async function gone(t: Platform, device: string): Promise<boolean> {
  if (ok(await send(t, { path: `/devices/${encodeURIComponent(device)}` }))) return false;
  const { items, whole } = await walk(t, 'devices', { limit: 100, pages: 20 });
  return whole && !items.some(({ id }) => id === device);
}

const NOT_THERE = new Set([404, 405, 501]);

/**
 * Proves that pings are served, so that a refusal means something. A platform whose ping of a device that is online is
 * missing fails the check; where only a device is known that may not answer, nothing can be told and the check is blocked.
 */
export async function pingsAreServed(t: Platform): Promise<string> {
  const first = await firstPing(t);
  if (first === undefined) t.notApplicable('the platform lists no device, and none was named');
  const { device, response } = first;
  if (device !== t.onlineDevice && NOT_THERE.has(response.status)) {
    t.blocked(`POST /devices/${device}/ping answered ${said(response)}; name a device that is online to tell why`);
  }
  t.must(!NOT_THERE.has(response.status), {
    expected: 'POST /devices/{device_id}/ping to be served',
    actual: said(response),
  });
  return device;
}
