/** Section 4.2 and conventions of HTTP and JSON: unknown paths and ids, malformed bodies, odd values and names. */
import fc from 'fast-check';
import { NoAnswer } from '../../harness/client/errors.ts';
import { recordName } from '../../harness/common/names.ts';
import { eachAtOnce } from '../../harness/runner/property.ts';
import { byExploring } from './oracle/checks.ts';
import { type Platform, section } from './support/check.ts';
import { createConfigType } from './support/create.ts';
import { COLLECTIONS, findCollections, getPage, servedCollections } from './support/lists.ts';
import { findDevice } from './support/ping.ts';
import { describeRequest, describeResponse, ok, refused, send, serverError } from './support/requests.ts';

const COMMON = { level: 'SHOULD', section: '4.2', since: '2026-11-21' } as const;

/** Separate list of checks, so that the suite can place the simple check of unknown paths early. */
export const routes = section(COMMON);

export const { requirement, check, checks } = section(COMMON);

/** Characters of a path above which a server may answer 414 instead of 404. */
const LONG_PATH = 1000;

const noRoute = routes.requirement({
  id: 'platform.robust.routes',
  text: 'An unknown path is answered with 404, and a method that a path does not have with 404 or 405.',
});
routes.check(noRoute, {}, async (t: Platform) => {
  const [collection] = await servedCollections(t);
  const mustAnswer = async (method: string, path: string, expected: string, isRight: (status: number) => boolean) => {
    const response = await send(t, { method, path });
    const counterexample = `${method} ${path.length > LONG_PATH ? path.slice(0, 100) : path}`;
    t.must(isRight(response.status), { expected, actual: describeResponse(response), counterexample });
  };
  for (const path of ['/no-such-thing', '/no/such/thing', `/${collection}s`, '/.env', `/${'long'.repeat(2000)}`]) {
    const isRight = (status: number) => status === 404 || (path.length > LONG_PATH && refused({ status }));
    await mustAnswer('GET', path, '404 (or 414 to a long path)', isRight);
  }
  const device = `/devices/${encodeURIComponent((await findDevice(t)) ?? 'dvc_unknown')}`;
  // Sends GET, because a POST could disturb a device that is in use.
  for (const path of [`${device}/ping`, `${device}/no-such-action`])
    await mustAnswer('GET', path, '404 or 405', (status) => status === 404 || status === 405);
  const isRefusal = (status: number) => refused({ status }) || status === 501;
  if (!t.readOnly) await mustAnswer('REPORT', `/${collection}`, '405, 404 or 501', isRefusal);
  const expected = `the platform to go on serving ${COLLECTIONS.join(', ')}`;
  t.must((await findCollections(t)).includes(collection), { expected, actual: `${collection} is not served any more` });
});

const bodies = requirement({
  id: 'platform.robust.bodies',
  text:
    'Bodies that are not JSON, not UTF-8, nested deeply or of wrong types are refused with a 4xx, ' +
    'huge bodies cause no 5xx, and a refused request creates nothing.',
});
check(bodies, { needs: ['write'] }, async (t: Platform) => {
  await createConfigType(t);
  const mark = recordName('malformed');
  const maybeCreated: MalformedBody[] = [];
  await eachAtOnce(t, malformedBodies(mark), async (malformed) => {
    const { what, body, lenient, contentType = 'application/json' } = malformed;
    const headers = { 'content-type': contentType };
    const request = { method: 'POST', path: '/config_types', body, headers, takesMs: UPLOAD_MS };
    const response = await send(t, request).catch((error: unknown) => {
      if (error instanceof NoAnswer && body.length > LARGE_BODY) return undefined;
      throw error;
    });
    if (response !== undefined && refused(response)) return;
    maybeCreated.push(malformed);
    if (response === undefined) return;
    t.must(lenient === true && !serverError(response), {
      expected: `${lenient === true ? 'no 5xx' : 'a 4xx'} to POST /config_types with ${what}`,
      actual: describeResponse(response),
      counterexample: `POST /config_types with ${what}`,
    });
    t.observe(`POST /config_types with ${what}`, response.status);
  });
  await mustCreateNothingElse(t, mark, maybeCreated);
  await createConfigType(t);
});

interface MalformedBody {
  what: string;
  body: string | Uint8Array;
  /** True if a lenient reader may accept the body; only a 5xx is then wrong. */
  lenient?: boolean;
  contentType?: string;
}

