/** Section 4.2, by the conventions of HTTP: whether paths and methods that do not exist are refused. */
import { type Platform, section } from './support/check.ts';
import { COLLECTIONS, findCollections, servedCollections } from './support/lists.ts';
import { findDevice } from './support/ping.ts';
import { describeResponse, refused, send } from './support/requests.ts';

export const { requirement, check, checks } = section({ section: '4.2', since: '2026-11-21' });

/** A platform may answer 414 instead of 404 to a path that is longer. */
const LONG_PATH = 1000;

const routes = requirement({
  id: 'platform.robust.routes',
  level: 'SHOULD',
  text: 'An unknown path is answered with 404, and a method that a path does not have with 404 or 405.',
});
check(routes, {}, async (t: Platform) => {
  const [collection] = await servedCollections(t);
  for (const path of ['/no-such-thing', '/no/such/thing', `/${collection}s`, '/.env', `/${'long'.repeat(2000)}`]) {
    const response = await send(t, { path });
    t.must(response.status === 404 || (path.length > LONG_PATH && refused(response)), {
      expected: '404 (or 414 to a long path)',
      actual: describeResponse(response),
      counterexample: `GET ${path.slice(0, 100)}`,
    });
  }
  const device = `/devices/${encodeURIComponent((await findDevice(t)) ?? 'dvc_unknown')}`;
  // The device may be in use, so only GET is tried.
  for (const path of [`${device}/ping`, `${device}/no-such-action`]) {
    const response = await send(t, { path });
    t.must(response.status === 404 || response.status === 405, {
      expected: '404 or 405',
      actual: describeResponse(response),
      counterexample: `GET ${path}`,
    });
  }
  const response = await send(t, { method: 'REPORT', path: `/${collection}` });
  t.must(refused(response) || response.status === 501, {
    expected: '405, 404 or 501',
    actual: describeResponse(response),
    counterexample: `REPORT /${collection}`,
  });
  t.must((await findCollections(t)).includes(collection), {
    expected: `the platform to go on serving ${COLLECTIONS.join(', ')}`,
    actual: `${collection} is not served any more`,
  });
});
