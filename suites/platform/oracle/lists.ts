/** Compares a page with the list that it is a part of, and with what was asked for (sections 2.6 and 8). */

import { LIST_LIMITS } from '../../../harness/contract/limits.ts';
import { SUPPORTED_VERSIONS, versionNamed } from '../../../harness/contract/versions.ts';
import { isSame } from '../../../harness/runner/explore/same.ts';
import { envelopeProblems, type Page } from '../support/lists.ts';
import { type Exchange, expansionsOf, valuesOf } from './exchange.ts';
import type { Found } from './found.ts';
import type { ListKnown, Model, Reference, Shown } from './model.ts';

type Told = Omit<Found, 'exchange' | 'certain'> & { certain?: boolean };

/** A page of a list. Of a list below another resource only the page itself is judged. */
export function judgePage(model: Model, exchange: Exchange): Found[] {
  const problems = envelopeProblems(exchange.json);
  const rules = (['limit', 'offset'] as const).map((name) => [name, ruleOf(exchange, name)] as const);
  const [name, rule] = rules.find(([, each]) => each !== '' && each !== 'default') ?? ['', ''];
  const why = rule === '' ? '' : ` with a ${name} that is ${rule}`;
  const complete = (told: readonly Told[]): Found[] =>
    told.map((each) => ({ certain: true, ...each, path: `${each.path}${why}`, exchange }));
  if (problems.length > 0)
    return complete([
      { what: 'envelope', path: '', expected: 'the list envelope of section 2.6', actual: problems.join('; ') },
    ]);
  const page = exchange.json as Page;
  const { kind, sub } = exchange.operation;
  model.saw('pages');
  model.saw('items', page.data.length);
  if (page.offset > 0 && page.data.length > 0) model.saw('pages after the first item');
  if (rule === 'high' && page.data.length === limitMaximum) model.saw('full pages');
  const list = kind === undefined || sub === true ? undefined : model.list(kind);
  return complete([
    ...limitOf(exchange, page),
    ...offsetOf(exchange, page),
    ...sizeOf(page),
    ...countOf(exchange, page),
    ...twice(page),
    ...(list === undefined ? [] : against(model, list, exchange, page)),
  ]);
}

const asked = (exchange: Exchange, name: string): number | undefined => {
  const [value, ...others] = valuesOf(exchange, name);
  return value !== undefined && others.length === 0 && /^-?\d+$/.test(value) ? Number(value) : undefined;
};

const { limitDefault, limitMaximum, limitMinimum } = LIST_LIMITS;
/** What clients send of usual sizes: beyond it, numbers of any size are a requirement of their own. */
const USUAL = 2 ** 31 - 1;

/** Which rule of section 8 a value falls under, in a word; empty where it takes effect as it is. */
export function ruleOf(exchange: Pick<Exchange, 'query' | 'rawQuery'>, name: 'limit' | 'offset'): string {
  const given = asked(exchange as Exchange, name);
  if (exchange.rawQuery !== undefined) return exchange.rawQuery.includes(name) ? 'nonsense' : 'default';
  if (valuesOf(exchange as Exchange, name).length === 0) return 'default';
  if (given === undefined) return 'nonsense';
  if (Math.abs(given) > USUAL) return 'huge';
  if (name === 'offset') return given < 0 ? 'negative' : '';
  return given > limitMaximum ? 'high' : given < limitMinimum ? 'low' : '';
}

function limitOf(exchange: Exchange, { limit }: Page): Told[] {
  const given = asked(exchange, 'limit') ?? 0;
  const rule = ruleOf(exchange, 'limit');
  const isOut = rule !== 'default' && rule !== '';
  const exact = rule === 'default' ? limitDefault : Math.min(given, limitMaximum);
  const [low, high] = isOut && given <= limitMaximum ? [0, limitMaximum] : [exact, exact];
  if (limit < low || limit > high) {
    const expected = low === high ? `limit ${low}` : `a limit from ${low} to ${high}`;
    return [
      { what: 'limit', path: rule === 'default' ? '/limit by default' : '/limit', expected, actual: `limit ${limit}` },
    ];
  }
  if (rule === 'default' || rule === '' || rule === 'nonsense' || given >= limitMinimum) return [];
  const told = {
    what: 'limit',
    expected: `limit ${limitMinimum}, the nearest valid value`,
    actual: `limit ${limit}`,
  } as const;
  // 0 may be valid too.
  if (given < 0 && limit > limitMinimum) return [{ ...told, path: '/limit nearest' }];
  return limit === limitMinimum ? [] : [{ ...told, path: '/limit not 1' }];
}

