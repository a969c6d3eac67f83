import { type Expansion, inVersion, type ResourceKind } from '../../../harness/contract/platform/operation.ts';
import { RESOURCES } from '../../../harness/contract/platform/operations.ts';
import type { SupportedVersion } from '../../../harness/contract/versions.ts';
import type { Core } from '../core.ts';
import type { ApiKey } from '../keys.ts';
import { PlatformError } from '../ports.ts';
import { type ExpandTree, filterUp, type Renderer } from '../render.ts';
import type { Filters, OrderTerm } from '../store/rows.ts';

const EXPAND_LEVELS = 4;
/** Maximum number of values of one filter; real clients send far fewer. */
const FILTER_VALUES = 1000;

const refuse = (parameter: string, message: string, accepted: readonly string[]) =>
  new PlatformError(400, 'invalid_parameter', `${parameter}: ${message}`, { parameter, accepted: [...accepted] });

const shortened = (text: string) => JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);

export type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

export function valuesOf(query: Query, name: string): readonly string[] {
  const value = query[name];
  if (value === undefined) return [];
  return typeof value === 'string' ? [value] : value;
}

/** Items are repeated or separated by `,` or `|`. `isOne`: true if a text with commas is a single item. */
const itemsOf = (texts: readonly string[], isOne: (text: string) => boolean = () => false): string[] =>
  texts
    .flatMap((text) => text.split('|'))
    .flatMap((text) => (text.includes(',') && !isOne(text) ? text.split(',') : [text]))
    .filter((text) => text !== '');

/** Throws PlatformError 400 for an unknown value. `isValue`: true for a stored name, which may contain commas. */
export function readFilters(
  query: Query,
  kind: ResourceKind,
  version: SupportedVersion,
  isValue: (field: string, text: string) => boolean,
): Filters {
  const filters: Record<string, readonly string[]> = {};
  const known = RESOURCES[kind].filters;
  for (const field in query) {
    const filter = Object.hasOwn(known, field) ? known[field] : undefined;
    if (filter === undefined || !inVersion(filter, version)) continue;
    const accepted = filter.values?.(version);
    const isOne = accepted === undefined ? (text: string) => isValue(field, text) : undefined;
    const values = itemsOf(valuesOf(query, field), isOne);
    if (values.length > FILTER_VALUES) throw refuse(field, `at most ${FILTER_VALUES} values`, []);
    if (values.length === 0) continue;
    const wrong = accepted && values.find((value) => !accepted.includes(value));
    if (wrong !== undefined) throw refuse(field, `${shortened(wrong)} is not accepted`, accepted ?? []);
    filters[field] = filterUp(kind, field, values, version);
  }
  return filters;
}

export function readOrder(query: Query, kind: ResourceKind, version: SupportedVersion): OrderTerm[] {
  if (query['order_by'] === undefined) return [];
  const { orders } = RESOURCES[kind];
  const names = Object.keys(orders).filter((each) => inVersion(orders[each] ?? {}, version));
  const accepted = ['id', 'created_at', ...names];
  return itemsOf(valuesOf(query, 'order_by')).map((text) => {
    const [field = '', direction = 'desc', ...rest] = text.split(':');
    if (!accepted.includes(field) || rest.length > 0 || (direction !== 'asc' && direction !== 'desc')) {
      const forms = accepted.map((name) => `${name}[:asc|:desc]`);
      throw refuse('order_by', `${shortened(text)} is not accepted`, forms);
    }
    return { field, descending: direction === 'desc' };
  });
}

/** `a.b` expands `a`, and `b` inside `a`. Throws PlatformError 400 for an unknown expansion. */
export function readExpand(query: Query, kind: ResourceKind, version: SupportedVersion, list: boolean) {
  const tree: ExpandTree = {};
  let totalCount = false;
  for (const text of itemsOf([...valuesOf(query, 'expand'), ...valuesOf(query, 'expand[]')])) {
    if (list && text === 'total_count') {
      totalCount = true;
      continue;
    }
    const names = text.split('.');
    if (names.length > EXPAND_LEVELS)
      throw refuse('expand', `${shortened(text)} is more than ${EXPAND_LEVELS} deep`, []);
    let within: ResourceKind | undefined = kind;
    let at = tree;
    for (const [depth, name] of names.entries()) {
      const known: Record<string, Expansion> = within === undefined ? {} : RESOURCES[within].expansions;
      const accepted = Object.keys(known).filter((each) => inVersion(known[each] ?? {}, version));
      if (!accepted.includes(name)) {
        const total = list && depth === 0 ? ['total_count'] : [];
        throw refuse('expand', `${shortened(text)} is not accepted`, [...total, ...accepted]);
      }
      at[name] ??= {};
      at = at[name];
      within = known[name]?.kind;
    }
  }
  return { tree, totalCount };
}

export interface Call {
  core: Core;
  renderer: Renderer;
  version: SupportedVersion;
  key: ApiKey;
  params: Readonly<Record<string, string>>;
  query: Query;
  body: unknown;
}

export interface Answered {
  status?: number;
  json?: string;
  bytes?: Uint8Array;
  headers?: Record<string, string>;
}

export function requireScope({ core, key }: Pick<Call, 'core' | 'key'>, scope: string): void {
  if (core.behaviour.permits(key, scope)) return;
  throw new PlatformError(403, 'missing_scope', `the API key lacks the scope ${scope}`, { scope });
}
