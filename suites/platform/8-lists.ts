/** Sections 2.6 and 8: envelope, pages and limits of lists. */
import { eachAtOnce } from '../../harness/runner/property.ts';
import { byExploring } from './oracle/checks.ts';
import type { Comparison } from './oracle/differences.ts';
import { type Platform, section } from './support/check.ts';
import { COLLECTIONS, ENVELOPE_ODD, envelopeProblems, getList, servedCollections } from './support/lists.ts';
import { describeResponse, isJson } from './support/requests.ts';
import { inAnswers } from './watched/judged.ts';

export const { requirement, check, rule, checks } = section({ level: 'MUST', section: '8', since: '2026-11-21' });

export const envelope = requirement({
  id: 'platform.list.envelope',
  section: '2.6',
  clause: 'Items of the page; length is at most `limit`; each item has its own `object` and `id`.',
  text:
    'Every collection answers with the list envelope: ' +
    'object "list", integer limit and offset, boolean has_more, and data whose items have an object and an id.',
});
/** Essential: if no list is served, this check alone fails, and the checks that build on it are blocked. */
check(envelope, { aspect: 'any', profile: 'core', essential: true }, async (t: Platform) => {
  await servedCollections(t);
});
check(envelope, { profile: 'core', deviation: ENVELOPE_ODD }, async (t: Platform) => {
  await eachAtOnce(t, COLLECTIONS, async (collection) => {
    for (const query of [{}, { limit: 100 }, { offset: 1 }, { expand: 'total_count' }]) {
      const response = await getList(t, collection, query);
      const { status } = response;
      if ((status >= 300 && status <= 499) || status === 501) break;
      const problems = status === 200 ? envelopeProblems(response.json) : ['the status is not 200'];
      t.must(problems.length === 0, {
        expected: '200 with {object: "list", limit, offset, has_more, data: [{object, id, …}, …]}',
        actual: `${problems.slice(0, 5).join('; ')}: ${describeResponse(response)}`,
        counterexample: `GET /${collection} with ${JSON.stringify(query)}`,
      });
      const expected = 'Content-Type application/json';
      t.should(isJson(response), { expected, actual: response.headers['content-type'] ?? 'no Content-Type' });
    }
  });
});
rule(envelope, { premises: [envelope.id], traffic: 'a list' }, inAnswers(envelope.id));

const items = requirement({
  id: 'platform.list.items',
  section: '2.6',
  clause: 'Every resource carries an `object` field naming its type.',
  text:
    'No item is twice on a page, and the items of one collection share a type ' +
    'in object that no other collection has.',
});
check(...byExploring(items));
rule(items, { premises: [items.id], traffic: 'a list with items' }, inAnswers(items.id));

const timestamps = requirement({
  id: 'platform.timestamps',
  section: '2',
  clause: 'All JSON timestamps are ISO 8601 date-time strings.',
  text: 'Every timestamp of a resource is an ISO 8601 date-time string.',
});
check(...byExploring(timestamps));
rule(timestamps, { premises: [timestamps.id], traffic: 'a resource with a timestamp' }, inAnswers(timestamps.id));

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

/** Date since which the requirements on lists demand no more than the specification. */
const SETTLED = '2026-11-25';
const core = { profile: 'core' } as const;

const pageSize = requirement({
  id: 'platform.list.page-size',
  section: '2.6',
  clause: 'Items of the page; length is at most `limit`',
  text: 'A page holds at most limit items, and exactly limit items if has_more is true.',
});

const orElse = 'a collection with items in it shows more';
const pages = { least: { pages: 1 } } as const;
check(...byExploring(pageSize, { ...core, least: { items: 1 }, orElse }));
rule(pageSize, { premises: [pageSize.id], traffic: 'a page of a list with its limit' }, inAnswers(pageSize.id));

export const inRange = requirement({
  id: 'platform.list.in-range',
  clause: 'Effective page size after clamping. … Effective starting index after clamping.',
  text: 'A limit from 1 to 100 and an offset of 0 or more take effect unchanged, and the page begins at that offset.',
});
check(...byExploring(inRange, { premises: [pageSize.id], least: { 'pages after the first item': 1 }, orElse }));
rule(inRange, { premises: [inRange.id], traffic: 'a list with a limit or an offset' }, inAnswers(inRange.id));

const hasMore = requirement({
  id: 'platform.list.has-more',
  section: '2.6',
  clause: 'True when more items exist beyond this page.',
  text: 'has_more is true exactly if an item lies beyond the page.',
});
const bothEnds = { 'pages before others': 1, 'last pages': 1 };
check(...byExploring(hasMore, { ...core, needs: ['seed-data'], premises: [inRange.id], least: bothEnds }));

const totalCount = requirement({
  id: 'platform.list.total-count',
  clause: '`total_count` is computed only when `expand=total_count` is given',
  text:
    'total_count is absent unless expand=total_count is given; ' +
    'then it is the exact number of items, for any limit and offset.',
});
check(...byExploring(totalCount, { ...core, least: { 'counted items': 1 }, orElse }));
check(
  ...byExploring(totalCount, { ...core, ...pages, aspect: 'omitted', isMeant: ({ path }) => path.includes('unasked') }),
);
rule(totalCount, { premises: [totalCount.id], traffic: 'a list and its total_count' }, inAnswers(totalCount.id));

