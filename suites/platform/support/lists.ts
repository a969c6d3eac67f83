/** Collections, pages and items. A broken envelope fails the check, unless the check of envelopes has failed. */
import { NoAnswer, Unfinished } from '../../../harness/client/errors.ts';
import type { Happening } from '../../../harness/client/happening.ts';
import type { HttpClient, HttpResponse } from '../../../harness/client/http.ts';
import { isObject } from '../../../harness/common/lenient.ts';
import { LIST_LIMITS, type ListEnvelope, listEnvelope } from '../../../harness/contract/lists.ts';
import { RESOURCES } from '../../../harness/contract/platform/operations.ts';
import { type Deviation, Fact } from '../../../harness/runner/session.ts';
import { describeResponse, ok, type Platform, send, withTextIds } from './requests.ts';

/** Path segments of the collections; section 4.2 shows one, whose form the others follow. */
export const COLLECTIONS = Object.values(RESOURCES).map(({ collection }) => collection);

export type Item = ListEnvelope['data'][number] & Readonly<Record<string, unknown>>;
export interface Page extends Omit<ListEnvelope, 'data'> {
  data: Item[];
}

type ListQuery = Record<string, string | number | readonly string[]> | string;

type Collections = [string, ...string[]];

/** Served collections by request headers, which name the version: each version may have collections of its own. */
const SERVED = new Fact(() => new Map<string, Collections>());

export async function servedCollections(t: Platform, http: HttpClient = t.http): Promise<Collections> {
  const known = t.session.get(SERVED);
  const headers = JSON.stringify(http.headers);
  const found = known.get(headers) ?? (await findCollections(t, http));
  known.set(headers, found);
  return found;
}

export async function findCollections(t: Platform, http: HttpClient = t.http): Promise<Collections> {
  const tried = await Promise.all(
    COLLECTIONS.map(async (collection) => {
      try {
        const [response, last] = await Promise.all([
          getList(t, collection, { limit: 1 }, http),
          getList(t, collection, { limit: 1, offset: 1_000_000 }, http),
        ]);
        // Checks the envelope of a page past the end too, where `has_more` is false and `data` is empty.
        const isBroken = last.status === 200 && envelopeProblems(last.json).length > 0;
        return { collection, response: response.status === 200 && isBroken ? last : response };
      } catch (error) {
        if (error instanceof NoAnswer || error instanceof Unfinished) return error;
        throw error;
      }
    }),
  );
  const answers = tried.flatMap((each) => (each instanceof Error ? [] : [each]));
  if (answers.length === 0) throw tried[0];
  if (answers.every(({ response }) => response.status === 401 || response.status === 403)) {
    t.blocked('every collection answered 401 or 403: the platform does not accept the API key');
  }
  const lists = answers.filter(({ response }) => response.status === 200 && readLeniently(response.json) !== undefined);
  const strict = lists.filter(({ response }) => envelopeProblems(response.json).length === 0);
  const [first, ...others] = (strict.length > 0 ? strict : lists).map(({ collection }) => collection);
  t.must(first !== undefined, {
    expected: `a list from at least one collection (${COLLECTIONS.join(', ')})`,
    actual: answers.map(({ collection, response }) => `${collection}: ${whyNoList(response)}`).join(', '),
  });
  return [first, ...others];
}

function whyNoList(response: HttpResponse): string {
  const problems = response.status === 200 ? envelopeProblems(response.json) : [];
  return problems.length === 0 ? describeResponse(response).slice(0, 80) : `200, but ${problems.join('; ')}`;
}

export const getList = (t: Platform, collection: string, query: ListQuery, http = t.http): Promise<HttpResponse> =>
  send(t, { path: `/${collection}`, query }, http);

type Contents = Pick<Page, 'data' | 'has_more' | 'total_count'>;

export async function getPage(t: Platform, collection: string, query: ListQuery): Promise<Contents> {
  const response = await getList(t, collection, query);
  if (response.status === 401 || response.status === 403)
    t.blocked(`the API key may not read the list: GET /${collection} answered ${describeResponse(response)}`);
  const problems = response.status === 200 ? envelopeProblems(response.json) : ['the status is not 200'];
  const lenient = problems.length > 0 && t.allowsFor(ENVELOPE_ODD) ? readLeniently(response.json) : undefined;
  t.must(problems.length === 0 || lenient !== undefined, {
    expected: `200 with the list envelope (object, limit, offset, has_more, data) from GET /${collection}`,
    actual: `${problems.slice(0, 5).join('; ')} in ${describeResponse(response)}`,
  });
  return lenient ?? (response.json as Page);
}

