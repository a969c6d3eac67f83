/**
 * Admitted request for the routes, their possible answers, and the parameters of a query. Refuses meaningless values
 * rather than guessing.
 */

import { inVersion, type Operation, type ResourceKind } from '../../../harness/contract/platform/operation.ts';
import { RESOURCES } from '../../../harness/contract/platform/operations.ts';
import type { SupportedVersion } from '../../../harness/contract/versions.ts';
import type { Core } from '../core.ts';
import type { ApiKey } from '../keys.ts';
import { PlatformError } from '../ports.ts';
import type { ExpandTree, Renderer } from '../render.ts';
import type { Filters, OrderTerm } from '../store/order.ts';
import type { Rows } from '../store/rows.ts';
import { filterUp } from '../versions.ts';

const EXPAND_LEVELS = 4;
/** Most values of a filter, far above a client's need: a query with thousands would be an attack. */
const FILTER_VALUES = 1000;

const refuse = (parameter: string, message: string, accepted: readonly string[]) =>
  new PlatformError(400, 'invalid_parameter', `${parameter}: ${message}`, { parameter, accepted: [...accepted] });

const shortened = (text: string) => JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);

/** Query as parsed by Fastify, with an array for a repeated parameter. */
export type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

export function valuesOf(query: Query, name: string): readonly string[] {
  const value = query[name];
  if (value === undefined) return [];
  return typeof value === 'string' ? [value] : value;
}

/**
 * Items of a list parameter, repeated or separated by `,` or `|`, because published clients use all three. Omits empty
 * items. `isOne`: takes a text with commas as one item.
 */
const itemsOf = (texts: readonly string[], isOne: (text: string) => boolean = () => false): string[] =>
  texts
    .flatMap((text) => text.split('|'))
    .flatMap((text) => (text.includes(',') && !isOne(text) ? text.split(',') : [text]))
    .filter((text) => text !== '');

/**
 * Reads filters, of which one without values filters nothing. Throws PlatformError 400 for an unknown value.
 * @param isValue whether an item has this value in this field, because a name may contain commas
 */
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

/** Terms of `order_by`. Throws PlatformError 400 for a field that does not sort. */
export function readOrder(query: Query, kind: ResourceKind, version: SupportedVersion): OrderTerm[] {
  if (query['order_by'] === undefined) return [];
  const { orders } = RESOURCES[kind];
  const accepted = [
    'id',
    'created_at',
    ...Object.keys(orders).filter((each) => inVersion(orders[each] ?? {}, version)),
  ];
  return itemsOf(valuesOf(query, 'order_by')).map((text) => {
    const [field = '', direction = 'desc', ...rest] = text.split(':');
    if (!accepted.includes(field) || rest.length > 0 || (direction !== 'asc' && direction !== 'desc')) {
      throw refuse(
        'order_by',
        `${shortened(text)} is not accepted`,
        accepted.map((name) => `${name}[:asc|:desc]`),
      );
    }
    return { field, descending: direction === 'desc' };
  });
}

/** Reads the list `expand` or `expand[]`, where dots nest, and a nested expansion implies its parents. */
export function readExpand(
  query: Query,
  kind: ResourceKind | undefined,
  version: SupportedVersion,
  list: boolean,
): { tree: ExpandTree; totalCount: boolean } {
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
      const known = within === undefined ? {} : RESOURCES[within].expansions;
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
  operation: Operation;
  version: SupportedVersion;
  key: ApiKey;
  params: Readonly<Record<string, string>>;
  query: Query;
  /** Body that is valid for operation and version; undefined if neither needed nor sent. */
  body: unknown;
}

export interface Answered {
  status?: number;
  /** Text of a JSON document. */
  json?: string;
  bytes?: Uint8Array;
  headers?: Record<string, string>;
}

export type Handler = (call: Call) => Answered | Promise<Answered>;

export type Handlers = Record<string, Handler>;

/** Throws PlatformError 403 for a key without the scope. */
export function requireScope(call: Call, scope: string): void {
  if (call.core.behaviour.permits(call.key, scope)) return;
  throw new PlatformError(403, 'missing_scope', `the API key lacks the scope ${scope}`, { scope });
}

export const param = (call: Call, kind: ResourceKind): string => call.params[`${kind}_id`] ?? '';

/** Answers with the result of a change, after reading expansions, so that a wrong one changes nothing. */
export function shown<K extends ResourceKind>(call: Call, kind: K, act: (core: Call['core']) => Rows[K]): Answered {
  const { tree } = readExpand(call.query, kind, call.version, false);
  const row = act(call.core);
  if (Object.keys(tree).length === 0) return { json: call.renderer.text(kind, row.seq, call.version) };
  return { json: JSON.stringify(call.renderer.value(kind, row, call.version, tree)) };
}

export function created<K extends ResourceKind>(call: Call, kind: K, act: (core: Call['core']) => Rows[K]): Answered {
  return { ...shown(call, kind, act), status: call.core.behaviour.createdStatus };
}
