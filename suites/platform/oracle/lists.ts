/** Compares a page of a list with its request and with the whole list (sections 2.6 and 8). */
import { LIST_LIMITS } from '../../../harness/contract/lists.ts';
import { instantOf } from '../../../harness/contract/shape.ts';
import { SUPPORTED_VERSIONS, versionNamed } from '../../../harness/contract/versions.ts';
import { isSame } from '../../../harness/runner/explore.ts';
import { envelopeProblems, type Page } from '../support/lists.ts';
import type { Difference } from './differences.ts';
import { type Exchange, expansionsOf, isExpand, notationOf, valuesOf } from './exchange.ts';
import { isBeyond, Judgement, type ListKnown, type Model, type Reference, type Shown, UNSURE } from './model.ts';

export function judgePage(model: Model, exchange: Exchange): Difference[] {
  const [name, rule] = oddParameter(exchange);
  const suffix = rule === '' ? '' : ` with ${name} that is ${rule}`;
  const judgement = new Judgement(model, exchange, suffix);
  const problems = envelopeProblems(exchange.json);
  judgement.hold(problems.length === 0, 'envelope', '', 'the list envelope of section 2.6', problems.join('; '));
  const { kind, sub } = exchange.operation;
  if (problems.length > 0 || sub === true) return judgement.found;
  const page = exchange.json as Page;
  model.saw('pages');
  model.saw('items', page.data.length);
  if (page.offset > 0 && page.data.length > 0) model.saw('pages after the first item');
  if (rule === 'high' && page.data.length === limitMaximum) model.saw('full pages');
  judgeLimit(judgement, exchange, page);
  judgeOffset(judgement, exchange, page);
  judgeSize(judgement, page);
  judgeCount(model, judgement, exchange, page);
  const list = kind && model.list(kind);
  if (list === undefined || list.isStale) return judgement.found;
  const isProven = filtersOf(exchange).every(([name]) => list.filters.get(name) === exchange.version);
  const readings = readingsOf(model, list, exchange).map((due) => {
    const reading = new Judgement(model, exchange, suffix);
    judgeAgainst(model, reading, { list, exchange, page, due, isProven });
    return reading.found;
  });
  const [found = []] = readings.toSorted((one, other) => one.length - other.length);
  return [...judgement.found, ...found];
}

/**
 * Possible contents of the list: all items, or only those that the request's version can express, because a platform
 * may leave out the others.
 */
export function readingsOf(model: Model, list: ListKnown, exchange: Exchange): (readonly Shown[])[] {
  const all = requestedItems(list, exchange);
  if (all === undefined) return [];
  const beyond = all.map(({ id }) => isBeyond(model.known(id, exchange.operation.kind), exchange.version));
  if (beyond.includes(undefined)) return [];
  const expressible = all.filter((_, at) => beyond[at] === false);
  return expressible.length < all.length ? [all, expressible] : [all];
}

const asked = (exchange: Exchange, name: string): number | undefined => {
  const [value, ...others] = valuesOf(exchange, name);
  return value !== undefined && others.length === 0 && /^-?\d+$/.test(value) ? Number(value) : undefined;
};

const { limitDefault, limitMaximum, limitMinimum } = LIST_LIMITS;
/** Largest number that clients usually send; platform.list.clamp.huge judges larger ones. */
const USUAL = 2 ** 31 - 1;

function ruleOf(exchange: Exchange, name: 'limit' | 'offset'): string {
  const given = asked(exchange, name);
  if (exchange.rawQuery !== undefined) return exchange.rawQuery.includes(name) ? 'nonsense' : 'default';
  if (valuesOf(exchange, name).length === 0) return 'default';
  if (given === undefined) return 'nonsense';
  if (Math.abs(given) > USUAL) return 'huge';
  if (name === 'offset') return given < 0 ? 'negative' : '';
  return given > limitMaximum ? 'high' : given < limitMinimum ? 'low' : '';
}

export function oddParameter(exchange: Exchange): readonly [name: string, rule: string] {
  const rules = [
    ['a limit', ruleOf(exchange, 'limit')],
    ['an offset', ruleOf(exchange, 'offset')],
  ] as const;
  return rules.find(([, each]) => each !== '' && each !== 'default') ?? ['a limit', ''];
}

function judgeLimit(judgement: Judgement, exchange: Exchange, { limit }: Page): void {
  const given = asked(exchange, 'limit') ?? 0;
  const rule = ruleOf(exchange, 'limit');
  const hold = (isRight: boolean, path: string, expected: string): void =>
    judgement.hold(isRight, 'limit', path, expected, `limit ${limit}`);
  if (rule === 'nonsense' || (rule !== '' && rule !== 'default' && given < limitMinimum)) {
    hold(limit >= 0 && limit <= limitMaximum, '/limit', `a limit from 0 to ${limitMaximum}`);
    if (rule === 'nonsense' || limit < 0 || limit > limitMaximum) return;
    const nearest = `limit ${limitMinimum}, the nearest valid value`;
    hold(given === 0 || limit <= limitMinimum, '/limit nearest', nearest);
    if (given === 0 || limit <= limitMinimum) hold(limit === limitMinimum, '/limit not 1', nearest);
    return;
  }
  const due = rule === 'default' ? limitDefault : Math.min(given, limitMaximum);
  hold(limit === due, rule === 'default' ? '/limit by default' : '/limit', `limit ${due}`);
}

