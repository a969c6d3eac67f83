/** Section 5: requests carry an API key, and ping needs the scope `devices:read`. */
import fc from 'fast-check';
import type { HttpClient, HttpResponse } from '../../harness/client/http.ts';
import { requirement } from '../../harness/runner/define.ts';
import { createConfigType, unique } from './support/create.ts';
import { aDevice, firstPing, ping } from './support/devices.ts';
import { type Collection, type Item, page, served } from './support/lists.ts';
import { check, type Platform } from './support/platform.ts';
import { read } from './support/read.ts';
import { ok, said } from './support/send.ts';
import { changedAt, emptyKey, lacking, withTail, wrongKeys } from './support/wrong-keys.ts';

const KEY = 'x-api-key';

const REQUIRED = requirement({
  id: 'platform.auth.key-required',
  level: 'MUST',
  section: '5',
  since: '2026-11-21',
  text: 'Without an API key nothing is served.',
});
const keyRequired = check(REQUIRED, { profile: 'core' }, async (t: Platform) => {
  // `served` proves with the right key that there is something to refuse.
  const collections = await served(t);
  const anonymous = withKey(t, undefined);
  for (const collection of collections) await nothingServed(t, collection, anonymous, 'no key');
  const device = await aDevice(t);
  if (device === undefined) return;
  const answer = await ping(t, device, { timeout_nanos: 1_000_000 }, { http: anonymous });
  refusedWithoutData(t, answer, [], 'a ping with no key');
});

const writesRefused = check(
  REQUIRED,
  { aspect: 'writes', needs: ['write'], writes: true, sharing: 'exclusive' },
  async (t: Platform) => {
    // The same body is taken with the key, so that it is the key that makes the difference.
    const type = await createConfigType(t);
    for (const [how, http] of [
      ['no key', withKey(t, undefined)],
      ['an invented key', withKey(t, unique('key'))],
    ] as const) {
      const slug = unique('type');
      const answer = await http.post('/config_types', { name: slug, slug });
      refusedWithoutData(t, answer, [], `POST /config_types with ${how}`);
      const { data } = await page(t, 'config_types', { limit: 100 });
      t.must(!data.some((item) => JSON.stringify(item).includes(slug)), {
        expected: `nothing to be created with ${how}`,
        actual: `${slug} is listed, though the request was answered ${answer.status}`,
      });
      await unchanged(t, type, http, how);
      await noToken(t, http, how);
    }
  },
);

/** The specification shows PATCH of a config type, so that no other body is needed. Where there is none, it's refused too. */
async function unchanged(t: Platform, { id }: Item, http: HttpClient, how: string): Promise<void> {
  const path = `/config_types/${encodeURIComponent(id)}`;
  const before = await read(t, 'config_types', id);
  const answer = await http.request({ method: 'PATCH', path, body: { name: unique('renamed') } });
  refusedWithoutData(t, answer, [], `PATCH ${path} with ${how}`, [404, 405, 501]);
  const after = await read(t, 'config_types', id);
  t.must(after['name'] === before['name'], {
    expected: `nothing to be changed with ${how}`,
    actual: `${id} was renamed, though the request was answered ${answer.status}`,
  });
}

async function noToken(t: Platform, http: HttpClient, how: string): Promise<void> {
  const answer = await http.post('/provisioning_tokens', {});
  const token = (answer.json as { token?: unknown } | null | undefined)?.token;
  if (typeof token === 'string') t.http.recorder.redactor.add(token);
  // The payload is not shown: a platform that reads the body first finds fault with that.
  refusedWithoutData(t, answer, [], `POST /provisioning_tokens with ${how}`, [400, 404, 405, 415, 422, 501]);
}

