import { type CallBehaviour, CallFailed, type Page, type PageAsked } from '../../client/behaviour.ts';
import { defect, variant } from '../define-client.ts';

const KNOWN = [undefined, 'online', 'offline'];
const at = (limit: number | undefined, offset: number): PageAsked => ({ limit, offset });
const after = ({ limit, offset }: Page): PageAsked[] => [at(limit, offset + limit)];

const nextByItems: CallBehaviour['next'] = ({ limit, offset, has_more, data }) =>
  has_more ? [at(limit, offset + Math.max(1, data.length))] : [];
const unseen: CallBehaviour['items'] = ({ data }, seen) => data.filter(({ id }) => !seen.has(id));

export const defects = [
  defect('items-twice', 'Gives each item to its caller twice.', ['client.pages.items'], {
    calls: { items: ({ data }) => data.flatMap((item) => [item, item]) },
  }),
  defect('last-item-lost', 'Loses the last item of each page.', ['client.pages.items.any'], {
    calls: { items: ({ data }) => data.slice(0, -1) },
  }),
  defect('first-page-alone', 'Takes the first page for the whole list.', ['client.pages.next'], {
    calls: { next: () => [] },
  }),
  defect(
    'first-page-again',
    'Asks for the first page again and again.',
    ['client.pages.next'],
    { calls: { next: ({ limit, offset, has_more }) => (has_more ? [at(limit, offset)] : []) } },
    { tells: /asked for GET \/beta\/devices\?limit=50&offset=0 again and again, 20 times in/ },
  ),
  defect('one-item-less', 'Begins each page with the last item of the one before.', ['client.pages.next'], {
    calls: { next: ({ limit, offset, has_more }) => (has_more ? [at(limit, offset + limit - 1)] : []) },
  }),
  defect('pages-by-number', 'Takes offset for the number of a page.', ['client.pages.next'], {
    calls: { next: ({ limit, offset, has_more }) => (has_more && offset < 10 ? [at(limit, offset + 1)] : []) },
  }),
  defect('pages-grow', 'Asks for larger and larger pages.', ['client.pages.next'], {
    calls: { next: ({ limit, offset, has_more }) => (has_more ? [at(Math.min(100, limit + 10), offset + limit)] : []) },
  }),
  defect('adds-items', 'Adds the number of items to the offset.', ['client.pages.has-more.short'], {
    calls: { next: nextByItems },
  }),
  defect(
    'adds-items-unseen',
    'Adds the number of items to the offset, and leaves out what comes again.',
    ['client.pages.has-more.short'],
    { calls: { next: nextByItems, items: unseen } },
  ),
  defect('ends-when-short', 'Ends at a page with fewer items than its limit.', ['client.pages.has-more'], {
    calls: { next: (page) => (page.data.length === page.limit ? after(page) : []) },
  }),
  defect('ends-when-empty', 'Ends at a page without items.', ['client.pages.has-more.empty'], {
    calls: { next: (page) => (page.has_more && page.data.length > 0 ? after(page) : []) },
  }),
  defect('full-page-has-more', 'Expects more after a page that is full.', ['client.pages.full'], {
    calls: {
      next: ({ limit, offset, has_more, data }) => {
        if (!has_more && data.length === 0) throw new CallFailed('a page without items');
        return has_more || data.length === limit ? [at(limit, offset + limit)] : [];
      },
    },
  }),
  defect('own-limit', 'Adds the limit that it asked for.', ['client.pages.clamped', 'client.pages.lowered'], {
    calls: { next: ({ has_more }, { limit = 10, offset }) => (has_more ? [at(limit, offset + limit)] : []) },
  }),
  defect('own-maximum', 'Knows a maximum of 100, and does not look at the limit of a page.', ['client.pages.lowered'], {
    calls: {
      next: ({ has_more }, { limit = 10, offset }) => (has_more ? [at(limit, offset + Math.min(100, limit))] : []),
    },
  }),
  defect('limit-in-tens', 'Rounds the size of a page that its caller wants up to tens.', ['client.pages.limit'], {
    calls: ({ limit }) => ({
      limit: (wanted) => limit(wanted === undefined ? undefined : Math.ceil(wanted / 10) * 10),
    }),
  }),
  defect(
    'empty-page-fails',
    'Breaks down at a page without items.',
    ['client.pages.has-more.empty', 'client.pages.moving.shrinks'],
    {
      calls: ({ page }) => ({
        page: (value) => {
          const found = page(value);
          if (found.data.length === 0) throw new CallFailed('a page without items');
          return found;
        },
      }),
    },
  ),
  defect('repeated-item-fails', 'Breaks down at an item that it has seen.', ['client.pages.moving.grows'], {
    calls: {
      items: ({ data }, seen) => {
        if (data.some(({ id }) => seen.has(id))) throw new CallFailed('an item twice');
        return data;
      },
    },
  }),
  defect('strict-items', 'Breaks down at a value that it does not know.', ['client.pages.unknown'], {
    calls: {
      items: ({ data }) => {
        if (data.some(({ status }) => !KNOWN.some((known) => known === status))) throw new CallFailed('unknown status');
        return data;
      },
    },
  }),
  defect('items-cut', 'Keeps 64 characters of an id.', ['client.pages.unknown'], {
    calls: { items: ({ data }) => data.map((item) => ({ ...item, id: String(item['id']).slice(0, 64) })) },
  }),
  defect(
    'small-numbers-called',
    'Breaks down at an answer with a number that no double holds.',
    ['client.pages.unknown', 'client.current.unknown', 'client.deploy.unknown', 'client.ping.unknown-members'],
    {
      calls: ({ value }) => ({
        value: (answer, job) => {
          if (/[^"\w]\d{16,}[,}\]]/.test(answer.text)) throw new CallFailed('a number is too large');
          return value(answer, job);
        },
      }),
    },
  ),
  defect('drops-unknown', 'Leaves out items with members that it does not know.', ['client.pages.unknown'], {
    calls: { items: ({ data }) => data.filter((item) => Object.keys(item).every((name) => MEMBERS.includes(name))) },
  }),
  defect('always-counts', 'Asks for total_count with every page.', ['client.pages.total-count'], {
    calls: ({ query }) => ({ query: (asked) => ({ ...query(asked), expand: 'total_count' }) }),
  }),
];
const MEMBERS = ['object', 'id', 'name', 'status'];
const PROBE = 1;

const ahead =
  (count: number) =>
  (got: Page): PageAsked[] =>
    got.has_more
      ? Array.from({ length: count }, (_, index) => at(got.limit, got.offset + (index + 1) * got.limit))
      : [];

export const variants = [
  variant('largest-pages', 'Asks for pages of 100.', { calls: { limit: (wanted) => wanted ?? 100 } }),
  variant('usual-pages', 'Leaves the size of its pages to the platform.', {
    calls: ({ query }) => ({ limit: () => undefined, query: (asked) => query({ ...asked, limit: undefined }) }),
  }),
  variant('no-offset-at-first', 'Names no offset for the first page.', {
    calls: ({ query }) => ({
      query: (asked) => {
        const { offset, ...rest } = query(asked);
        return offset === undefined || offset === '0' ? rest : { ...rest, offset };
      },
    }),
  }),
  variant('pages-at-once', 'Asks for three pages at once.', { calls: { next: ahead(3) } }),
  variant('same-limit-as-asked', 'Repeats the limit that it asked for, and adds that of the page.', {
    calls: { next: ({ limit: own, offset, has_more }, { limit }) => (has_more ? [at(limit, offset + own)] : []) },
  }),
  variant('one-empty-page-more', 'Asks for one page after the last one.', {
    calls: { next: (page) => (page.has_more || page.data.length > 0 ? after(page) : []) },
  }),
  variant('counts-first', 'Asks for one item and total_count, then for all pages.', {
    calls: ({ query }) => {
      let counted = false;
      return {
        query: (asked) => {
          if (counted) return query(asked);
          counted = true;
          return { ...query({ ...asked, limit: PROBE }), expand: 'total_count' };
        },
        items: ({ limit, data }) => (limit === PROBE ? [] : data),
        next: ({ limit, offset, has_more }, asked) => {
          if (limit === PROBE) return [asked];
          return has_more ? [at(limit, offset + limit)] : [];
        },
      };
    },
  }),
  variant('each-item-once', 'Leaves out an item that comes again.', { calls: { items: unseen } }),
  variant('bare-items', 'Shows the id of an item alone.', {
    calls: { items: ({ data }) => data.map(({ id }) => ({ id })) },
  }),
];