function judgeOffset(judgement: Judgement, exchange: Exchange, { offset, data }: Page): void {
  const given = asked(exchange, 'offset') ?? 0;
  const rule = ruleOf(exchange, 'offset');
  const path = rule === 'default' ? '/offset by default' : '/offset';
  const hold = (isRight: boolean, expected: string): void =>
    judgement.hold(isRight, 'offset', path, expected, `offset ${offset}`);
  if (rule === 'nonsense') hold(offset >= 0, 'an offset of 0 or more');
  else if (given <= 0) hold(offset === 0, 'offset 0');
  // A platform may clamp an offset past the end.
  else hold(offset >= 0 && (offset <= given || data.length === 0), `offset ${given}`);
}

function judgeSize(judgement: Judgement, { data, limit, has_more: more }: Page): void {
  const isFull = !more || data.length === limit || limit === 0;
  const expected = data.length > limit ? `at most ${limit} items` : `${limit} items, as has_more is true`;
  const actual = `${data.length} items with limit ${limit} and has_more ${more}`;
  if (data.length > 0 || more) judgement.hold(data.length <= limit && isFull, 'size', '/data', expected, actual);
  if (data.length === 0) return;
  const repeated = data.find(({ id }, place) => data.findIndex((other) => other.id === id) !== place);
  judgement.hold(repeated === undefined, 'twice', '/data', 'each item of a page once', `${repeated?.id} twice`);
}

function judgeCount(model: Model, judgement: Judgement, exchange: Exchange, { total_count: count }: Page): void {
  const names = expansionsOf(exchange);
  const [isCount, expected] = [typeof count === 'number' && count >= 0, 'total_count with expand=total_count'];
  if (names.includes('total_count')) {
    // No section shows total_count beside an expansion for lists.
    const path = names.length === 1 ? '/total_count' : '/total_count beside an expansion';
    const notation = notationOf(exchange);
    if (notation === 'alone' || (notation === 'repeated' && model.notations.has(notation)))
      judgement.hold(isCount, 'count', path, expected, count ?? 'none');
  } else if (!names.some((name) => name.includes('total_count'))) {
    const none = 'no total_count without expand=total_count';
    judgement.hold(count === undefined, 'count', '/total_count unasked', none, count);
  }
}

export function requestedItems(list: ListKnown, exchange: Exchange): readonly Shown[] | undefined {
  const { reference, filters: known } = list;
  if (reference?.isWhole !== true) return undefined;
  const filters = filtersOf(exchange);
  return filters.every(([name]) => known.has(name) && isKnown(reference, name, exchange.version))
    ? reference.items.filter((item) => filters.every(([name, value]) => value.split('|').includes(String(item[name]))))
    : undefined;
}

export const filtersOf = ({ query }: Exchange): Exchange['query'] =>
  query.filter((each) => !isExpand(each) && !['limit', 'offset', 'order_by'].includes(each[0]));

/** True if every item shows the member, but false for a status that an older version may show differently. */
function isKnown({ items }: Reference, name: string, version: string): boolean {
  const isOlder = version !== SUPPORTED_VERSIONS.at(-1);
  const isOpen = version === versionNamed('tetons') && items.some((item) => item['activity_status'] === 'removing');
  if (name.endsWith('status') && (isOpen || (isOlder && name === 'status'))) return false;
  return items.every((item) => item[name] !== undefined) && items.length > 0;
}

interface Compared {
  list: ListKnown;
  exchange: Exchange;
  page: Page;
  due: readonly Shown[];
  /**
   * False with a filter that was not seen to take effect in this version; `has_more`, offset, count and order are then
   * not judged.
   */
  isProven: boolean;
}

