/** Which kinds of writing a platform has been seen to allow. One 403 before any of it tells that the key may not write that. */
import type { Endpoint, HttpRequest } from '../../../harness/client/http.ts';

/** By the connections of a run: its `endpoint` is one object, whatever copies of the client are made. */
const allowed = new WeakMap<Endpoint, Set<string>>();

/** `POST /devices` and `POST /devices/dvc_1/ping` are kinds of their own, whatever the device. */
const kindOf = (method: string, path: string): string => `${method} ${path.replace(/^(\/[^/?]+)\/[^/?]+/, '$1/{id}')}`;

export function noteWrite(endpoint: Endpoint, { method = 'GET', path }: HttpRequest, status: number): void {
  if (method === 'GET' || status < 200 || status > 299) return;
  const kinds = allowed.get(endpoint) ?? new Set();
  allowed.set(endpoint, kinds.add(kindOf(method, path)));
}

export const wasAllowed = (endpoint: Endpoint, method: string, path: string): boolean =>
  allowed.get(endpoint)?.has(kindOf(method, path)) ?? false;
