/** Sections 2, 2.6 and 4.2: whether every list has the list envelope, and its items name their type and times. */
import { isIso8601 } from '../../harness/contract/shape.ts';
import { eachAtOnce } from '../../harness/runner/property.ts';
import type { Judge } from '../../harness/runner/rules.ts';
import { byExploring } from './oracle/decided.ts';
import { type Platform, section } from './support/check.ts';
import {
  COLLECTIONS,
  describeList,
  ENVELOPE_ODD,
  envelopeProblems,
  getList,
  servedCollections,
} from './support/lists.ts';
import { describeResponse, isJson } from './support/requests.ts';
import { listIn, pageIn, resourcesIn } from './support/seen.ts';

export const { requirement, check, rule, checks } = section({ section: '2.6', since: '2026-11-21' });

export const envelope = requirement({
  id: 'platform.list.envelope',
  level: 'MUST',
  clause: 'Items of the page; length is at most `limit`; each item has its own `object` and `id`.',
  text:
    'Every collection answers with the list envelope: ' +
    'object "list", integer limit and offset, boolean has_more, and data whose items have an object and an id.',
});
/** Each collection answers for itself below. Here a platform without any list fails once, and not in every check. */
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
        counterexample: describeList(collection, query),
      });
      t.should(isJson(response), {
        expected: 'Content-Type application/json',
        actual: response.headers['content-type'] ?? 'no Content-Type',
      });
    }
  });
});

rule(envelope, { premises: [envelope.id] }, () => (seen, judge: Judge) => {
  const list = listIn(seen);
  if (list === undefined) return;
  judge.saw(() => bodyOf(list.body));
  const problems = envelopeProblems(list.body);
  judge.must(problems.length === 0, {
    expected: 'the list envelope: {object: "list", limit, offset, has_more, data: [{object, id, …}, …]}',
    actual: problems.slice(0, 5).join('; '),
    counterexample: seen.asked.url,
  });
});

const bodyOf = (body: unknown): string => JSON.stringify(body) ?? '';

/**
 * The platform may lack a collection in this version, or the key may not read it. It says so with a 3xx, a 4xx or 501.
 */
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

rule(items, { premises: [items.id] }, () => (seen, judge: Judge) => {
  const list = pageIn(seen);
  if (list === undefined || list.page.data.length < 2) return;
  judge.saw(() => bodyOf(list.page));
  const shown = new Set<string>();
  for (const { id } of list.page.data) {
    judge.must(!shown.has(id), {
      expected: 'every item of a page once',
      actual: `${id} more than once`,
      counterexample: seen.asked.url,
    });
    shown.add(id);
  }
});

const timestamps = requirement({
  id: 'platform.timestamps',
  level: 'MUST',
  section: '2',
  clause: 'All JSON timestamps are ISO 8601 date-time strings.',
  text: 'Every timestamp of a resource is an ISO 8601 date-time string.',
});
/** Names of timestamp fields in published resources. */
const TIMESTAMP_NAME = /^(created|updated|queued|deployed|archived|last_connected|last_disconnected|expires)_at$/;
check(...byExploring(timestamps));

rule(timestamps, { premises: [timestamps.id] }, () => (seen, judge: Judge) => {
  for (const resource of resourcesIn(seen))
    for (const [name, value] of Object.entries(resource)) {
      if (!TIMESTAMP_NAME.test(name) || value === null) continue;
      judge.saw(() => bodyOf(resource));
      judge.must(typeof value === 'string' && isIso8601(value), {
        expected: `an ISO 8601 date-time in ${name}`,
        actual: value,
        counterexample: `${name} of ${resource.id} in the answer to ${seen.asked.method} ${seen.asked.url}`,
      });
    }
});

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