function judgeAgainst(model: Model, judgement: Judgement, compared: Compared): void {
  const { exchange, page, due, isProven } = compared;
  const { limit, offset, data, has_more: more, total_count: count } = page;
  const filters = filtersOf(exchange).map(([name, value]) => `${name}=${value}`);
  if (due.length > 0) model.saw(more ? 'pages before others' : 'last pages');
  if (typeof count === 'number') model.saw('counted items', due.length);
  if (offset > 0 && due.length > limit && data.length > 0) model.saw('walks over several pages');
  if (due.length > 0 && (filters.length > 0 || valuesOf(exchange, 'order_by').length > 0))
    model.saw('filtered or ordered pages');
  const what = filters.length > 0 ? 'filter' : 'items';
  const dueIds = new Set(due.map(({ id }) => id));
  const strange = data.find(({ id }) => !dueIds.has(id));
  const expected = filters.length > 0 ? `items that match ${filters.join(' and ')} alone` : 'items of the list';
  judgement.hold(strange === undefined, what, '/data', expected, strange?.id, UNSURE);
  if (strange !== undefined) return;
  judgeEnds(judgement, what, compared);
  if (!isProven) return;
  const from = asked(exchange, 'offset') ?? 0;
  if (from > 0 && from < due.length)
    judgement.hold(offset === from, 'offset', '/offset', `offset ${from}`, `offset ${offset}`, UNSURE);
  const counted = `total_count ${due.length}`;
  if (typeof count === 'number')
    judgement.hold(count === due.length, 'count', '/total_count', counted, `total_count ${count}`, UNSURE);
  judgeOrder(judgement, compared);
}

function judgeEnds(judgement: Judgement, what: 'filter' | 'items', compared: Compared): void {
  const { exchange, page, due, isProven } = compared;
  const { limit, offset, data, has_more: more } = page;
  const left = Math.max(0, Math.min(limit, due.length - offset));
  const isPastEnd = offset >= due.length;
  const isPast = isPastEnd || (asked(exchange, 'offset') ?? 0) >= due.length;
  const where = (isBeyond: boolean): string => (isBeyond ? ' past the end' : '');
  const expected = `${left} items at offset ${offset} of ${due.length}`;
  judgement.hold(data.length === left, what, `/data${where(isPastEnd)}`, expected, `${data.length} items`, UNSURE);
  if (limit === 0 || data.length !== left || !isProven) return;
  const hasMore = offset + limit < due.length && !isPast;
  const follows = `has_more ${hasMore} at offset ${offset} with limit ${limit} of ${due.length} items`;
  judgement.hold(more === hasMore, 'more', `/has_more${where(isPast)}`, follows, `has_more ${more}`, UNSURE);
}

function judgeOrder(judgement: Judgement, { list, exchange, page: { data, offset }, due }: Compared): void {
  const [order] = valuesOf(exchange, 'order_by');
  if (order === undefined) {
    if (list.isUnordered) return;
    const wrong = data.findIndex(({ id }, place) => due[offset + place]?.id !== id);
    const expected = `${due[offset + wrong]?.id} at place ${offset + wrong} of the list`;
    judgement.hold(wrong < 0, 'items', '/data place', expected, data[wrong]?.id, UNSURE);
  } else if (list.orders) {
    const wrongBy = (terms: string): number =>
      data.findIndex((item, place) => place > 0 && compared(data[place - 1] as Shown, item, terms) > 0);
    const [main = order, ...further] = order.split(',');
    // Skips an order by several fields if the page does not even follow the first: a platform may order by one field
    // only.
    if (further.length > 0 && wrongBy(main) > 0) return;
    const wrong = wrongBy(order);
    const actual = `${data[wrong - 1]?.id} before ${data[wrong]?.id}`;
    judgement.hold(wrong < 1, 'order', '/data', `items by ${order}`, actual, UNSURE);
    const [first, last] = [data[0], data.at(-1)] as (Shown | undefined)[];
    if (first === undefined || last === undefined) return;
    const before = due.filter((item) => compared(item, first, order) < 0).length;
    const after = due.filter((item) => compared(last, item, order) < 0).length;
    const isInPlace = before <= offset && after <= due.length - offset - data.length;
    const expected = `${data.length} of ${due.length} items by ${order}, with ${offset} before them`;
    const place = `${before} items come before ${first.id}, and ${after} after ${last.id}`;
    judgement.hold(isInPlace, 'order', '/data', expected, place, UNSURE);
  }
}

/**
 * Compares two items by `order_by`, by further terms only if the texts are equal; 0 for texts that collations may order
 * differently.
 */
function compared(one: Shown, other: Shown, order: string): number {
  const [term = '', ...further] = order.split(',');
  const [field = '', direction = 'desc'] = term.split(':');
  const isTime = field.endsWith('_at');
  // Strips the prefix of an id. An id of digits keeps it, and so compares as equal, because a platform may order such
  // ids by value.
  const [left, right] = [one, other].map(({ [field]: value }) =>
    field === 'id' ? String(value).replace(/^.*_(?=.*[a-z])/, '') : value,
  );
  if (typeof left !== 'string' || typeof right !== 'string') return 0;
  if (further.length > 0 && left === right && !isTime) return compared(one, other, further.join());
  if (isSame(left, right)) return 0;
  if (field === 'id' && left.length !== right.length) return 0;
  if (!isTime && !(PLAIN.test(left) && PLAIN.test(right))) return 0;
  const ascending = isTime ? instantOf(left) - instantOf(right) : left < right ? -1 : 1;
  return direction === 'asc' ? ascending : -ascending;
}
const PLAIN = /^[a-z0-9]+$/;
