/**
 * Creates what a check needs. The specification shows none of these bodies, so they are those that published platforms take; a
 * refusal says nothing about conformance and blocks the check that asked.
 */
import { randomInt } from 'node:crypto';
import type { HttpResponse } from '../../../harness/client/http.ts';
import { type Item, served } from './lists.ts';
import type { Platform } from './platform.ts';
import { ok, refused, said, send } from './send.ts';
import { wasAllowed } from './writes.ts';

export const mayWrite = (t: Platform): boolean => !t.readOnly && t.capabilities.has('write');

/** How many names there are of one kind. */
const NAMES = 36 ** 9;

/**
 * Unlike every other name on the platform, whatever ran there before: not drawn from the seed on purpose. Short, in small letters,
 * digits and dashes: what names may be is not shown.
 */
export const unique = (what: string): string => `muster-${what}-${randomInt(NAMES).toString(36).padStart(9, '0')}`;

const NOT_THERE = new Set([404, 405, 501]);

/**
 * Ends the check as not applicable where a path that the specification does not show is not there: a platform that has none, or
 * has it elsewhere, does nothing wrong. So it ends where the key may not post there: 403, and never anything else.
 */
export async function mustBeThere(t: Platform, path: string, response: HttpResponse): Promise<void> {
  const { status } = response;
  const forbidden = status === 403 && !wasAllowed(t.http.endpoint, 'POST', path);
  if (!NOT_THERE.has(status) && !forbidden) return;
  // A server that has nothing at all is no platform.
  await served(t);
  if (forbidden) t.notApplicable(`the API key may not write: POST ${path} answered ${said(response)}`);
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

/** What slugs may be is not shown: letters and digits alone are tried where dashes are refused. */
export async function createConfigType(t: Platform): Promise<Item> {
  const slug = unique('type');
  const path = '/config_types';
  const response = await send(t, { method: 'POST', path, body: { name: slug, slug } });
  const first = created(response);
  if (first !== undefined) return first;
  await mustBeThere(t, path, response);
  const plain = { name: slug, slug: slug.replaceAll('-', '') };
  const second = refused(response) ? created(await send(t, { method: 'POST', path, body: plain })) : undefined;
  return second ?? t.blocked(`set-up: POST ${path} answered ${said(response)}`);
}

export const createDevice = (t: Platform): Promise<Item> => create(t, '/devices', { name: unique('device') });
