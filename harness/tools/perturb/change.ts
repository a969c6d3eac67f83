import { isObject } from '../../common/lenient.ts';
import type { Item, Kind } from './perturbation.ts';

export type Json = Record<string, unknown>;

export const valueAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (inner, name) => (isObject(inner) || Array.isArray(inner) ? (inner as Json)[name] : undefined),
    value,
  );

export const isTime = (value: unknown): boolean => typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value);
const shifted = (text: string): string =>
  text.replace(/T(\d\d)/, (_, hour: string) => `T${String((Number(hour) + 23) % 24).padStart(2, '0')}`);

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

/** `other`: replacement for the kinds `foreign` and `stale`. */
export function changeMember(root: unknown, path: readonly string[], kind: Kind, other?: unknown): void {
  const holder = valueAt(root, path.slice(0, -1)) as Json | undefined;
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

export function makeStale(record: Json, before: Json): void {
  for (const name of Object.keys(record)) if (Object.hasOwn(before, name)) record[name] = before[name];
}

export function itemsOf(page: readonly unknown[], item: Item, one: string | undefined): unknown[] {
  if (item === 'first') return page.slice(0, 1);
  if (item === 'last') return page.slice(-1);
  return item === 'each' ? [...page] : page.filter((each) => valueAt(each, ['id']) === one);
}

const ITEM_CHANGES: Partial<Record<Kind, [length: number, change: (here: unknown, next: unknown) => unknown[]]>> = {
  'item-lost': [1, () => []],
  'item-doubled': [1, (here) => [here, here]],
  'item-repeated': [2, (here) => [here, here]],
  'items-swapped': [2, (here, next) => [next, here]],
};

export function changePage(page: unknown[], kind: Kind, item: Item): void {
  const [length, change] = ITEM_CHANGES[kind] ?? [];
  if (length === undefined || change === undefined || page.length < length) return;
  const index = item === 'last' ? page.length - length : 0;
  page.splice(index, length, ...change(page[index], page[index + 1]));
}

const reversed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reversed);
  if (!isObject(value)) return value;
  const members = Object.entries(value).map(([name, inner]) => [name, reversed(inner)] as const);
  return Object.fromEntries(members.reverse());
};

const TIME = /"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?)(Z|\+00:00)"/g;
/** Private character that marks text to replace in JSON. */
const MARK = '\uE000';
const integers = (_: string, value: unknown): unknown =>
  Number.isSafeInteger(value) ? `${MARK}${value}.0${MARK}` : value;
const texts = (_: string, value: unknown): unknown => (typeof value === 'string' ? `${MARK}${value}` : value);

const WRITINGS: Partial<Record<Kind, (value: unknown) => string>> = {
  'member-added': (value) => JSON.stringify(isObject(value) ? { ...value, x_note: { of: ['a', 1] } } : value),
  'members-reversed': (value) => JSON.stringify(reversed(value)),
  whitespace: (value) => `${JSON.stringify(value, undefined, '\t')}\n`,
  'number-form': (value) => JSON.stringify(value, integers).replaceAll(new RegExp(`"?${MARK}"?`, 'g'), ''),
  escaped: (value) =>
    JSON.stringify(value, texts)
      .replaceAll(new RegExp(`"${MARK}([a-z])`, 'g'), (_, first: string) => `"\\u00${first.charCodeAt(0).toString(16)}`)
      .replaceAll(MARK, ''),
  'time-form': (value) =>
    JSON.stringify(value).replaceAll(TIME, (_, time, zone) => `"${time}${zone === 'Z' ? '+00:00' : 'Z'}"`),
};

export const writtenAs = (kind: Kind, value: unknown): string | undefined => WRITINGS[kind]?.(value);
