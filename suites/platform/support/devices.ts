/** Devices to ping, and the ping itself. */
import type { HttpClient, HttpResponse } from '../../../harness/client/http.ts';
import { asPage, getList } from './lists.ts';
import type { Platform } from './platform.ts';
import { ok, send } from './send.ts';

/** The online one, else the offline one, else the first that is listed. */
export async function aDevice(t: Platform): Promise<string | undefined> {
  const named = t.onlineDevice ?? t.offlineDevice;
  if (named !== undefined) return named;
  const response = await getList(t, 'devices', { limit: 1 });
  return ok(response) ? asPage(t, 'devices', response).data[0]?.id : undefined;
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

export const code = (response: HttpResponse): unknown =>
  typeof response.json === 'object' && response.json !== null && 'code' in response.json
    ? response.json.code
    : undefined;