function offsetOf(exchange: Exchange, { offset, data }: Page): Told[] {
  const given = asked(exchange, 'offset') ?? 0;
  const rule = ruleOf(exchange, 'offset');
  const tell = (expected: string): Told[] => [
    {
      what: 'offset',
      path: rule === 'default' ? '/offset by default' : '/offset',
      expected,
      actual: `offset ${offset}`,
    },
  ];
  if (rule === 'nonsense') return offset >= 0 ? [] : tell('an offset of 0 or more');
  if (given <= 0) return offset === 0 ? [] : tell('offset 0');
  // One past the end may be clamped.
  return offset >= 0 && (offset <= given || data.length === 0) ? [] : tell(`offset ${given}`);
}

function sizeOf({ data, limit, has_more: more }: Page): Told[] {
  const actual = `${data.length} items with limit ${limit} and has_more ${more}`;
  if (data.length > limit) return [{ what: 'size', path: '/data', expected: `at most ${limit} items`, actual }];
  if (!more || data.length === limit || limit === 0) return [];
  return [{ what: 'size', path: '/data', expected: `${limit} items, as has_more is true`, actual }];
}

function countOf(exchange: Exchange, page: Page): Told[] {
  const isAsked = expansionsOf(exchange).includes('total_count');
  const isAlike = expansionsOf(exchange).some((name) => name.includes('total_count'));
  const { total_count: count } = page;
  if (isAsked && (typeof count !== 'number' || count < 0))
    return formIsPlain(exchange)
      ? [
          {
            what: 'count',
            path: '/total_count',
            expected: 'total_count with expand=total_count',
            actual: count ?? 'none',
          },
        ]
      : [];
  if (isAlike || count === undefined) return [];
  const expected = 'no total_count without expand=total_count';
  return [{ what: 'count', path: '/total_count unasked', expected, actual: `total_count ${JSON.stringify(count)}` }];
}

/** Whether `expand` is written once, with one name: other ways are not shown for lists. */
const formIsPlain = ({ query }: Exchange): boolean => {
  const given = query.filter(([name]) => name.startsWith('expand'));
  return given.length === 1 && given[0]?.[0] === 'expand' && given[0][1] === 'total_count';
};

function twice({ data }: Page): Told[] {
  const repeated = data.find(({ id }, place) => data.findIndex((other) => other.id === id) !== place);
  if (repeated === undefined) return [];
  return [{ what: 'twice', path: '/data', expected: 'each item of a page once', actual: `${repeated.id} twice` }];
}

/** The items that a request means, as far as they are known; undefined where nobody can say. */
export function meant(list: ListKnown, exchange: Pick<Exchange, 'query' | 'version'>): readonly Shown[] | undefined {
  const { reference } = list;
  if (reference === undefined || !reference.isWhole) return undefined;
  const filters = filtersOf(exchange);
  if (filters.length > 0 && !list.filters) return undefined;
  return filters.every(([name]) => isKnown(reference, name, exchange.version))
    ? reference.items.filter((item) => filters.every(([name, value]) => value.split('|').includes(String(item[name]))))
    : undefined;
}

export const filtersOf = ({ query }: Pick<Exchange, 'query'>): (readonly [string, string])[] =>
  query.filter(([name]) => !['limit', 'offset', 'expand', 'expand[]', 'order_by'].includes(name));

/** A status that an older version shows otherwise makes its filter open. */
function isKnown({ items }: Reference, name: string, version: string): boolean {
  const isOlder = version !== SUPPORTED_VERSIONS.at(-1);
  const isOpen = version === versionNamed('tetons') && items.some((item) => item['activity_status'] === 'removing');
  if (name.endsWith('status') && (isOpen || (isOlder && name === 'status'))) return false;
  return items.every((item) => item[name] !== undefined) && items.length > 0;
}

