import { CLIENT_VARIABLES } from '../../harness/contract/client.ts';
import { LIST_LIMITS } from '../../harness/contract/lists.ts';
import { longId, numbered, UNSAFE_INTEGER } from '../../harness/contract/situations.ts';
import { type Client, NEWEST, NO_CHOICE, section } from './support/check.ts';
import {
  type Answering,
  expectItems,
  forJob,
  IS_ASKED,
  ITEMS_REPEATED,
  itemsFrom,
  JobRun,
  type PagesOptions,
  pageOf,
  pages,
  pageWindow,
  platform,
} from './support/job-run.ts';
import type { ClientRequest } from './support/server.ts';

export const { requirement, check, checks } = section({ level: 'SHOULD', section: '8', since: '2026-11-23' });

const RULE = 'Page n+1 is requested with the same `limit` and `offset = offset + limit`, until `has_more` is false.';
const LIST = forJob('list');
/** More than two pages of any size. */
const all = itemsFrom(1, 230);

const list = (t: Client, answer: Answering): Promise<JobRun> => JobRun.untilEnded(t, { job: 'list', answer });

async function expectAll(t: Client, listed: typeof all, options: PagesOptions = {}): Promise<void> {
  await using run: JobRun = await list(t, platform({ list: pages(listed, options) }));
  const due = listed.filter((_, index) => options.hidden?.(index) !== true);
  expectItems(run, due);
  if (options.hidden !== undefined) expectStride(run);
}

const items = requirement({
  id: 'client.pages.items',
  level: 'MUST',
  section: '2.6',
  clause: 'Items of the page; length is at most `limit`; each item has its own `object` and `id`.',
  text: 'A client gives each item of a list to its caller once, and ends.',
});
const few = itemsFrom(1, 3);
/** Essential, because wrong items make other checks meaningless. The next check judges repeats. */
check(items, { aspect: 'any', needs: LIST.needs, essential: true }, async (t) => {
  await using run: JobRun = await list(t, platform({ list: pages(few) }));
  expectItems(run, few, 'once or more');
});
check(items, { needs: LIST.needs, premises: [`${items.id}.any`], deviation: ITEMS_REPEATED }, (t) => expectAll(t, few));

function expectStride(run: JobRun): ReturnType<typeof pageWindow>[] {
  const asked = run.requests.filter(IS_ASKED.list).map((each) => pageWindow(each));
  // Offset 0 is always fine, because a client may first look at one item, or change the page size.
  const seen = new Set(asked.map(({ limit, offset }) => `${limit} ${offset}`));
  const stray = asked.find(({ limit, offset }) => offset > 0 && !seen.has(`${limit} ${offset - limit}`));
  const expected = 'each page at offset 0, or at offset + limit of another page with the same limit';
  run.must(stray === undefined, { expected, actual: `limit ${stray?.limit}, offset ${stray?.offset}` });
  return asked;
}

export const next = requirement({
  id: 'client.pages.next',
  level: 'MUST',
  clause: RULE,
  text: 'A client asks for page after page, each at offset + limit of the one before, until has_more is false.',
});
check(next, LIST, async (t) => {
  await using run: JobRun = await list(t, platform({ list: pages(all) }));
  expectItems(run, all);
  const asked = expectStride(run);
  const beyond = asked.filter(({ offset }) => offset >= all.length).length;
  t.observe('pages that are asked for beyond has_more: false', beyond === 0 ? 'none' : 'some');
});

const NEXT = { ...LIST, premises: [...LIST.premises, next.id] } as const;

const hasMore = requirement({
  id: 'client.pages.has-more',
  level: 'MUST',
  clause: RULE,
  text: 'A client goes by has_more and limit, whatever the number of items in a page.',
});
check(hasMore, { ...NEXT, aspect: 'short' }, (t) => expectAll(t, all, { hidden: (index) => index % 3 === 1 }));
check(hasMore, { ...NEXT, aspect: 'empty' }, (t) =>
  expectAll(t, all, { hidden: (index) => index >= 100 && index < 200 }),
);

const full = requirement({
  id: 'client.pages.full',
  level: 'MUST',
  clause: RULE,
  text: 'A client ends after a last page that is full.',
});
// 200 items fill the last page for every limit that divides 200.
check(full, NEXT, (t) => expectAll(t, itemsFrom(1, 200)));

export const clamped = requirement({
  id: 'client.pages.clamped',
  level: 'MUST',
  section: '2.6',
  clause: 'Effective page size after clamping.',
  text: 'A client that asks for more than a page can hold goes on at offset + the limit that the page names.',
});
check(clamped, NEXT, async (t) => {
  const variables = { [CLIENT_VARIABLES.limit]: '500' };
  await using run: JobRun = await JobRun.start(t, { job: 'list', answer: platform({ list: pages(all) }), variables });
  if (await run.refusedByItself()) t.notApplicable('the client refuses such a limit without a request');
  await run.ended();
  const limits = run.requests.filter(IS_ASKED.list).map(({ query }) => Number(query.get('limit')));
  if (!limits.some((limit) => limit > LIST_LIMITS.limitMaximum))
    t.notApplicable('the client asks for no more than a page can hold');
  expectItems(run, all);
});

