import type { Asked } from '../../../harness/client/happening.ts';
import { defined } from '../../../harness/common/defined.ts';
import type { Operation } from '../../../harness/contract/platform/operation.ts';

const WRONG = {
  changed: 'with another first character in the key',
  cut: 'without the last character of the key',
  half: 'with the first half of the key',
  longer: 'with eight more characters in the key',
  recased: 'with the letters of the key in the other case',
  empty: 'with an empty key',
} as const;
/** `limited` lacks the scope devices:read. */
export type Key = 'full' | 'limited' | 'none' | keyof typeof WRONG;
export const WRONG_KEYS = Object.keys(WRONG) as (keyof typeof WRONG)[];
/** Excludes `recased`, because a hexadecimal key may be valid in either case. */
export const SURELY_WRONG_KEYS = WRONG_KEYS.filter((key) => key !== 'recased');
export const isWrong = (key: Key): boolean => key in WRONG;

/** Changes a key so that decoded hexadecimal or base64 differs too, except for `recased`. */
export function changedKey(key: string, how: Key): string | undefined {
  // Leaves out the padding of base64, because decoders may ignore it and all after it.
  const bare = key.replace(/=+$/, '');
  const swapped = [...key].map((each) => (each === each.toUpperCase() ? each.toLowerCase() : each.toUpperCase()));
  const recased = swapped.join('');
  return {
    full: key,
    limited: undefined,
    none: undefined,
    empty: '',
    changed: `${/[a-m0-4]/i.test(key[0] ?? '') ? 'z' : 'a'}${key.slice(1)}`,
    cut: bare.slice(0, -1),
    half: bare.slice(0, Math.floor(bare.length / 2)),
    longer: `${bare}a0a0a0a0`,
    recased: recased === key ? `${key}A` : recased,
  }[how];
}

export interface Ask {
  operation: Operation;
  version: string;
  key: Key;
  ids: readonly string[];
  path?: string;
  query: readonly (readonly [string, string])[];
  body?: unknown;
  /** True to reuse a connection; random if undefined. */
  isKept?: boolean;
  /** True to send the body in two pieces; random if undefined. */
  isCut?: boolean;
  rawQuery?: string;
}

export const askFor = (
  operation: Operation,
  version: string,
  ids: readonly string[] = [],
  more: Partial<Ask> = {},
): Ask => ({ operation, version, key: 'full', ids, query: [], ...more });

export interface Exchange extends Ask {
  status: number;
  headers: Readonly<Record<string, string>>;
  json: unknown;
  text: string;
  asked: Asked;
  /** True if a limit of Muster or a standstill explains why no answer came; nothing is judged then. */
  isExcused?: boolean;
}

export interface Seen {
  asked: Asked;
  text: string;
}

export const pairs = (query: Readonly<Record<string, string | number>>): Ask['query'] =>
  Object.entries(query).map(([name, value]) => [name, String(value)] as const);

export const seenIn = ({ asked, text }: Exchange): Seen => ({ asked, text });

export const pathOf = ({ operation, ids, path }: Ask): string => {
  if (path !== undefined) return path;
  const left = [...ids];
  return operation.path.replaceAll(/\{\w+\}/g, () => encodeURIComponent(left.shift() ?? ''));
};

export const queryOf = ({ query, rawQuery }: Ask): string =>
  rawQuery ?? query.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&');

export const valuesOf = ({ query }: Ask, name: string): string[] =>
  query.flatMap(([each, value]) => (each === name ? [value] : []));

/** `expand`, or as clients write lists: `expand[]` and `expand[0]`. */
export const isExpand = ([name]: Ask['query'][number]): boolean => name.startsWith('expand');

export const expansionsOf = ({ query }: Ask): string[] =>
  query.filter(isExpand).flatMap(([, value]) => value.split(','));

export function notationOf({ query }: Ask): string {
  const asked = query.filter(isExpand);
  if (asked.some(([name]) => name !== 'expand')) return 'bracketed';
  if (asked.some(([, value]) => value.includes(','))) return 'with commas';
  return asked.length > 1 ? 'repeated' : 'alone';
}

export function describeAsk(ask: Ask): string {
  const { key, version, operation } = ask;
  const query = queryOf(ask);
  const keys = { limited: 'with the limited key', none: 'without a key', ...WRONG };
  const who = key === 'full' ? '' : `${keys[key]}, `;
  const codename = version.slice(version.indexOf('.') + 1);
  const cut = ask.isCut === true ? ' in two pieces' : '';
  const body = ask.body === undefined ? '' : ` ${JSON.stringify(ask.body)}${cut}`;
  return `${who}in ${codename}, ${operation.method} ${pathOf(ask)}${query === '' ? '' : `?${query}`}${body}`;
}

export const askOf = ({ operation, version, key, ids, path, query, body, isKept, isCut, rawQuery }: Ask): Ask => ({
  operation,
  version,
  key,
  ids,
  query,
  ...defined({ path, isKept, isCut, body, rawQuery }),
});