/** The page against the whole list. Others may write meanwhile, so nothing here is certain. */
function against(model: Model, list: ListKnown, exchange: Exchange, page: Page): Told[] {
  const due = meant(list, exchange);
  const { reference } = list;
  if (due === undefined || reference === undefined || list.isStale) return [];
  const { limit, offset, data, has_more: more, total_count: count } = page;
  const isFiltered = filtersOf(exchange).length > 0;
  if (due.length > 0) model.saw(more ? 'pages before others' : 'last pages');
  if (typeof count === 'number') model.saw('counted items', due.length);
  if (offset > 0 && due.length > limit && data.length > 0) model.saw('walks over several pages');
  const dueIds = new Set(due.map(({ id }) => id));
  const strange = data.find(({ id }) => !dueIds.has(id));
  const here = { certain: false };
  if (strange !== undefined) {
    const expected = isFiltered ? `items that match ${describeFilters(exchange)} alone` : 'items of the list';
    return [{ ...here, what: isFiltered ? 'filter' : 'items', path: '/data', expected, actual: strange.id }];
  }
  const told: Told[] = [];
  const left = Math.max(0, Math.min(limit, due.length - offset));
  const isPastEnd = offset >= due.length;
  if (data.length !== left)
    told.push({
      ...{ ...here, what: isFiltered ? 'filter' : 'items', path: isPastEnd ? '/data past the end' : '/data' },
      expected: `${left} items at offset ${offset} of ${due.length}`,
      actual: `${data.length} items`,
    });
  const isPast = isPastEnd || (asked(exchange, 'offset') ?? 0) >= due.length;
  const hasMore = offset + limit < due.length && !isPast;
  if (more !== hasMore && limit > 0 && data.length === left)
    told.push({
      ...{ ...here, what: 'more', path: isPast ? '/has_more past the end' : '/has_more' },
      expected: `has_more ${hasMore} at offset ${offset} with limit ${limit} of ${due.length} items`,
      actual: `has_more ${more}`,
    });
  if (typeof count === 'number' && count !== due.length)
    told.push({
      ...{ ...here, what: 'count', path: '/total_count' },
      expected: `total_count ${due.length}`,
      actual: `total_count ${count}`,
    });
  return [...told, ...orderOf(list, exchange, page, due)].map((each) => ({ ...here, ...each }));
}

function orderOf(list: ListKnown, exchange: Exchange, { data, offset }: Page, due: readonly Shown[]): Told[] {
  const [order] = valuesOf(exchange, 'order_by');
  if (order !== undefined) {
    if (!list.orders) return [];
    const wrong = data.findIndex((item, place) => place > 0 && compared(data[place - 1] as Shown, item, order) > 0);
    if (wrong < 1) return [];
    const actual = `${data[wrong - 1]?.id} before ${data[wrong]?.id}`;
    return [{ what: 'order', path: '/data', expected: `items by ${order}`, actual }];
  }
  if (list.isUnordered) return [];
  const wrong = data.findIndex(({ id }, place) => due[offset + place]?.id !== id);
  if (wrong < 0) return [];
  return [
    {
      ...{ what: 'items', path: '/data place' },
      expected: `${due[offset + wrong]?.id} at place ${offset + wrong} of the list`,
      actual: data[wrong]?.id,
    },
  ];
}

/** By the first term; names are compared only where all collations agree. */
function compared(one: Shown, other: Shown, order: string): number {
  const [field = '', direction = 'desc'] = (order.split(',')[0] ?? '').split(':');
  const [left, right] = [one[field], other[field]];
  if (typeof left !== 'string' || typeof right !== 'string' || isSame(left, right)) return 0;
  const isTime = field.endsWith('_at');
  if (!isTime && !(PLAIN.test(left) && PLAIN.test(right))) return 0;
  const ascending = isTime ? Date.parse(left) - Date.parse(right) : left < right ? -1 : 1;
  return direction === 'asc' ? ascending : -ascending;
}
const PLAIN = /^[a-z0-9]+$/;

const describeFilters = (exchange: Exchange): string =>
  filtersOf(exchange)
    .map(([name, value]) => `${name}=${value}`)
    .join(' and ');