const WRONG = requirement({
  id: 'platform.auth.key-wrong',
  level: 'MUST',
  section: '5',
  since: '2026-11-21',
  text: 'With a key that was not issued nothing is served.',
});
const keyWrong = check(WRONG, { profile: 'core' }, async (t: Platform) => {
  const collections = await served(t);
  const examples = [emptyKey, lacking(t.apiKey, 1), withTail(t.apiKey), changedAt(t.apiKey, 0)].map(
    (wrong): [unknown] => [{ collection: collections[0], wrong }],
  );
  await t.property(
    fc.record({ collection: fc.constantFrom(...collections), wrong: wrongKeys(t.apiKey) }),
    async ({ collection, wrong }) => {
      t.http.recorder.redactor.add(wrong.key);
      await nothingServed(t, collection, withKey(t, wrong.key), wrong.how);
    },
    {
      runs: examples.length + 10,
      examples,
      // The keys themselves are too near to the right one to be written down.
      describe: ({ collection, wrong }: { collection: string; wrong: { how: string } }) =>
        `GET /${collection} with ${wrong.how}`,
    },
  );
});

const SCOPE = requirement({
  id: 'platform.auth.scope',
  level: 'MUST',
  section: '5',
  since: '2026-11-21',
  text: 'A key without the scope devices:read may not ping a device.',
});
const scope = check(SCOPE, { needs: ['limited-key'] }, async (t: Platform) => {
  await served(t);
  const first = await firstPing(t);
  if (first === undefined) t.notApplicable('the platform lists no device, and none was named');
  const { device, response: allowed } = first;
  const body = { timeout_nanos: 1_000_000_000 };
  if (allowed.status === 401 || allowed.status === 403) {
    t.blocked(`the full key may not ping either: ${said(allowed)}`);
  }
  t.must(allowed.status !== 404 && allowed.status !== 405 && allowed.status !== 501, {
    expected: 'a ping of a listed device to be served to a key with devices:read',
    actual: said(allowed),
  });
  t.http.recorder.redactor.add(t.limitedKey);
  const answer = await ping(t, device, body, { http: withKey(t, t.limitedKey) });
  t.must(!ok(answer), { expected: 'a refusal: the key lacks devices:read', actual: said(answer) });
  t.should(answer.status === 403, { expected: '403', actual: said(answer) });
});

function withKey(t: Platform, key: string | undefined): HttpClient {
  const headers = Object.fromEntries(Object.entries(t.http.headers).filter(([name]) => name.toLowerCase() !== KEY));
  return t.http.with({ headers: key === undefined ? headers : { ...headers, 'X-API-Key': key } });
}

async function nothingServed(t: Platform, collection: Collection, http: HttpClient, how: string): Promise<void> {
  const { data } = await page(t, collection, { limit: 3 });
  refusedWithoutData(
    t,
    // Not `send`: to be put off with 429 is a refusal too.
    await http.get(`/${collection}`, { query: { limit: 3 } }),
    data.map(({ id }) => id),
    `GET /${collection} with ${how}`,
  );
  const [first] = data;
  if (first === undefined) return;
  const path = `/${collection}/${encodeURIComponent(first.id)}`;
  const alone = await http.get(path);
  // Where nothing is at that path, whatever comes is no resource.
  t.must(!(ok(alone) && alone.text.includes(first.id)), {
    expected: `GET ${path} with ${how} to be refused (401, 403 or another error)`,
    actual: said(alone),
  });
}

function refusedWithoutData(
  t: Platform,
  answer: HttpResponse,
  secrets: string[],
  what: string,
  others: readonly number[] = [],
): void {
  const leaked = secrets.find((id) => id.length > 3 && answer.text.includes(id));
  t.must(!ok(answer) && leaked === undefined, {
    expected: `${what} to be refused (401, 403 or another error), with no data in the answer`,
    actual: said(answer),
  });
  t.should([401, 403, 429, ...others].includes(answer.status), { expected: `401 to ${what}`, actual: said(answer) });
}

export const authenticationChecks = [keyRequired, writesRefused, keyWrong, scope];
