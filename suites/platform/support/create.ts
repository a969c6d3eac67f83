/** A refusal only blocks a check, because the specification shows no bodies of requests. */
import type { HttpResponse } from '../../../harness/client/http.ts';
import { recordName } from '../../../harness/common/names.ts';
import { type Item, servedCollections } from './lists.ts';
import { describeResponse, hasSucceeded, NOT_SERVED, ok, type Platform, refused, send } from './requests.ts';

export const mayWrite = (t: Platform): boolean => !t.readOnly && t.capabilities.has('write');

export async function requireEndpoint(t: Platform, path: string, response: HttpResponse): Promise<void> {
  const { status } = response;
  const forbidden = status === 403 && !hasSucceeded(t, 'POST', path);
  if (!NOT_SERVED.includes(status) && !forbidden) return;
  // Fails if the platform serves no list at all.
  await servedCollections(t);
  if (forbidden) t.undecided(`the API key may not write: POST ${path} answered ${describeResponse(response)}`);
  t.undecided(`the platform has no POST ${path} (${status})`);
}

export async function create(t: Platform, path: string, body: unknown): Promise<Item> {
  const response = await send(t, { method: 'POST', path, body });
  await requireEndpoint(t, path, response);
  return createdItem(response) ?? t.blocked(`set-up: POST ${path} answered ${describeResponse(response)}`);
}

export function createdItem(response: HttpResponse): Item | undefined {
  const { json } = response;
  const whole = typeof json === 'object' && json !== null && 'id' in json && typeof json.id === 'string';
  return ok(response) && whole ? (json as Item) : undefined;
}

/** After a refusal, tries a slug without dashes, because no section states valid characters. */
export async function createConfigType(t: Platform): Promise<Item> {
  const slug = recordName('type');
  const path = '/config_types';
  const response = await send(t, { method: 'POST', path, body: { name: slug, slug } });
  const first = createdItem(response);
  if (first !== undefined) return first;
  await requireEndpoint(t, path, response);
  const plain = { name: slug, slug: slug.replaceAll('-', '') };
  const second = refused(response) ? createdItem(await send(t, { method: 'POST', path, body: plain })) : undefined;
  return second ?? t.blocked(`set-up: POST ${path} answered ${describeResponse(response)}`);
}

export const createDevice = (t: Platform): Promise<Item> => create(t, '/devices', { name: recordName('device') });
