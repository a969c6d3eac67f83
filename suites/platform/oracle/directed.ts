/** Requests that random draws rarely reach: refusals, and edge values of `limit` and `offset`. */
import {
  inVersion,
  type Operation,
  RESOURCE_KINDS,
  type ResourceKind,
  type Span,
} from '../../../harness/contract/platform/operation.ts';
import { operationsOf, RESOURCES } from '../../../harness/contract/platform/operations.ts';
import { END_OF_LIFE_VERSIONS, NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import { type Ask, askFor, pairs, WRONG_KEYS } from './exchange.ts';
import type { Explorer } from './explorer.ts';
import { UNKNOWN } from './refusals.ts';

const [NEWEST_DATE = '', NEWEST_NAME = ''] = NEWEST_VERSION.split('.');
const WRONG_VERSIONS = [
  ...[`${NEWEST_DATE}.${NEWEST_NAME}s`, '2099-01-01.nowhere', `2001-01-01.${NEWEST_NAME}`, '2026-13-45.nowhere'],
  ...[NEWEST_DATE, NEWEST_NAME, `.${NEWEST_NAME}`, `${NEWEST_DATE}.`, `${NEWEST_DATE} ${NEWEST_NAME}`],
  ...[`${NEWEST_VERSION}.1`, `${NEWEST_VERSION},${NEWEST_VERSION}`, 'v1', 'latest', '*', '0', 'null', '-"{/'],
];
const TAILS = ['', 'x7', 'é', '日本', '🤖', "' OR '1'='1", '%', '\u0000', '<b>'];

export function refusals(ex: Explorer): Ask[] {
  const asks: Ask[] = [];
  for (const version of ex.versions)
    for (const each of operationsOf(version)) {
      if (each.method !== 'GET') continue;
      const kind = RESOURCE_KINDS.find((one) => each.path.startsWith(`/${RESOURCES[one].collection}/{`));
      const record = kind && ex.draw.one(ex.model.of(kind));
      if (kind !== undefined && record === undefined) continue;
      const ask = askFor(each, version, record === undefined ? [] : [record.id]);
      asks.push({ ...ask, key: ex.draw.one(['none', ...WRONG_KEYS, 'none'] as const) });
      if (ex.t.limitedKey !== undefined) asks.push({ ...ask, key: 'limited' });
      if (kind !== undefined) asks.push({ ...ask, ids: [`${RESOURCES[kind].prefix}${UNKNOWN}${ex.draw.one(TAILS)}`] });
    }
  const newest = asks.filter(({ version, key }) => version === ex.newest && key !== 'full' && key !== 'limited');
  const list = ex.draw.one(servedLists(ex));
  if (list !== undefined)
    asks.push(
      ...WRONG_KEYS.map((key) => askFor(list, ex.newest, [], { key })),
      ...pathsLike(list.path).map((path) => askFor(list, ex.newest, [], { key: 'none', path })),
    );
  for (const version of END_OF_LIFE_VERSIONS)
    asks.push(...newest.map((ask) => ({ ...ask, version, key: 'full' as const })));
  for (const version of WRONG_VERSIONS)
    for (const operation of ex.draw.some(servedLists(ex), 1)) asks.push(askFor(operation, version));
  return asks;
}

/** Variants of a path that a router may serve past its access check. */
const pathsLike = (path: string): string[] => [
  ...[`${path}/`, `/${path}`, path.toUpperCase(), `${path};a=b`, `${path}.json`, `/.${path}`, `${path}/.`],
  path.replace(/\w/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
];

const POWERS = [31, 32, 53, 63, 64, 128].map((exponent) => 2n ** BigInt(exponent));
const HUGE: readonly string[] = [...POWERS.flatMap((power) => [power - 1n, power]), 10n ** 399n].map(String);
const LIMITS = ['0', '-1', '-5', '101', '1000'];
const OFFSETS = ['-1', '-1000', '1000000'];

export function pagesOutOfRange(ex: Explorer): Ask[] {
  const served = servedLists(ex);
  const page = (operation: Operation, query: Ask['query']): Ask => askFor(operation, ex.newest, [], { query });
  const usual = served.flatMap((operation) =>
    [
      ...LIMITS.map((limit) => pairs({ limit })),
      ...OFFSETS.map((offset) => pairs({ limit: 100, offset })),
      ...[pairs({ offset: -2 }), [], pairs({ limit: 10, offset: 0 })],
      ...ends(ex, operation),
    ].map((query) => page(operation, query)),
  );
  const one = ex.draw.one(served);
  if (one === undefined) return usual;
  const huge = HUGE.flatMap((digits) => [digits, `-${digits}`]).flatMap((digits) => [
    page(one, pairs({ limit: digits })),
    page(one, pairs({ limit: 5, offset: digits })),
  ]);
  return [...usual, ...huge, ...NONSENSE.map((rawQuery) => askFor(one, ex.newest, [], { rawQuery }))];
}

function ends(ex: Explorer, { kind }: Operation): Ask['query'][] {
  const total = (kind && ex.model.list(kind).reference?.total) ?? 0;
  const full = Math.min(total, 100);
  const pages = [
    ...[full, 1, 2].map((limit) => ({ limit, offset: total - limit })),
    ...[full, 1].map((limit) => ({ limit, offset: total - limit - 1 })),
    ...[0, 1, 5].map((beyond) => ({ limit: 10, offset: total + beyond })),
    { limit: 3, offset: total - 2 },
    { limit: 1, offset: 0 },
  ];
  return pages
    .filter(({ limit, offset }) => limit > 0 && offset >= 0)
    .map((page) => pairs({ ...page, expand: 'total_count' }));
}

export const servedLists = ({ newest, model }: Explorer): Operation[] =>
  operationsOf(newest).filter(
    ({ id, list, sub }) => list === true && sub !== true && model.served.has(`${id} ${newest}`),
  );

export function filtersAndOrders(ex: Explorer): Ask[] {
  return servedLists(ex).flatMap((operation): Ask[] => {
    const kind = operation.kind as ResourceKind;
    const list = ex.model.list(kind);
    const { filters, orders } = RESOURCES[kind];
    const middle = String(Math.floor((list.reference?.total ?? 0) / 3));
    const page = (version: string, limit: number, ...given: Ask['query']): Ask =>
      askFor(operation, version, [], { query: [...pairs({ limit, expand: 'total_count' }), ...given] });
    const with100 = (span: Span, ...given: Ask['query']): Ask[] => {
      const version = ex.draw.one(ex.versions.filter((each) => inVersion(span, each) && ex.has(each, operation)));
      return version === undefined ? [] : [page(version, 100, ...given)];
    };
    const values = (name: string): unknown[] => (list.reference?.items ?? []).map((item) => item[name] || UNKNOWN);
    const rarestAndMostFrequent = (name: string): string[] => {
      const groups = [...Map.groupBy(values(name), String)].toSorted(([, one], [, other]) => one.length - other.length);
      return [...groups.slice(0, 1), ...groups.slice(-1)].map(([value]) => value);
    };
    const any = (name: string) => [name, String(ex.draw.one(values(name)) ?? UNKNOWN)] as const;
    const expansions = Object.entries(RESOURCES[kind].expansions).filter(([, span]) => inVersion(span, ex.newest));
    return [
      ...expansions.map(([expand]) => askFor(operation, ex.newest, [], { query: pairs({ limit: 100, expand }) })),
      ...Object.entries(filters)
        .filter(([name]) => list.filters.has(name))
        .flatMap(([name, span]) => [
          ...with100(span, any(name)),
          ...rarestAndMostFrequent(name).map((value) => page(ex.newest, 1, [name, value])),
          ...ex.versions.flatMap((version) =>
            (span.values?.(version) ?? [])
              .filter((value) => inVersion(span, version) && values(name).includes(value))
              .map((value) => page(version, 100, [name, value])),
          ),
        ]),
      page(ex.newest, 100, ...ex.draw.some([...list.filters.keys()], 2).map(any)),
      ...(list.orders && 'status' in orders ? [page(ex.newest, 100, ['order_by', 'status:asc,id:desc'])] : []),
      ...Object.entries(list.orders ? { id: {}, created_at: {}, ...orders } : {}).flatMap(([name, span]) => [
        ...['asc', 'desc'].flatMap((direction) => with100(span, ['order_by', `${name}:${direction}`])),
        ...with100(span, ['order_by', `${name}:asc`], ['offset', middle]),
      ]),
    ];
  });
}

export function walks(ex: Explorer): Ask[] {
  const totalOf = ({ kind }: Operation): number => (kind && ex.model.list(kind).reference?.total) ?? 0;
  const served = servedLists(ex);
  const page = (operation: Operation, limit: number, offset: number, version: string = ex.newest): Ask =>
    askFor(operation, version, [], { query: pairs({ limit, offset }) });
  const walk = (operation: Operation, limit: number, version?: string): Ask[] =>
    Array.from({ length: Math.min(12, Math.ceil(totalOf(operation) / limit)) }, (_, at) =>
      page(operation, limit, at * limit, version),
    );
  const [largest] = served.toSorted((one, other) => totalOf(other) - totalOf(one));
  const swept = largest === undefined ? 0 : Math.max(0, Math.min(totalOf(largest) - 1, 100));
  return [
    ...Array.from({ length: swept }, (_, place) => page(largest as Operation, place + 1, place + 1)),
    ...ex.versions
      .slice(1)
      .flatMap((version) => served.filter((each) => ex.has(version, each)).flatMap((each) => walk(each, 100, version))),
    ...served.flatMap((each) => [...walk(each, 3), ...walk(each, 10)]),
  ];
}

const TEXTS = [
  ...['abc', '1e2', '0x10', '+5', ' 5', '5 ', '5.5', '', '-', '007', '1_000', '٣', 'null', '5,6', '\u0000', 'NaN', '∞'],
];
const NONSENSE: readonly string[] = ['limit', 'offset'].flatMap((name) => [
  ...TEXTS.map((text) => `${name}=${encodeURIComponent(text)}`),
  ...[`${name}=5&${name}=7`, `${name}[]=5`, `${name}=%zz`, `${name}=%ff`],
]);
