/**
 * Section 5: whether the platform refuses requests without a valid API key, and pings without the scope `devices:read`.
 */

import fc from 'fast-check';
import type { HttpClient, HttpResponse } from '../../harness/client/http.ts';
import { byExploring } from './oracle/decided.ts';
import { type Platform, section } from './support/check.ts';
import { type Collection, getPage, servedCollections } from './support/lists.ts';
import { blockIfForbidden, findDevice, MILLISECOND_NANOS, ping, pingAnyDevice, SECOND_NANOS } from './support/ping.ts';
import { describeResponse, NOT_SERVED, ok, sendOnce } from './support/requests.ts';

export const { requirement, check, checks } = section({ level: 'MUST', section: '5', since: '2026-11-21' });

// API keys that were not issued, as similar as possible to one that was.

export interface WrongKey {
  /** How it differs. The key itself is never shown: it is too similar to the right one. */
  how: string;
  key: string;
}
export const emptyKey: WrongKey = { how: 'an empty key', key: '' };

/** Another letter, so that decoding the key (hexadecimal, base 64) cannot undo the change. */
export const changedAt = (key: string, at: number): WrongKey => ({
  how: `character ${at + 1} of the key changed`,
  key: `${key.slice(0, at)}${/[a-m0-4]/i.test(key[at] ?? '') ? 'z' : 'a'}${key.slice(at + 1)}`,
});

export const withoutLast = (key: string, count: number): WrongKey => ({
  how: `the key without its last ${count} characters`,
  key: key.slice(0, Math.max(0, key.length - count)),
});

/** Whole bytes in both hexadecimal and base 64, so that no decoding drops them. */
export const withTail = (key: string): WrongKey => ({
  how: 'the key with eight more characters',
  key: `${key}a0a0a0a0`,
});

