import type { Happening, RequestSeen } from '../../../harness/client/happening.ts';
import { LIST_LIMITS } from '../../../harness/contract/lists.ts';
import type { Judge, Rule } from '../../../harness/runner/rules.ts';
import { listOf, PerClient, queryOf, shownRequest } from '../../watched.ts';
import { clamped, lowered, next, totalCount } from '../8-pages.ts';
import { watched } from './support.ts';

/** Consecutive wrong steps that make a finding; a person who searches may make a single one. */
const WRONG_IN_A_ROW = 2;

interface PageRead {
  request: RequestSeen;
  at: number;
  asked: number | undefined;
  limit: number;
  offset: number;
  more: boolean;
  counts: boolean;
}

function pageIn(seen: Happening): PageRead | undefined {
  if (seen.kind !== 'answer' || seen.request?.method !== 'GET' || seen.answer.status !== 200) return undefined;
  const page = seen.answer.json;
  if (typeof page !== 'object' || page === null) return undefined;
  const { object, limit, offset, has_more: more } = page as Record<string, unknown>;
  if (object !== 'list' || typeof more !== 'boolean' || !isWhole(limit) || !isWhole(offset) || limit === 0)
    return undefined;
  const { request } = seen;
  const query = queryOf(request);
  const counts = query.getAll('expand').join().includes('total_count');
  const [given = '', ...others] = query.getAll('limit');
  const asked = others.length === 0 && /^\d{1,15}$/.test(given) ? Number(given) : undefined;
  return { request, at: request.at, asked, limit, offset, more, counts };
}

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

const MOST_READERS = 20;

interface Walk {
  page?: PageRead;
  under: number;
  /** True once readers have taken turns on separate connections. */
  several?: boolean;
  /** True once a proxy has mixed pages of several readers on one connection. */
  mixed?: boolean;
  nexts: Pick<PageRead, 'offset' | 'asked' | 'limit'>[];
}

type Each = (page: PageRead, before: PageRead | undefined, judge: Judge) => void;

/** Passes each page with the same reader's previous page; undefined if there is none or readers may be mixed. */
const walks = (look: () => Each) => (): Rule => {
  const last = new PerClient<Walk>(() => ({ under: 0, nexts: [] }));
  const each = look();
  return (seen, judge: Judge) => {
    const { request } = seen;
    if (request?.method !== 'GET' || seen.kind === 'frame') return;
    const state = last.of(listOf(request));
    if (seen.kind === 'asked') state.under += 1;
    if (seen.kind === 'over') state.under = Math.max(0, state.under - 1);
    // Forgets the previous page, because overlapping requests come from several readers.
    if (state.under > 1) delete state.page;
    const page = pageIn(seen);
    if (page !== undefined) each(page, goesOnFrom(state, page), judge);
  };
};

function goesOnFrom(state: Walk, page: PageRead): PageRead | undefined {
  const { page: before, nexts } = state;
  const { offset, asked, limit, more } = page;
  const found = nexts.findLastIndex(
    (next) => next.offset === offset && (next.asked === asked || next.limit === asked || next.limit === limit),
  );
  if (found !== -1 && (found < nexts.length - 1 || before?.more !== true)) state.mixed = true;
  if (found !== -1) nexts.splice(found, 1);
  state.page = page;
  if (more) state.nexts = [...nexts.slice(1 - MOST_READERS), { offset: offset + limit, asked, limit }];
  // Maximum milliseconds between two pages that a program reads; a person pauses longer.
  if (before === undefined || !before.more || page.at - before.at > 10_000 || state.mixed) return undefined;
  const isSame = page.request.connection === before.request.connection;
  // A step back on another connection shows that several readers take turns.
  if (offset <= before.offset) {
    state.several ||= !isSame;
    return undefined;
  }
  return isSame || (!before.request.connection.open && state.several !== true) ? before : undefined;
}

const nextRule = walks(() => {
  const odd = new PerClient(() => ({ step: 0, limits: 0, times: 0 }));
  return (page, before, judge: Judge) => {
    if (before === undefined) return odd.forget(listOf(page.request));
    judge.saw(() => shownRequest(page.request));
    const state = odd.of(listOf(page.request));
    const step = page.offset - before.offset;
    const turns = before.limit / step;
    const isOther = page.request.connection !== before.request.connection;
    // Maximum number of clients that read a list in turns on their own connections, an equal step apart.
    const mayBeOthers = isOther && Number.isInteger(turns) && turns <= 4;
    // Allows a step by the requested limit, which other rules judge.
    const isStray = step % before.limit !== 0 && step !== before.asked && !mayBeOthers;
    state.times = isStray ? (step === state.step ? state.times + 1 : 1) : 0;
    state.step = step;
    // A client may adopt the limit that the page names.
    const isOwnLimit = page.asked !== before.asked && page.asked !== before.limit && page.limit !== before.limit;
    state.limits = !isStray && isOwnLimit ? state.limits + 1 : 0;
    judge.must(state.times < WRONG_IN_A_ROW && state.limits < WRONG_IN_A_ROW, {
      expected: `limit ${before.limit}, offset ${before.offset + before.limit}: the same limit, and offset + limit`,
      actual: `limit ${page.asked ?? page.limit}, offset ${page.offset}`,
    });
  };
});

/** Fails a client that steps by the limit that it asked for, although the page has a lower one: it skips items. */
const ownLimit = (isMeant: (asked: number) => boolean) =>
  walks(() => (page, before, judge: Judge) => {
    if (before === undefined) return;
    const { asked, limit, offset } = before;
    if (asked === undefined || asked <= limit || !isMeant(asked)) return;
    judge.saw(() => shownRequest(page.request));
    judge.must(page.offset - offset !== asked, {
      expected: `offset ${offset + limit}, since the page has limit ${limit}`,
      actual: `offset ${page.offset}, which leaves out the items from ${offset + limit} on`,
    });
  });

const countRule = walks(() => {
  const counts = new PerClient(() => ({ pages: 0 }));
  return (page, before, judge: Judge) => {
    if (before === undefined) return counts.forget(listOf(page.request));
    judge.saw(() => shownRequest(page.request));
    const state = counts.of(listOf(page.request));
    state.pages = page.counts && before.counts ? Math.max(2, state.pages + 1) : 0;
    // Consecutive pages with `expand=total_count` that make a finding; a progress bar needs the number once.
    judge.must(state.pages < 3, {
      expected: 'no expand=total_count, or one for the whole list',
      actual: `${state.pages} pages in a row with expand=total_count`,
    });
  };
});

const aboveMaximum = ownLimit((asked) => asked > LIST_LIMITS.limitMaximum);
const upToMaximum = ownLimit((asked) => asked <= LIST_LIMITS.limitMaximum);

export const platformRules = [
  watched(next, 'a list that a client reads over several pages', nextRule),
  watched(clamped, 'several pages that were asked for with a limit above 100', aboveMaximum, [next]),
  watched(lowered, 'several pages that the platform made smaller than the limit', upToMaximum, [next]),
  watched(totalCount, 'a list that a client reads with expand=total_count', countRule, [next]),
];
