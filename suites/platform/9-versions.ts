/** Section 9: the version header. */
import fc from 'fast-check';
import {
  END_OF_LIFE_VERSIONS,
  NEWEST_VERSION,
  SUPPORTED_CODENAMES,
  SUPPORTED_VERSIONS,
  versionNamed,
} from '../../harness/contract/versions.ts';
import { requirement } from '../../harness/runner/define.ts';
import { COLLECTIONS, getList, served } from './support/lists.ts';
import { check, type Platform } from './support/platform.ts';
import { broken, refused, said, speaking } from './support/send.ts';

const SUPPORTED = requirement({
  id: 'platform.version.supported',
  level: 'MUST',
  section: '9',
  since: '2026-11-21',
  text: 'Requests in a version that the platform supports are served.',
});
const spoken = check(SUPPORTED, { profile: 'core' }, async (t: Platform) => {
  await servedIn(t, t.apiVersion);
  const [collection] = await served(t);
  for (const version of SUPPORTED_VERSIONS) {
    const answer = await getList(t, collection, { limit: 1 }, speaking(t, version));
    // Which versions are served is the vendor's business; section 9 calls none but the first unsupported.
    t.should(!refused(answer) || answer.status === 404, {
      expected: `${version} to be served: it is listed as a version, and not as one that is no longer supported`,
      actual: `${said(answer)} to GET /${collection}`,
    });
  }
});
const supported = SUPPORTED_CODENAMES.map((codename) =>
  check(SUPPORTED, { aspect: codename, needs: [codename] }, async (t: Platform) => {
    await servedIn(t, versionNamed(codename));
  }),
);

async function servedIn(t: Platform, version: string): Promise<void> {
  const http = speaking(t, version);
  const collections = await served(t, http);
  for (const collection of COLLECTIONS) {
    const response = await getList(t, collection, { limit: 100 }, http);
    t.must(!broken(response) || response.status === 501, {
      expected: `GET /${collection} to be served in ${version}, or answered with a 4xx where that version has none`,
      actual: said(response),
      counterexample: `GET /${collection}?limit=100 in ${version}`,
    });
  }
  t.note(`${version} has ${collections.join(', ')}`);
}

const END_OF_LIFE = requirement({
  id: 'platform.version.end-of-life',
  level: 'SHOULD',
  section: '9',
  since: '2026-11-21',
  text: 'Versions that are no longer supported are refused with a 4xx.',
});
const endOfLife = check(END_OF_LIFE, {}, async (t: Platform) => {
  for (const version of END_OF_LIFE_VERSIONS) await refusedVersion(t, version, 'which is no longer supported');
});

const MALFORMED = requirement({
  id: 'platform.version.malformed',
  level: 'SHOULD',
  section: '9',
  since: '2026-11-21',
  text: 'A version header that is not of the form <YYYY-MM-DD>.<codename> is refused with a 4xx.',
});
const [NEWEST_DATE = '', NEWEST_NAME = ''] = NEWEST_VERSION.split('.');
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
  '2026-13-45.nowhere',
  'null',
];
const malformed = check(MALFORMED, { profile: 'core' }, async (t: Platform) => {
  const text = fc
    .string({ unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz0123456789-. _/"{'), minLength: 1, maxLength: 40 })
    .map((value) => value.trim())
    .filter((value) => value !== '' && !/^\d{4}-\d{2}-\d{2}\.[a-z]+$/.test(value));
  await t.property(text, async (version) => refusedVersion(t, version, 'which is malformed'), {
    runs: MALFORMED_VERSIONS.length + 8,
    examples: MALFORMED_VERSIONS.map((version): [unknown] => [version]),
  });
});

const UNKNOWN = requirement({
  id: 'platform.version.unknown',
  level: 'SHOULD',
  section: '9',
  since: '2026-11-21',
  text: 'A well-formed version that was never released is refused with a 4xx.',
});
const unknown = check(UNKNOWN, {}, async (t: Platform) => {
  for (const version of ['2099-01-01.nowhere', `${NEWEST_DATE}.nowhere`, `2001-01-01.${NEWEST_NAME}`]) {
    await refusedVersion(t, version, 'which was never released');
  }
});

const OMITTED = requirement({
  id: 'platform.version.omitted',
  level: 'INFO',
  section: '9',
  since: '2026-11-21',
  text: 'What happens to a request without a version header is recorded.',
});
const omitted = check(OMITTED, {}, async (t: Platform) => {
  const name = t.versionHeader.toLowerCase();
  const headers = Object.fromEntries(
    Object.entries(t.http.headers).filter(([header]) => header.toLowerCase() !== name),
  );
  const [collection] = await served(t);
  const response = await t.http.with({ headers }).get(`/${collection}`, { query: { limit: 1 } });
  t.note(`without ${t.versionHeader}: ${said(response)}`);
  t.should(!broken(response), {
    expected: `a list or a 4xx without ${t.versionHeader}, as the request is a client's doing`,
    actual: said(response),
  });
});

async function refusedVersion(t: Platform, version: string, why: string): Promise<void> {
  const [collection] = await served(t);
  const response = await getList(t, collection, { limit: 1 }, speaking(t, version));
  t.must(refused(response), {
    expected: `a 4xx to ${t.versionHeader}: ${version}, ${why}`,
    actual: said(response),
    counterexample: `${t.versionHeader}: ${version}`,
  });
}

export const versionChecks = [spoken, ...supported, endOfLife, malformed, unknown, omitted];
