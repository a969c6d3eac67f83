/**
 * Creates what a check needs. The specification shows none of these bodies, so they are those that published platforms take; a
 * refusal says nothing about conformance and blocks the check that asked.
 */
import { randomBytes } from 'node:crypto';
import type { HttpResponse } from '../../../harness/client/http.ts';
import type { Item } from './lists.ts';
import type { Platform } from './platform.ts';
import { ok, said, send } from './send.ts';

export const mayWrite = (t: Platform): boolean => !t.readOnly && t.capabilities.has('write');

/** Unlike every other name on the platform, whatever ran there before: not drawn from the seed on purpose. */
export const unique = (what: string): string => `muster-${what}-${randomBytes(5).toString('hex')}`;

/** Posts; blocks the check unless the platform answers 2xx with a resource that has an id. */
export async function create(t: Platform, path: string, body: unknown): Promise<Item> {
  const response = await send(t, { method: 'POST', path, body });
  return created(response) ?? t.blocked(`set-up: POST ${path} answered ${said(response)}`);
}

/** The resource that an answer holds, when it is a 2xx with one. */
export function created(response: HttpResponse): Item | undefined {
  const { json } = response;
  const whole = typeof json === 'object' && json !== null && 'id' in json && typeof json.id === 'string';
  return ok(response) && whole ? (json as Item) : undefined;
}

export function createConfigType(t: Platform): Promise<Item> {
  const slug = unique('type');
  return create(t, '/config_types', { name: slug, slug });
}

export const createDevice = (t: Platform): Promise<Item> => create(t, '/devices', { name: unique('device') });
