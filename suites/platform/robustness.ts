/** Sections 4 and 7, by the conventions of HTTP: what is malformed is refused with a 4xx, harms nothing, and leaves nothing behind. */
import fc from 'fast-check';
import type { HttpRequest } from '../../harness/client/http.ts';
import { requirement } from '../../harness/runner/define.ts';
import { codePoint } from '../code-points.ts';
import { robustNameChecks } from './robust-names.ts';
import { referredTo } from './robust-references.ts';
import { createConfigType, unique } from './support/create.ts';
import { aDevice } from './support/devices.ts';
import { COLLECTIONS, page, served } from './support/lists.ts';
import { check, type Platform } from './support/platform.ts';
import { broken, ok, refused, said, send } from './support/send.ts';

const BODIES = requirement({
  id: 'platform.robust.bodies',
  level: 'SHOULD',
  section: '4.2',
  since: '2026-11-21',
  text: 'Bodies that are no JSON, of wrong types, nested deep or not UTF-8 are refused with a 4xx, huge ones break nothing, and nothing is created by what is refused.',
});

interface Body {
  what: string;
  body: string | Uint8Array;
  /** Lenient readers take it: only a 5xx is wrong. */
  open?: boolean;
  contentType?: string;
}

function bodies(mark: string): Body[] {
  const nested = `${'['.repeat(10_000)}${']'.repeat(10_000)}`;
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
    { what: 'a name of 10 MB', body: `{"name":"${mark}${'x'.repeat(10_000_000)}","slug":"${mark}-7"}`, open: true },
    {
      what: 'bytes that are not UTF-8',
      body: Buffer.concat([
        Buffer.from(`{"slug":"${mark}-8","name":"`),
        Buffer.from([0xff, 0xfe, 0xc3, 0x28]),
        Buffer.from('"}'),
      ]),
    },
    { what: 'duplicate keys', body: `{"name":"${mark}","name":"${mark}","slug":"${mark}-9"}`, open: true },
    { what: 'a NUL in the name', body: `{"name":"${mark}\\u0000","slug":"${mark}-10"}`, open: true },
    { what: 'half a surrogate pair', body: `{"name":"${mark}\\ud800","slug":"${mark}-11"}`, open: true },
    {
      what: 'an unknown field',
      body: `{"name":"${mark}-12","slug":"${mark}-12","__proto__":{"a":1},"unheard":[]}`,
      open: true,
    },
    {
      what: 'another Content-Type',
      body: `{"name":"${mark}-13","slug":"${mark}-13"}`,
      open: true,
      contentType: 'text/plain',
    },
  ];
}

const malformed = check(BODIES, { needs: ['write'], writes: true, sharing: 'exclusive' }, async (t: Platform) => {
  await createConfigType(t);
  const mark = unique('malformed');
  const refusedBodies: string[] = [];
  for (const { what, body, open, contentType = 'application/json' } of bodies(mark)) {
    const request: HttpRequest = {
      method: 'POST',
      path: '/config_types',
      body,
      headers: { 'content-type': contentType },
      timeoutMs: 10_000 + t.patienceMs,
    };
    const response = await send(t, request).catch((error: unknown) => {
      // A server may close on a body that is too large rather than read it.
      if (body.length > 1_000_000 && error instanceof Error && error.name === 'NoAnswer') return undefined;
      throw error;
    });
    if (response === undefined) continue;
    t.must(open === true ? !broken(response) : refused(response), {
      expected: `${open === true ? 'no 5xx' : 'a 4xx'} to POST /config_types with ${what}`,
      actual: said(response),
      counterexample: `POST /config_types with ${what}`,
    });
    if (refused(response)) refusedBodies.push(what);
    else t.note(`${what}: ${response.status}`);
  }
  await nothingCreated(t, mark, refusedBodies);
  await createConfigType(t);
});

/** Looks where new items can be: at either end of the list. */
async function nothingCreated(t: Platform, mark: string, refusedBodies: readonly string[]): Promise<void> {
  const first = await page(t, 'config_types', { limit: 100, expand: 'total_count' });
  const total = first.total_count ?? 0;
  const last = await page(t, 'config_types', { limit: 100, offset: Math.max(0, total - 100) });
  const shown = [...first.data, ...last.data].filter((item) => JSON.stringify(item).includes(mark));
  // Those that were accepted may well be there.
  const accepted = bodies(mark).filter(({ what }) => !refusedBodies.includes(what));
  const expected = accepted.map(({ body }) => /"slug":"([^"]*)"/.exec(String(body))?.[1]);
  const stray = shown.find((item) => !expected.includes(String(item['slug'])));
  t.must(stray === undefined, {
    expected: 'nothing to be created by a request that was refused',
    actual: JSON.stringify(stray),
  });
}

