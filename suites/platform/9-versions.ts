/** Section 9: which values of the version header are served and which are refused. */
import fc from 'fast-check';
import {
  END_OF_LIFE_VERSIONS,
  NEWEST_VERSION,
  SUPPORTED_CODENAMES,
  SUPPORTED_VERSIONS,
  versionNamed,
} from '../../harness/contract/versions.ts';
import { byExploring } from './oracle/decided.ts';
import { type Platform, section } from './support/check.ts';
import { COLLECTIONS, getList, servedCollections } from './support/lists.ts';
import { describeResponse, ok, refused, serverError, speaking } from './support/requests.ts';

export const { requirement, check, checks } = section({ section: '9', since: '2026-11-21' });

const [NEWEST_DATE = '', NEWEST_NAME = ''] = NEWEST_VERSION.split('.');

const supported = requirement({
  id: 'platform.version.supported',
  level: 'MUST',
  clause: 'The header `Service-Version` carries the API version the client was built against.',
  text: 'Requests in a version that the platform supports are served.',
});
check(supported, { profile: 'core' }, async (t: Platform) => {
  await mustServeVersion(t, t.apiVersion);
  const [collection] = await servedCollections(t);
  for (const version of SUPPORTED_VERSIONS) {
    const answer = await getList(t, collection, { limit: 1 }, speaking(t, version));
    // Only a SHOULD: which versions a vendor serves is not stated. Section 9 calls only the first one unsupported.
    t.should(!refused(answer) || answer.status === 404, {
      expected: `${version} to be served: it is listed as a version, and not as one that is no longer supported`,
      actual: `${describeResponse(answer)} to GET /${collection}`,
    });
  }
});
for (const codename of SUPPORTED_CODENAMES)
  check(supported, { aspect: codename, needs: [codename] }, async (t: Platform) => {
    const version = versionNamed(codename);
    if (version !== t.apiVersion) await seeDeclared(t, version);
    await mustServeVersion(t, version);
  });

/** Statuses of a refusal that may have nothing to do with the version. */
export const OTHERWISE: ReadonlySet<number> = new Set([401, 403, 404, 408, 429]);

/** A platform that says it has a version does not refuse it where it serves the same request in another. */
async function seeDeclared(t: Platform, version: string): Promise<void> {
  const asked = ['devices', { limit: 1 }] as const;
  const [other, own] = [await getList(t, ...asked), await getList(t, ...asked, speaking(t, version))];
  if (!ok(other)) return;
  const holds = !refused(own) || OTHERWISE.has(own.status);
  const observed = holds ? `answered with ${own.status}` : `${describeResponse(own)} to GET /devices`;
  t.session.declarations.saw({ name: `version ${version}`, declared: 'accepted', observed, holds });
}

async function mustServeVersion(t: Platform, version: string): Promise<void> {
  const http = speaking(t, version);
  const collections = await servedCollections(t, http);
  for (const collection of COLLECTIONS) {
    const asked = `GET /${collection}`;
    const response = await getList(t, collection, { limit: 100 }, http);
    t.must(!serverError(response) || response.status === 501, {
      expected: `${asked} to be served in ${version}, or answered with a 4xx if that version does not have it`,
      actual: describeResponse(response),
      counterexample: `${asked}?limit=100 in ${version}`,
    });
  }
  t.observe(`collections in ${version}`, collections.join(', '));
}

export const endOfLife = requirement({
  id: 'platform.version.end-of-life',
  level: 'SHOULD',
  clause: 'Initial release; no longer supported.',
  text: 'Versions that are no longer supported are refused with a 4xx.',
});
check(endOfLife, {}, async (t: Platform) => {
  for (const version of END_OF_LIFE_VERSIONS) await mustRefuseVersion(t, version, 'which is no longer supported');
});

export const malformed = requirement({
  id: 'platform.version.malformed',
  level: 'SHOULD',
  clause: 'Format: `<YYYY-MM-DD>.<codename>`.',
  text: 'A version header that is not of the form <YYYY-MM-DD>.<codename> is refused with a 4xx.',
});
const MALFORMED_VERSIONS = [
  NEWEST_DATE,
  NEWEST_NAME,
  `.${NEWEST_NAME}`,
  `${NEWEST_DATE}.`,
  `${NEWEST_DATE} ${NEWEST_NAME}`,
  `${NEWEST_VERSION}.1`,
  `${NEWEST_VERSION},${NEWEST_VERSION}`,
  'v1',
  'latest',
  '*',
  '0',
  'null',
];
check(malformed, { profile: 'core' }, async (t: Platform) => {
  const anyMalformed = fc
    .string({ unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz0123456789-. _/"{'), minLength: 1, maxLength: 40 })
    .map((value) => value.trim())
    .filter((value) => value !== '' && !/^\d{4}-\d{2}-\d{2}\.[a-z]+$/.test(value));
  await t.property(anyMalformed, async (version) => mustRefuseVersion(t, version, 'which is malformed'), {
    runs: MALFORMED_VERSIONS.length + 8,
    examples: MALFORMED_VERSIONS.map((version): [unknown] => [version]),
    describe: (version: string) => `${t.versionHeader}: ${version}`,
  });
});

export const unknown = requirement({
  id: 'platform.version.unknown',
  level: 'SHOULD',
  clause: 'The header `Service-Version` carries the API version the client was built against.',
  text: 'A well-formed version that was never released is refused with a 4xx.',
});
check(unknown, {}, async (t: Platform) => {
  for (const version of [
    '2099-01-01.nowhere',
    `${NEWEST_DATE}.nowhere`,
    `2001-01-01.${NEWEST_NAME}`,
    '2026-13-45.nowhere',
  ]) {
    await mustRefuseVersion(t, version, 'which was never released');
  }
});

async function mustRefuseVersion(t: Platform, version: string, why: string): Promise<void> {
  const [collection] = await servedCollections(t);
  const response = await getList(t, collection, { limit: 1 }, speaking(t, version));
  t.must(refused(response), {
    expected: `a 4xx to ${t.versionHeader}: ${version}, ${why}`,
    actual: describeResponse(response),
    counterexample: `${t.versionHeader}: ${version}`,
  });
}

const omitted = requirement({
  id: 'platform.version.omitted',
  level: 'INFO',
  clause: 'Behavior when the header is omitted: not shown.',
  text: 'The answer to a request without a version header is recorded.',
});
check(omitted, {}, async (t: Platform) => {
  const name = t.versionHeader.toLowerCase();
  const headers = Object.fromEntries(
    Object.entries(t.http.headers).filter(([header]) => header.toLowerCase() !== name),
  );
  const [collection] = await servedCollections(t);
  const response = await t.http.with({ headers }).get(`/${collection}`, { query: { limit: 1 } });
  t.observe('a request without the version header', response.status);
  t.should(!serverError(response), {
    expected: `a list or a 4xx without ${t.versionHeader}, since the client omitted it`,
    actual: describeResponse(response),
  });
});

check(...byExploring(supported, { aspect: 'operations' }));
check(...byExploring(endOfLife, { aspect: 'operations' }));
check(...byExploring(malformed, { aspect: 'explored' }));
check(...byExploring(unknown, { aspect: 'explored' }));