/** Changes are made in the first half, because the last letter of a base 64 text may carry bits that nobody reads. */
export function wrongKeys(key: string): fc.Arbitrary<WrongKey> {
  const changed = fc.nat({ max: Math.max(0, Math.floor(key.length / 2) - 1) }).map((at) => changedAt(key, at));
  const cut = fc.integer({ min: 1, max: Math.max(1, key.length - 1) }).map((count) => withoutLast(key, count));
  const invented = fc
    .string({ unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz0123456789'), minLength: 8, maxLength: 64 })
    .map((text) => ({ how: `an invented key of ${text.length} characters`, key: text }));
  return fc
    .oneof({ arbitrary: changed, weight: 3 }, { arbitrary: invented, weight: 3 }, { arbitrary: cut, weight: 2 })
    .filter((wrong) => wrong.key.toLowerCase() !== key.toLowerCase());
}

const KEY_HEADER = 'x-api-key';

const keyRequired = requirement({
  id: 'platform.auth.key-required',
  clause: 'Requests carry the header `X-API-Key: <API_KEY>`.',
  text: 'The platform serves nothing without an API key.',
});
check(keyRequired, { profile: 'core' }, async (t: Platform) => {
  // The same collections answer with the right key, so the missing key is the reason for each refusal.
  const collections = await servedCollections(t);
  const anonymous = withKey(t, undefined);
  for (const collection of collections) await mustServeNothing(t, collection, anonymous, 'no key');
  if (t.readOnly) return;
  const device = await findDevice(t);
  if (device === undefined) return;
  const answer = await ping(t, device, { timeout_nanos: MILLISECOND_NANOS }, { http: anonymous });
  mustRefuse(t, answer, 'a ping with no key');
});

const keyWrong = requirement({
  id: 'platform.auth.key-wrong',
  clause: 'Requests carry the header `X-API-Key: <API_KEY>`.',
  text: 'The platform serves nothing with a key that was not issued.',
});
check(keyWrong, { profile: 'core' }, async (t: Platform) => {
  const collections = await servedCollections(t);
  const examples = [emptyKey, withoutLast(t.apiKey, 1), withTail(t.apiKey), changedAt(t.apiKey, 0)].map(
    (wrong): [unknown] => [{ collection: collections[0], wrong }],
  );
  await t.property(
    fc.record({ collection: fc.constantFrom(...collections), wrong: wrongKeys(t.apiKey) }),
    async ({ collection, wrong }) => {
      t.http.recorder.redactor.add(wrong.key);
      await mustServeNothing(t, collection, withKey(t, wrong.key), wrong.how);
    },
    {
      runs: examples.length + 10,
      examples,
      describe: ({ collection, wrong }: { collection: string; wrong: WrongKey }) =>
        `GET /${collection} with ${wrong.how}`,
    },
  );
});

const scope = requirement({
  id: 'platform.auth.scope',
  clause: 'Endpoints require scopes; ping requires `devices:read`.',
  text: 'A key without the scope devices:read cannot ping a device.',
});
check(scope, { needs: ['limited-key'], writes: true }, async (t: Platform) => {
  await servedCollections(t);
  const pinged = await pingAnyDevice(t);
  if (pinged === undefined) t.undecided('the platform lists no device, and none was named');
  const { device, response: allowed } = pinged;
  blockIfForbidden(t, allowed);
  t.must(!NOT_SERVED.includes(allowed.status), {
    expected: 'a ping of a listed device to be served to a key with devices:read',
    actual: describeResponse(allowed),
  });
  t.http.recorder.redactor.add(t.limitedKey);
  const answer = await ping(t, device, { timeout_nanos: SECOND_NANOS }, { http: withKey(t, t.limitedKey) });
  t.must(!ok(answer), { expected: 'a refusal: the key lacks devices:read', actual: describeResponse(answer) });
  t.should(answer.status === 403, { expected: '403', actual: describeResponse(answer) });
});

function withKey(t: Platform, key: string | undefined): HttpClient {
  const headers = Object.fromEntries(
    Object.entries(t.http.headers).filter(([name]) => name.toLowerCase() !== KEY_HEADER),
  );
  return t.http.with({ headers: key === undefined ? headers : { ...headers, 'X-API-Key': key } });
}

/** Neither the list nor a single item of it is served. Sends without `send`, because 429 is a refusal too. */
async function mustServeNothing(t: Platform, collection: Collection, http: HttpClient, how: string): Promise<void> {
  const query = { limit: 3 };
  const { data } = await getPage(t, collection, query);
  const answer = await sendOnce(t, { path: `/${collection}`, query }, http);
  mustRefuse(t, answer, `GET /${collection} with ${how}`, { secrets: data.map(({ id }) => id) });
  const [first] = data;
  if (first === undefined) return;
  const path = `/${collection}/${encodeURIComponent(first.id)}`;
  const alone = await sendOnce(t, { path }, http);
  // A 2xx without the id is no item: the platform may have something else at this path.
  t.must(!(ok(alone) && alone.text.includes(first.id)), {
    expected: `GET ${path} with ${how} to be refused (401, 403 or another error)`,
    actual: describeResponse(alone),
  });
}

interface Refusal {
  /** Ids that the answer must not contain. */
  secrets?: readonly string[];
}

function mustRefuse(t: Platform, answer: HttpResponse, request: string, options: Refusal = {}): void {
  const { secrets = [] } = options;
  const leaked = secrets.find((id) => id.length > 3 && answer.text.includes(id));
  t.must(!ok(answer) && leaked === undefined, {
    expected: `${request} to be refused (401, 403 or another error), with no data in the answer`,
    actual: describeResponse(answer),
  });
  t.should([401, 403, 429].includes(answer.status), {
    expected: `401 to ${request}`,
    actual: describeResponse(answer),
  });
}

check(...byExploring(keyRequired, { aspect: 'writes', premises: [keyRequired.id] }));
check(...byExploring(keyWrong, { aspect: 'operations', premises: [keyRequired.id] }));
check(...byExploring(scope, { aspect: 'explored', needs: ['limited-key'] }));
