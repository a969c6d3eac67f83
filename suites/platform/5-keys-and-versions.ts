/** Sections 5 and 9: served and refused API versions and API keys. */
import { SUPPORTED_CODENAMES, SUPPORTED_VERSIONS, versionNamed } from '../../harness/contract/versions.ts';
import { byExploring, ofCodename } from './oracle/checks.ts';
import { isPing, isRead } from './oracle/decides.ts';
import type { Comparison } from './oracle/differences.ts';
import { type Platform, section } from './support/check.ts';
import { getList, servedCollections } from './support/lists.ts';
import { clientOfVersion, describeResponse, ok, refused, serverError } from './support/requests.ts';

export const { requirement, check, checks } = section({ section: '9', since: '2026-11-21' });

const supported = requirement({
  id: 'platform.version.supported',
  level: 'MUST',
  clause: 'The header `Service-Version` carries the API version the client was built against.',
  text: 'Requests in a version that the platform supports are served.',
});
const [, , exploreAll] = byExploring(supported);
check(supported, { profile: 'core', sharing: 'exclusive' }, async (t: Platform) => {
  const [collection] = await servedCollections(t);
  for (const version of SUPPORTED_VERSIONS) {
    const answer = await getList(t, collection, { limit: 1 }, clientOfVersion(t, version));
    // Only warns, because no section states which versions a vendor serves.
    t.should(ok(answer) || answer.status === 404, {
      expected: `${version} to be served: it is listed as a version, and not as one that is no longer supported`,
      actual: `${describeResponse(answer)} to GET /${collection}`,
    });
  }
  await exploreAll(t);
});
for (const codename of SUPPORTED_CODENAMES) {
  const [, , explore] = byExploring(supported, ofCodename(codename));
  check(supported, { aspect: codename, needs: [codename], sharing: 'exclusive' }, async (t: Platform) => {
    const version = versionNamed(codename);
    if (version !== t.apiVersion) await seeDeclared(t, version);
    t.observe(`collections in ${version}`, (await servedCollections(t, clientOfVersion(t, version))).join(', '));
    await explore(t);
  });
}
check(...byExploring(supported, { aspect: 'operations' }));

export const STATUSES_OF_OTHER_CAUSES: ReadonlySet<number> = new Set([401, 403, 404, 408, 429]);

/** Records whether a declared version is served, unless the platform does not serve the version of the run either. */
async function seeDeclared(t: Platform, version: string): Promise<void> {
  const asked = ['devices', { limit: 1 }] as const;
  const [other, own] = [await getList(t, ...asked), await getList(t, ...asked, clientOfVersion(t, version))];
  if (!ok(other)) return;
  const holds = !refused(own) || STATUSES_OF_OTHER_CAUSES.has(own.status);
  const observed = holds ? `answered with ${own.status}` : `${describeResponse(own)} to GET /devices`;
  t.session.declarations.saw({ name: `version ${version}`, declared: 'accepted', observed, holds });
}

export const endOfLife = requirement({
  id: 'platform.version.end-of-life',
  level: 'SHOULD',
  clause: 'Initial release; no longer supported.',
  text: 'Versions that are no longer supported are refused with a 4xx.',
});
const ofReads = { isMeant: isRead, part: 'refusals' } as const;
const ofWrites = {
  needs: ['write'],
  isMeant: (comparison: Comparison): boolean => !isRead(comparison),
  part: 'refuseWrites',
  least: { 'writes without access': 1 },
} as const;
check(...byExploring(endOfLife, ofReads));
check(...byExploring(endOfLife, { aspect: 'operations', ...ofWrites }));

export const malformed = requirement({
  id: 'platform.version.malformed',
  level: 'SHOULD',
  clause: 'Format: `<YYYY-MM-DD>.<codename>`.',
  text: 'A version header that is not of the form <YYYY-MM-DD>.<codename> is refused with a 4xx.',
});
check(...byExploring(malformed, { profile: 'core', part: 'refusals' }));
check(...byExploring(malformed, { aspect: 'explored', part: 'refusals' }));

export const unknown = requirement({
  id: 'platform.version.unknown',
  level: 'SHOULD',
  clause: 'The header `Service-Version` carries the API version the client was built against.',
  text: 'A well-formed version that was never released is refused with a 4xx.',
});
check(...byExploring(unknown, { part: 'refusals' }));
check(...byExploring(unknown, { aspect: 'explored', part: 'refusals' }));

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
  const expected = `a list or a 4xx without ${t.versionHeader}, since the client omitted it`;
  t.should(!serverError(response), { expected, actual: describeResponse(response) });
});

const keyRequired = requirement({
  id: 'platform.auth.key-required',
  level: 'MUST',
  section: '5',
  clause: 'Requests carry the header `X-API-Key: <API_KEY>`.',
  text: 'The platform serves nothing without an API key.',
});
check(...byExploring(keyRequired, { profile: 'core', ...ofReads }));
check(...byExploring(keyRequired, { aspect: 'writes', ...ofWrites }));

const keyWrong = requirement({
  id: 'platform.auth.key-wrong',
  level: 'MUST',
  section: '5',
  clause: 'Requests carry the header `X-API-Key: <API_KEY>`.',
  text: 'The platform serves nothing with a key that was not issued.',
});
check(...byExploring(keyWrong, { profile: 'core', ...ofReads }));
check(...byExploring(keyWrong, { aspect: 'operations', premises: [keyRequired.id], ...ofWrites }));

const scope = requirement({
  id: 'platform.auth.scope',
  level: 'MUST',
  section: '5',
  clause: 'Endpoints require scopes; ping requires `devices:read`.',
  text: 'A key without the scope devices:read cannot ping a device.',
});
check(...byExploring(scope, { needs: ['limited-key'], writes: true, isMeant: isPing, part: 'refusals' }));
check(...byExploring(scope, { aspect: 'explored', needs: ['limited-key'] }));
