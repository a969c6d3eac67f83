/** Sections 2, 2.6 and 4.2: the envelope of every list, and the type and times of its items. */
import { eachAtOnce } from '../../harness/runner/property.ts';
import { byExploring } from './oracle/checks.ts';
import { type Platform, section } from './support/check.ts';
import { COLLECTIONS, ENVELOPE_ODD, envelopeProblems, getList, servedCollections } from './support/lists.ts';
import { describeResponse, isJson } from './support/requests.ts';
import { inAnswers } from './watched/judged.ts';

export const { requirement, check, rule, checks } = section({ section: '2.6', since: '2026-11-21' });

export const envelope = requirement({
  id: 'platform.list.envelope',
  level: 'MUST',
  clause: 'Items of the page; length is at most `limit`; each item has its own `object` and `id`.',
  text:
    'Every collection answers with the list envelope: ' +
    'object "list", integer limit and offset, boolean has_more, and data whose items have an object and an id.',
});
/** Essential: a platform without any list fails this check alone instead of every check. */
check(envelope, { aspect: 'any', profile: 'core', essential: true }, async (t: Platform) => {
  await servedCollections(t);
});

check(envelope, { profile: 'core', deviation: ENVELOPE_ODD }, async (t: Platform) => {
  await eachAtOnce(t, COLLECTIONS, async (collection) => {
    for (const query of [{}, { limit: 100 }, { offset: 1 }, { expand: 'total_count' }]) {
      const response = await getList(t, collection, query);
      if (isAbsent(response)) break;
      const problems = response.status === 200 ? envelopeProblems(response.json) : ['the status is not 200'];
      t.must(problems.length === 0, {
        expected: '200 with {object: "list", limit, offset, has_more, data: [{object, id, …}, …]}',
        actual: `${problems.slice(0, 5).join('; ')}: ${describeResponse(response)}`,
        counterexample: `GET /${collection} with ${JSON.stringify(query)}`,
      });
      t.should(isJson(response), {
        expected: 'Content-Type application/json',
        actual: response.headers['content-type'] ?? 'no Content-Type',
      });
    }
  });
});

rule(envelope, { premises: [envelope.id] }, inAnswers(envelope.id));

/** True for the status of a list that the version lacks or that the key may not read. */
const isAbsent = ({ status }: { status: number }): boolean => (status >= 300 && status <= 499) || status === 501;

const items = requirement({
  id: 'platform.list.items',
  level: 'MUST',
  clause: 'Every resource carries an `object` field naming its type.',
  text:
    'No item is twice on a page, and the items of one collection share a type in object that no other collection ' +
    'has.',
});
check(...byExploring(items));

rule(items, { premises: [items.id] }, inAnswers(items.id));

const timestamps = requirement({
  id: 'platform.timestamps',
  level: 'MUST',
  section: '2',
  clause: 'All JSON timestamps are ISO 8601 date-time strings.',
  text: 'Every timestamp of a resource is an ISO 8601 date-time string.',
});
check(...byExploring(timestamps));

rule(timestamps, { premises: [timestamps.id] }, inAnswers(timestamps.id));

const collections = requirement({
  id: 'platform.list.collections',
  level: 'INFO',
  section: '4.2',
  clause: 'Method GET on a collection path under `{base_url}`',
  text: 'The collections that the platform serves are recorded.',
});
check(collections, { least: { requests: 0 } }, async (t: Platform) => {
  t.observe(`collections in ${t.apiVersion}`, (await servedCollections(t)).join(', '));
  t.observe('the segment beta in the base URL', /(^|\/)beta(\/|$)/.test(t.http.basePath) ? 'yes' : 'no');
});

check(...byExploring(envelope, { aspect: 'explored' }));