export const lowered = requirement({
  id: 'client.pages.lowered',
  clause: RULE,
  text:
    'A client goes by the limit that the page names, also where a platform has a lower maximum than ' +
    `${LIST_LIMITS.limitMaximum}.`,
});
check(lowered, NEXT, (t) => expectAll(t, all, { maximum: 7 }));

const wanted = requirement({
  id: 'client.pages.limit',
  since: NEWEST,
  section: '4.2',
  clause: 'Query parameters: `limit` (integer), `offset` (integer), optional `expand=total_count`.',
  text: 'A client whose caller can choose the size of a page asks for pages of that size.',
});
const SIZES = ['7', '13'] as const;
check(wanted, LIST, async (t) => {
  const asked: (string | null)[] = [];
  for (const size of SIZES) {
    const answer = platform({ list: pages(few) });
    const variables = { [CLIENT_VARIABLES.limit]: size };
    await using run: JobRun = await JobRun.untilSettled(t, { job: 'list', answer, variables });
    asked.push(run.requests.findLast(IS_ASKED.list)?.query.get('limit') ?? null);
    if (asked.length < SIZES.length) continue;
    if (asked[0] === asked[1]) t.notApplicable(NO_CHOICE);
    run.must(asked.join() === SIZES.join(), {
      expected: `limit=${SIZES.join(' and limit=')}, as ${CLIENT_VARIABLES.limit} says`,
      actual: asked.map((limit) => (limit === null ? 'none' : `limit=${limit}`)).join(' and '),
    });
  }
});

const moving = requirement({
  id: 'client.pages.moving',
  clause: RULE,
  text: 'A client lists what is there from first to last, and ends without an error, while other items come and go.',
});
// A newest item at the beginning moves all others by one.
check(moving, { ...NEXT, aspect: 'grows' }, (t) => expectStaying(t, () => [...itemsFrom(1000, 1), ...all]));
// Without the items after the first page, the next page is empty.
check(moving, { ...NEXT, aspect: 'shrinks' }, (t) => expectStaying(t, (limit) => all.slice(0, limit)));

async function expectStaying(t: Client, replaced: (limit: number) => typeof all): Promise<void> {
  let now = all;
  const answer = (asked: ClientRequest): void => {
    asked.answer(200, pageOf(asked, now));
    if (now === all) now = replaced(pageWindow(asked).limit);
  };
  await using run: JobRun = await list(t, platform({ list: answer }));
  const due = all.filter((item) => now.includes(item));
  const seen = new Set(run.saw('item').map(({ item }) => item.id));
  const missing = due.filter(({ id }) => !seen.has(id));
  run.must(missing.length === 0 && run.failure === undefined, {
    expected: `each of ${due.length} items at least once, and no error`,
    actual: `without ${missing.length} of them; ${run.outcome}`,
  });
}

const unknown = requirement({
  id: 'client.pages.unknown',
  section: '2.6',
  text: 'Members that a client does not know, and values of an enumeration that it does not know, cost no item.',
});
check(unknown, LIST, async (t) => {
  const odd = itemsFrom(1, 4).map((item, index) => ({
    ...item,
    ...(index === 1 ? { status: 'hibernating', activity_status: 'orbiting' } : {}),
    ...(index === 2
      ? { next_generation: { of: ['members', null, 1e300, UNSAFE_INTEGER] }, name: '', serial: UNSAFE_INTEGER }
      : {}),
    ...(index === 3 ? { id: longId('dvc_') } : {}),
  }));
  const more = { cursor: null, meta: { page: 1, of: UNSAFE_INTEGER } };
  const answer = platform({ list: (asked) => asked.answer(200, numbered({ ...more, ...pageOf(asked, odd) })) });
  await using run: JobRun = await list(t, answer);
  expectItems(run, odd);
});

export const totalCount = requirement({
  id: 'client.pages.total-count',
  clause: '`total_count` is computed only when `expand=total_count` is given, because counting is costly.',
  text: 'A client whose caller does not want total_count does not ask for it.',
});
check(totalCount, LIST, async (t) => {
  await using run: JobRun = await list(t, platform({ list: pages(all) }));
  const counts = run.requests.filter(({ query }) => query.getAll('expand').join().includes('total_count')).length;
  // A progress bar needs the number once.
  const expected = 'no expand=total_count, or one for the whole list';
  run.must(counts <= 1, { expected, actual: `${counts} of ${run.requests.length} requests with expand=total_count` });
  t.observe('total_count of a list that is listed whole', counts === 0 ? 'not asked for' : 'asked for once');
});