export const defaults = requirement({
  id: 'platform.list.defaults',
  clause: '`limit` default … 10 … `offset` default … 0',
  text: 'Without parameters a list has limit 10 and offset 0, and gives the same page as with these values.',
});
check(...byExploring(defaults, { ...core, ...pages, premises: [inRange.id] }));

export const limitAbove = requirement({
  id: 'platform.list.clamp.high',
  clause: 'An invalid `limit` is replaced by the nearest valid value (a value above the maximum yields 100).',
  text: 'A limit above 100 takes effect as 100, in the limit of the answer and in the number of items.',
});
check(...byExploring(limitAbove, { ...core, ...pages, premises: [pageSize.id] }));
const obeyed = { aspect: 'obeyed', needs: ['seed-data'], least: { 'full pages': 1 } } as const;
check(...byExploring(limitAbove, { ...obeyed, premises: [limitAbove.id] }));

export const limitBelow = requirement({
  id: 'platform.list.clamp.low',
  clause: 'An invalid `limit` is replaced by the nearest valid value',
  text: 'A limit below 1 is not an error: it takes effect as a value from 0 to 100, usually 1.',
});
check(...byExploring(limitBelow, { ...pages, premises: [pageSize.id] }));

export const nearest = requirement({
  id: 'platform.list.clamp.nearest',
  since: '2026-11-22',
  clause: 'An invalid `limit` is replaced by the nearest valid value',
  text:
    'A limit below 1 takes effect as 1, which is valid, or as 0 where that is valid too: ' +
    'any other value is farther away.',
});
check(...byExploring(nearest, { ...pages, premises: [limitBelow.id, inRange.id] }));

export const negativeOffset = requirement({
  id: 'platform.list.clamp.offset',
  clause: 'An invalid `offset` is replaced by the nearest valid value (a negative value yields 0).',
  text: 'A negative offset takes effect as 0, in the offset of the answer and in the items of the page.',
});
check(...byExploring(negativeOffset, { ...core, premises: [inRange.id], least: { items: 1 }, orElse }));

const anySize = requirement({
  id: 'platform.list.clamp.huge',
  clause:
    'An invalid `limit` is replaced by the nearest valid value … ' +
    'An invalid `offset` is replaced by the nearest valid value',
  text: 'Integers of any size are clamped and never cause an error: 2^31, 2^53, 2^64, -2^63, 400 digits.',
});

const isOfOffset = ({ path }: Comparison): boolean => path.includes('offset');
const huge = { ...pages, premises: [limitBelow.id, negativeOffset.id] };
check(...byExploring(anySize, { ...huge, isMeant: (comparison) => !isOfOffset(comparison) }));
check(...byExploring(anySize, { ...huge, aspect: 'offset', isMeant: isOfOffset }));

const noInteger = requirement({
  id: 'platform.list.clamp.nonsense',
  clause: 'Out-of-range `limit` or `offset` on list endpoints is not an error; it is clamped',
  text:
    'A limit or offset that is not an integer is answered with a 4xx, ' +
    'or with a list whose limit and offset are in range. The check records which.',
});
check(...byExploring(noInteger, { ...pages, premises: [pageSize.id] }));

const WALKING = {
  ...core,
  needs: ['seed-data'],
  premises: [hasMore.id],
  least: { 'walks over several pages': 1 },
} as const;
const walkInOrder = requirement({
  id: 'platform.list.walk',
  until: SETTLED,
  clause: 'Page n+1 is requested with the same `limit` and `offset = offset + limit`, until `has_more` is false.',
  text:
    'Walking with offset = offset + limit until has_more is false gives every item once, ' +
    'in the same order for any limit.',
});
check(...byExploring(walkInOrder, WALKING));

const walkOnce = requirement({
  id: 'platform.list.walk-once',
  since: SETTLED,
  clause: 'Page n+1 is requested with the same `limit` and `offset = offset + limit`, until `has_more` is false.',
  text: 'Walking with the same limit and offset = offset + limit until has_more is false gives every item once.',
});
check(...byExploring(walkOnce, WALKING));

const stable = requirement({
  id: 'platform.list.stable',
  level: 'SHOULD',
  text: 'The same page read twice is the same while nothing is written.',
});
check(...byExploring(stable, { needs: ['seed-data'], least: { items: 2 } }));

const beyondEnd = requirement({
  id: 'platform.list.beyond-end',
  until: SETTLED,
  clause: 'True when more items exist beyond this page.',
  text: 'An offset past the end gives an empty page whose has_more is false.',
});
check(...byExploring(beyondEnd, { ...pages, premises: [inRange.id] }));

const pastEnd = requirement({
  id: 'platform.list.past-end',
  since: SETTLED,
  clause: 'Effective starting index after clamping. … True when more items exist beyond this page.',
  text:
    'An offset past the end is no error, and has_more is false: the page is empty, ' +
    'or the one that begins at the offset in the answer, to which it was clamped.',
});
check(...byExploring(pastEnd, { ...pages, premises: [inRange.id] }));

const created = requirement({
  id: 'platform.list.created',
  section: '2.6',
  level: 'SHOULD',
  text: 'A resource that was created appears in its list, possibly after a while.',
});
check(...byExploring(created, { needs: ['write'], makes: 'device' }));
