/** Changes of JSON and of the blocks of an event stream, by kind. Pure, and without knowledge of any API. */
import type { Item, Kind } from './perturbation.ts';

export type Json = Record<string, unknown>;

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const at = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (inner, name) => (isObject(inner) || Array.isArray(inner) ? (inner as Json)[name] : undefined),
    value,
  );

const HOUR = /T(\d\d)/;
export const isTime = (value: unknown): boolean => typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value);
const shifted = (text: string): string =>
  text.replace(HOUR, (_, hour: string) => `T${String((Number(hour) + 23) % 24).padStart(2, '0')}`);

/** Words of one vocabulary stand for each other. */
const VOCABULARIES = [
  ['staged', 'queued', 'deployed', 'removing', 'archived', 'drifted'],
  ['none', 'retrying', 'failed'],
  ['online', 'offline'],
  ['json', 'yaml'],
] as const;

function altered(value: unknown): unknown {
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'boolean') return !value;
  if (Array.isArray(value)) return value.slice(0, -1);
  if (typeof value !== 'string') return value;
  const words: readonly string[] | undefined = VOCABULARIES.find((all) => (all as readonly string[]).includes(value));
  if (words !== undefined) return words[(words.indexOf(value) + 1) % words.length];
  return isTime(value) ? shifted(value) : `${value.slice(0, -1)}${value.endsWith('a') ? 'b' : 'a'}`;
}

function retyped(value: unknown): unknown {
  if (value === null) return value;
  if (typeof value === 'string') return [value];
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Changes a member in place. `other`: what stands in its place for the kinds that take it from elsewhere. */
export function changeMember(root: unknown, path: readonly string[], kind: Kind, other?: unknown): void {
  const holder = at(root, path.slice(0, -1)) as Json | undefined;
  const name = path.at(-1) ?? '';
  if (holder === undefined || holder === null || typeof holder !== 'object' || !Object.hasOwn(holder, name)) return;
  const value = holder[name];
  if (kind === 'dropped') delete holder[name];
  else if (kind === 'null') holder[name] = null;
  else if (kind === 'retyped') holder[name] = retyped(value);
  else if (kind === 'altered') holder[name] = altered(value);
  else if (kind === 'shifted' && isTime(value)) holder[name] = shifted(String(value));
  else if (other !== undefined) holder[name] = other;
}

/** The members of an earlier record, where the later one has them too. */
export function becomeStale(record: Json, before: Json): void {
  for (const name of Object.keys(record)) if (Object.hasOwn(before, name)) record[name] = before[name];
}

/** Those of a page that are changed. `one`: the record whose id it is. */
export function itemsOf(page: readonly unknown[], item: Item, one: string | undefined): unknown[] {
  if (item === 'first') return page.slice(0, 1);
  if (item === 'last') return page.slice(-1);
  return item === 'each' ? [...page] : page.filter((each) => at(each, ['id']) === one);
}

/** Changes the items of a page in place. Returns nothing where the page is too short. */
export function changePage(page: unknown[], kind: Kind, item: Item): void {
  const least = kind === 'item-lost' || kind === 'item-doubled' ? 1 : 2;
  if (page.length < least) return;
  const index = item === 'last' ? page.length - least : 0;
  const [here, next] = [page[index], page[index + 1]];
  if (kind === 'item-lost') page.splice(index, 1);
  else if (kind === 'item-doubled') page.splice(index, 0, here);
  else if (kind === 'item-repeated') page.splice(index + 1, 1, here);
  else if (kind === 'items-swapped') page.splice(index, 2, next, here);
}

const reversed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reversed);
  if (!isObject(value)) return value;
  const members = Object.entries(value).map(([name, inner]) => [name, reversed(inner)] as const);
  return Object.fromEntries(members.reverse());
};

const TIME = /"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?)(Z|\+00:00)"/g;
const otherForm = (_: string, time: string, zone: string): string => `"${time}${zone === 'Z' ? '+00:00' : 'Z'}"`;
/** Stands around what is written in a form that `JSON.stringify` does not have. */
const MARK = '\uE000';
const integers = (_: string, value: unknown): unknown =>
  Number.isSafeInteger(value) ? `${MARK}${value}.0${MARK}` : value;
const texts = (_: string, value: unknown): unknown => (typeof value === 'string' ? `${MARK}${value}` : value);
const asEscape = (_: string, first: string): string => `"\\u00${first.charCodeAt(0).toString(16)}`;

/** The same JSON written in another way, with one member more at most; undefined for kinds that do something else. */
export function writtenAs(kind: Kind, value: unknown): string | undefined {
  if (kind === 'member-added') return JSON.stringify(isObject(value) ? { ...value, x_note: { of: ['a', 1] } } : value);
  if (kind === 'members-reversed') return JSON.stringify(reversed(value));
  if (kind === 'whitespace') return `${JSON.stringify(value, undefined, '\t')}\n`;
  if (kind === 'number-form') return JSON.stringify(value, integers).replaceAll(new RegExp(`"?${MARK}"?`, 'g'), '');
  if (kind === 'escaped')
    return JSON.stringify(value, texts)
      .replaceAll(new RegExp(`"${MARK}([a-z])`, 'g'), asEscape)
      .replaceAll(MARK, '');
  if (kind === 'time-form') return JSON.stringify(value).replaceAll(TIME, otherForm);
  return undefined;
}
