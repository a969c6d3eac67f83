/**
 * Creates what a check needs. The specification shows none of these bodies, so they are those that published platforms take; a
 * refusal says nothing about conformance and blocks the check that asked.
 */
import { randomBytes } from 'node:crypto';
import type { HttpResponse } from '../../../harness/client/http.ts';
import { type Item, served } from './lists.ts';
import type { Platform } from './platform.ts';
import { ok, said, send } from './send.ts';

export const mayWrite = (t: Platform): boolean => !t.readOnly && t.capabilities.has('write');

/** Unlike every other name on the platform, whatever ran there before: not drawn from the seed on purpose. */
export const unique = (what: string): string => `muster-${what}-${randomBytes(5).toString('hex')}`;

const NOT_THERE = new Set([404, 405, 501]);

/**
 * Ends the check as not applicable where a path that the specification does not show is not there: a platform that has none, or
 * has it elsewhere, does nothing wrong.
 */
export async function mustBeThere(t: Platform, path: string, { status }: HttpResponse): Promise<void> {
  if (!NOT_THERE.has(status)) return;
  // A server that has nothing at all is no platform.
  await served(t);
  t.notApplicable(`the platform has no POST ${path} (${status})`);
}

/** Posts; blocks the check unless the platform answers 2xx with a resource that has an id. */
export async function create(t: Platform, path: string, body: unknown): Promise<Item> {
  const response = await send(t, { method: 'POST', path, body });
  await mustBeThere(t, path, response);
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