const arbitraryJson = check(
  BODIES,
  { aspect: 'any', needs: ['write'], writes: true, sharing: 'exclusive' },
  async (t: Platform) => {
    const collections = await served(t);
    const target = fc.record({
      collection: fc.constantFrom(...collections),
      body: fc.oneof(
        fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value)),
        fc.string({ maxLength: 60 }),
      ),
    });
    await t.property(
      target,
      async ({ collection, body }) => {
        const response = await send(t, {
          method: 'POST',
          path: `/${collection}`,
          body,
          headers: { 'content-type': 'application/json' },
        });
        t.must(ok(response) || refused(response), {
          expected: 'a 4xx (or 2xx, when by chance it is all that is needed), whatever the body',
          actual: said(response),
          counterexample: `POST /${collection} with ${JSON.stringify(body).slice(0, 500)}`,
        });
      },
      { runs: 40 },
    );
  },
);

const UNKNOWN_IDS = requirement({
  id: 'platform.robust.references',
  level: 'SHOULD',
  section: '4.2',
  since: '2026-11-21',
  text: 'Ids of resources that do not exist are answered with a 4xx, when read and when referred to.',
});
const references = check(UNKNOWN_IDS, {}, async (t: Platform) => {
  const collections = await served(t);
  const id = fc.oneof(
    fc.string({ unit: fc.constantFrom(...'abcdefghijkmnpqrstuvwxyz0123456789_'), minLength: 8, maxLength: 30 }),
    fc.string({ unit: codePoint, minLength: 1, maxLength: 10 }),
  );
  await t.property(
    fc.record({ collection: fc.constantFrom(...collections), id: id.map((text) => `unknown_${text}`) }),
    async ({ collection, id: unknown }) => {
      const response = await send(t, { path: `/${collection}/${encodeURIComponent(unknown)}` });
      t.must(refused(response), {
        expected: 'a 4xx (404) to an id that does not exist',
        actual: said(response),
        counterexample: `GET /${collection}/${encodeURIComponent(unknown)}`,
      });
    },
    { runs: 20 },
  );
});

const ROUTES = requirement({
  id: 'platform.robust.routes',
  level: 'SHOULD',
  section: '4.2',
  since: '2026-11-21',
  text: 'A path that does not exist is answered with 404, a method that a path does not have with 404 or 405.',
});
const routes = check(ROUTES, {}, async (t: Platform) => {
  const [collection] = await served(t);
  for (const path of ['/no-such-thing', '/no/such/thing', `/${collection}s`, '/.env', `/${'long'.repeat(2000)}`]) {
    const response = await send(t, { path });
    t.must(response.status === 404 || (path.length > 1000 && refused(response)), {
      expected: '404 (or 414 to a long one)',
      actual: said(response),
      counterexample: `GET ${path.slice(0, 100)}`,
    });
  }
  const device = (await aDevice(t)) ?? 'dvc_unknown';
  // Only methods that can do no harm are tried on what may be in use.
  for (const path of [
    `/devices/${encodeURIComponent(device)}/ping`,
    `/devices/${encodeURIComponent(device)}/no-such-action`,
  ]) {
    const response = await send(t, { path });
    t.must(response.status === 404 || response.status === 405, {
      expected: '404 or 405',
      actual: said(response),
      counterexample: `GET ${path}`,
    });
  }
  const strange = await send(t, { method: 'REPORT', path: `/${collection}` });
  t.must(refused(strange) || strange.status === 501, {
    expected: '405, 404 or 501',
    actual: said(strange),
    counterexample: `REPORT /${collection}`,
  });
  t.must((await served(t)).includes(collection), {
    expected: `the platform to go on serving ${COLLECTIONS.join(', ')}`,
    actual: `${collection} is gone`,
  });
});

export const robustnessChecks = [
  malformed,
  arbitraryJson,
  references,
  referredTo(UNKNOWN_IDS),
  ...robustNameChecks,
  routes,
];
