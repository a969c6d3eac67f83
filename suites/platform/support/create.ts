/** Creates records; a refusal only blocks a check, because the specification shows no bodies of requests. */
import type { HttpResponse } from '../../../harness/client/http.ts';
import { recordName } from '../../../harness/common/names.ts';
import { type Item, isItem, servedCollections } from './lists.ts';
import { describeResponse, hasSucceeded, NOT_SERVED, ok, type Platform, send } from './requests.ts';

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
  return createdItem(response) ?? t.blocked(`set-up: POST ${path} answered ${describeResponse(response)}`, response);
}

export const createdItem = (response: HttpResponse): Item | undefined =>
  ok(response) && isItem(response.json) ? response.json : undefined;

export function createConfigType(t: Platform): Promise<Item> {
  const name = recordName('type');
  // A slug without dashes, because no section states valid characters.
  return create(t, '/config_types', { name, slug: name.replaceAll('-', '') });
}

export const createDevice = (t: Platform): Promise<Item> => create(t, '/devices', { name: recordName('device') });
