/** Collections and their pages, read strictly: a page that breaks the envelope fails the check that reads it. */
import type { HttpClient, HttpResponse } from '../../../harness/client/http.ts';
import { type ListEnvelope, listEnvelope } from '../../../harness/contract/lists.ts';
import type { Platform } from './platform.ts';
import { said, send } from './send.ts';

/** Section 1 names the resources, section 4.2 the path of one of them; the others follow it. Not every platform has all. */
export const COLLECTIONS = [
  'config_types',
  'config_schemas',
  'config_instances',
  'releases',
  'deployments',
  'devices',
  'groups',
  'git_commits',
] as const;
export type Collection = (typeof COLLECTIONS)[number];

export type Item = ListEnvelope['data'][number] & Readonly<Record<string, unknown>>;
export interface Page extends Omit<ListEnvelope, 'data'> {
  data: Item[];
}

export type ListQuery = Record<string, string | number | readonly string[]> | string;

/**
 * The collections that are there and answer with lists: proves that the platform serves the key it was given. A platform that
 * serves none fails the check, one that refuses the key everywhere blocks it. A single collection that is broken is left out
 * here, for `platform.list.envelope` to find, or every check would fail with it.
 */
export async function served(t: Platform, http: HttpClient = t.http): Promise<[Collection, ...Collection[]]> {
  const answers = await Promise.all(
    COLLECTIONS.map(async (collection) => ({ collection, response: await getList(t, collection, { limit: 1 }, http) })),
  );
  if (answers.every(({ response }) => response.status === 401 || response.status === 403)) {
    t.blocked('every collection answered 401 or 403: the API key that was given is not accepted');
  }
  const [first, ...others] = answers
    .filter(({ response }) => response.status === 200 && envelopeProblems(response.json).length === 0)
    .map(({ collection }) => collection);
  t.must(first !== undefined, {
    expected: `a list from at least one collection (${COLLECTIONS.join(', ')})`,
    actual: answers.map(({ collection, response }) => `${collection}: ${noList(response)}`).join(', '),
  });
  return [first, ...others];
}

function noList(response: HttpResponse): string {
  const problems = response.status === 200 ? envelopeProblems(response.json) : [];
  return problems.length === 0 ? said(response).slice(0, 80) : `200, but ${problems.join('; ')}`;
}

export function getList(
  t: Platform,
  collection: string,
  query: ListQuery = {},
  http: HttpClient = t.http,
): Promise<HttpResponse> {
  return send(t, { path: `/${collection}`, query }, http);
}

/** One page; anything but 200 with a list envelope fails the check. */
export async function page(
  t: Platform,
  collection: string,
  query: ListQuery = {},
  http: HttpClient = t.http,
): Promise<Page> {
  return asPage(t, collection, await getList(t, collection, query, http));
}

export function asPage(t: Platform, collection: string, response: HttpResponse): Page {
  t.must(response.status === 200, {
    expected: `200 with a list from GET /${collection}`,
    actual: said(response),
  });
  const problems = envelopeProblems(response.json);
  t.must(problems.length === 0, {
    expected: `the list envelope (object, limit, offset, has_more, data) from GET /${collection}`,
    actual: `${problems.slice(0, 5).join('; ')} in ${said(response)}`,
  });
  return response.json as Page;
}

/** What is wrong with a list, in words; empty when it conforms. */
export function envelopeProblems(value: unknown): string[] {
  if (value === undefined) return ['the body is not JSON'];
  // An echoed offset of hundreds of digits is an integer, but not one that a double holds.
  const readable =
    typeof value === 'object' && value !== null && 'offset' in value && value.offset === Number.POSITIVE_INFINITY
      ? { ...value, offset: 0 }
      : value;
  return listEnvelope.problems(readable).map(({ path, message }) => `${path === '' ? 'the list' : path} ${message}`);
}

export const ids = (items: readonly Item[]): string[] => items.map(({ id }) => id);

/** `total_count` when the platform gives one. */
export async function totalCount(
  t: Platform,
  collection: string,
  http: HttpClient = t.http,
): Promise<number | undefined> {
  const { total_count: total } = await page(t, collection, { limit: 1, expand: 'total_count' }, http);
  return total;
}
