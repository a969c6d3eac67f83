/** Finds lists and resources in the answers of a platform. */
import type { Happening } from '../../../harness/client/happening.ts';
import { isObject } from '../../json.ts';
import { COLLECTIONS, envelopeProblems, type Page } from './lists.ts';

const NAMES: ReadonlySet<string> = new Set(COLLECTIONS);

/** True for a path of a whole collection, but not for a list of one resource, such as `/devices/{id}/groups`. */
export function isCollection(path: string): boolean {
  const [last = '', ...earlier] = path.split('/').reverse();
  return NAMES.has(last) && !earlier.some((part) => NAMES.has(part));
}

export function pageIn(seen: Happening): Page | undefined {
  if (seen.kind !== 'answer' || seen.asked.method !== 'GET' || seen.answer.status !== 200) return undefined;
  const { json } = seen.answer;
  const isPage = isCollection(seen.path.split('?', 1)[0] ?? '') && envelopeProblems(json).length === 0;
  return isPage ? (json as Page) : undefined;
}

type ResourceSeen = Readonly<Record<string, unknown>> & { readonly object: string; readonly id: string };

const RESOURCES = new WeakMap<object, readonly ResourceSeen[]>();

export function resourcesIn(seen: Happening): readonly ResourceSeen[] {
  if (seen.kind !== 'answer' || seen.answer.status >= 300 || !isObject(seen.answer.json)) return [];
  const { json } = seen.answer;
  const known = RESOURCES.get(json);
  if (known !== undefined) return known;
  const found = [...resources(json)];
  RESOURCES.set(json, found);
  return found;
}

function* resources(value: unknown): Generator<ResourceSeen> {
  if (Array.isArray(value)) for (const item of value) yield* resources(item);
  if (!isObject(value)) return;
  const { object, id } = value;
  if (typeof object !== 'string') return;
  if (typeof id === 'string') yield value as ResourceSeen;
  // Skips `content`, because content of users may look like a resource.
  for (const [name, member] of Object.entries(value))
    if (typeof member === 'object' && name !== 'content') yield* resources(member);
}