/** `mark`: part of the name or slug of any record that a platform creates from such a body. */
function malformedBodies(mark: string): MalformedBody[] {
  const nested = `${'['.repeat(10_000)}${']'.repeat(10_000)}`;
  const lenient = true;
  const named = (n: number): string => `"name":"${mark}-${n}","slug":"${mark}-${n}"`;
  return [
    { what: 'no body', body: '' },
    { what: 'cut JSON', body: `{"name":"${mark}","slug":"${mark}"` },
    { what: 'text after the JSON', body: `{"name":"${mark}","slug":"${mark}"}}` },
    { what: 'null', body: 'null' },
    { what: 'a string', body: `"${mark}"` },
    { what: 'a number', body: '1' },
    { what: 'an array', body: `[{"name":"${mark}","slug":"${mark}"}]` },
    { what: 'a name that is a number', body: `{"name":1,"slug":"${mark}-1"}` },
    { what: 'a name that is null', body: `{"name":null,"slug":"${mark}-2"}` },
    { what: 'a name that is an object', body: `{"name":{"a":1},"slug":"${mark}-3"}` },
    { what: 'a slug that is an array', body: `{"name":"${mark}-4","slug":["${mark}-4"]}` },
    { what: 'a slug that is true', body: `{"name":"${mark}-5","slug":true}` },
    { what: 'a name nested 10,000 deep', body: `{"name":${nested},"slug":"${mark}-6"}` },
    { what: 'nesting 10,000 deep', body: nested },
    { what: 'a body of 10 MB', body: `{${named(7)}}${' '.repeat(10_000_000)}`, lenient },
    { what: 'bytes that are not UTF-8', body: Buffer.from(`{"slug":"${mark}-8","name":"\xff\xfe\xc3("}`, 'latin1') },
    { what: 'duplicate keys', body: `{"name":"${mark}","name":"${mark}","slug":"${mark}-9"}`, lenient },
    { what: 'a NUL in the name', body: `{"name":"${mark}\\u0000","slug":"${mark}-10"}`, lenient },
    { what: 'half a surrogate pair', body: `{"name":"${mark}\\ud800","slug":"${mark}-11"}`, lenient },
    { what: 'an unknown field', body: `{${named(12)},"__proto__":{"a":1},"unheard":[]}`, lenient },
    { what: 'another Content-Type', body: `{${named(13)}}`, lenient, contentType: 'text/plain' },
  ];
}

/** Bytes of a body above which a server may close the connection without reading it. */
const LARGE_BODY = 1_000_000;
const UPLOAD_MS = 10_000;

async function mustCreateNothingElse(t: Platform, mark: string, expected: readonly MalformedBody[]): Promise<void> {
  const first = await getPage(t, 'config_types', { limit: 100, expand: 'total_count' });
  const total = first.total_count ?? 0;
  const last = await getPage(t, 'config_types', { limit: 100, offset: Math.max(0, total - 100) });
  const created = [...first.data, ...last.data].filter((item) => JSON.stringify(item).includes(mark));
  const expectedSlugs = expected.map(({ body }) => /"slug":"([^"]*)"/.exec(String(body))?.[1]);
  const unexpected = created.find((item) => !expectedSlugs.includes(String(item['slug'])));
  t.must(unexpected === undefined, {
    expected: 'nothing to be created by a request that was refused',
    actual: JSON.stringify(unexpected),
  });
}

check(bodies, { aspect: 'any', needs: ['write'] }, async (t: Platform) => {
  const collections = await servedCollections(t);
  const anyRequest = fc.record({
    collection: fc.constantFrom(...collections),
    body: fc.oneof(
      fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value)),
      fc.string({ maxLength: 60 }),
    ),
  });
  await t.property(
    anyRequest,
    async ({ collection, body }) => {
      const headers = { 'content-type': 'application/json' };
      const response = await send(t, { method: 'POST', path: `/${collection}`, body, headers });
      t.must(ok(response) || refused(response), {
        expected: 'a 4xx to any body, or a 2xx if it happens to be complete',
        actual: describeResponse(response),
      });
    },
    {
      runs: 40,
      describe: ({ collection, body }: { collection: string; body: string }) =>
        describeRequest('POST', `/${collection}`, body),
    },
  );
});

const unknownIds = requirement({
  id: 'platform.robust.references',
  text: 'Ids of resources that do not exist are answered with a 4xx, both in paths and in bodies.',
});
check(...byExploring(unknownIds, { part: 'refusals', isMeant: ({ exchange }) => exchange.operation.method === 'GET' }));
check(...byExploring(unknownIds, { aspect: 'written', needs: ['write'], makes: 'release' }));

const anyScript = requirement({
  id: 'platform.robust.names',
  text: 'A name in any script is either accepted, and then shown as it was given, or refused with a 4xx.',
});
const onTypes = { needs: ['write'], makes: 'config_type' } as const;
check(...byExploring(anyScript, { ...onTypes, part: 'names' }));

const fields = requirement({
  id: 'platform.robust.fields',
  since: '2026-11-25',
  text:
    'A field that is null or of a wrong type, wherever it stands in a body, causes no 5xx. ' +
    'A change that is refused changes nothing, and one that is accepted is shown.',
});
check(...byExploring(fields, { ...onTypes, part: 'wrongFields', isMeant: ({ what }) => what === 'error' }));
check(...byExploring(fields, { aspect: 'changed', needs: ['write'], makes: 'device' }));