/** Deviation from section 2.6: a member is missing or has a wrong type. */
export const ENVELOPE_ODD: Deviation = {
  name: 'envelope-odd',
  allowance: 'a page is read from its items, and whatever else of the envelope can be read',
};

function readLeniently(value: unknown): Contents | undefined {
  const { limit, has_more, total_count, data: given } = Object(value) as Record<string, unknown>;
  const data = Array.isArray(given) ? given.filter(isItem) : given === null ? [] : undefined;
  if (data === undefined) return undefined;
  const effective = limit !== null && Number.isInteger(Number(limit)) ? Number(limit) : data.length;
  return {
    has_more: typeof has_more === 'boolean' ? has_more : data.length > 0 && data.length === effective,
    data,
    ...(Number.isInteger(total_count) ? { total_count: Number(total_count) } : {}),
  };
}

export const isItem = (value: unknown): value is Item => isObject(value) && typeof value['id'] === 'string';

export function envelopeProblems(value: unknown): string[] {
  if (value === undefined) return ['the body is not JSON'];
  // Replaces an infinite offset, because JSON.parse reads a valid offset of hundreds of digits as Infinity.
  const isHuge = isObject(value) && value['offset'] === Number.POSITIVE_INFINITY;
  const readable = isHuge ? { ...value, offset: 0 } : value;
  const { data } = Object(value) as { data?: unknown };
  const hasNumbers = Array.isArray(data) && data.some((each) => isObject(each) && typeof each['id'] === 'number');
  return listEnvelope
    .problems(hasNumbers ? withTextIds(readable) : readable)
    .map(({ path, message }) => `${path === '' ? 'the list' : path} ${message}`);
}

export async function search(t: Platform, collection: string, id: string): Promise<Item | undefined> {
  const limit = LIST_LIMITS.limitMaximum;
  for (let page = 0; page < 20; page += 1) {
    const { data, has_more: more } = await getPage(t, collection, { limit, offset: page * limit });
    const item = data.find((each) => each.id === id);
    if (item !== undefined || !more || data.length === 0) return item;
  }
  return undefined;
}

/** Reads an item by its path or from its list, because no section states the path. */
export async function readItem(t: Platform, collection: string, id: string): Promise<Item> {
  const response = await send(t, { path: `/${collection}/${encodeURIComponent(id)}` });
  const item = response.json as Item | undefined;
  if (ok(response)) {
    t.must(item?.id === id, { expected: `${id} from GET /${collection}/${id}`, actual: describeResponse(response) });
    return item;
  }
  return (
    (await search(t, collection, id)) ??
    t.blocked(`GET /${collection}/${id} answered ${describeResponse(response)}, and the list does not show it`)
  );
}

/** False for a list below a resource, such as `/devices/{id}/groups`. */
export function isCollection(path: string): boolean {
  const [last = '', ...earlier] = path.split('/').reverse();
  return COLLECTIONS.includes(last) && !earlier.some((part) => COLLECTIONS.includes(part));
}

export function pageIn(seen: Happening): Page | undefined {
  if (seen.kind !== 'answer' || seen.asked.method !== 'GET' || seen.answer.status !== 200) return undefined;
  const { json } = seen.answer;
  const isPage = isCollection(seen.path.split('?', 1)[0] ?? '') && envelopeProblems(json).length === 0;
  return isPage ? (json as Page) : undefined;
}

export const resourcesIn = (seen: Happening): Item[] =>
  seen.kind === 'answer' && seen.answer.status < 300 && isObject(seen.answer.json)
    ? [...resources(seen.answer.json)]
    : [];

export function* resources(value: unknown): Generator<Item> {
  if (Array.isArray(value)) for (const item of value) yield* resources(item);
  if (!isObject(value)) return;
  const { object, id } = value;
  if (typeof object !== 'string') return;
  if (typeof id === 'string') yield value as Item;
  // Skips `content`, because data of users may look like a resource.
  for (const [name, member] of Object.entries(value))
    if (typeof member === 'object' && name !== 'content') yield* resources(member);
}
