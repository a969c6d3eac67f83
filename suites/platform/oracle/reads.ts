import { inVersion, type Operation, type ResourceKind } from '../../../harness/contract/platform/operation.ts';
import { operationsOf, RESOURCES } from '../../../harness/contract/platform/operations.ts';
import type { SupportedVersion } from '../../../harness/contract/versions.ts';
import type { Cell } from '../../../harness/runner/explore.ts';
import { type Ask, askFor, type Key } from './exchange.ts';
import type { Explorer } from './explorer.ts';
import { UNKNOWN } from './refusals.ts';

type Pair = readonly [string, string];

interface Candidate {
  ask: Ask;
  cell: Cell;
}

export function anyRead(ex: Explorer): Candidate | undefined {
  const [first, ...others] = Array.from({ length: 5 }, () => drawRead(ex)).filter((each) => each !== undefined);
  return first && ex.cells.rarest(ex.draw, [first, ...others], ({ cell }) => cell);
}

function drawRead(ex: Explorer): Candidate | undefined {
  const { draw } = ex;
  const version = draw.one(ex.versions);
  if (version === undefined) return undefined;
  const operations = operationsOf(version).filter(({ method, kind }) => method === 'GET' && kind !== undefined);
  const operation = draw.one(operations);
  if (operation?.kind === undefined) return undefined;
  const ids = idsFor(ex, operation, operation.kind);
  if (ids === undefined) return undefined;
  const key: Key = ex.t.limitedKey !== undefined && draw.chance(0.08) ? 'limited' : 'full';
  const expand = drawExpansions(ex, operation.kind, version);
  const isWholeList = operation.list === true && operation.sub !== true;
  const filter = isWholeList ? drawFilter(ex, operation.kind, version) : NOTHING;
  const order = isWholeList ? drawOrder(ex, operation.kind, version) : NOTHING;
  const page = isWholeList ? drawPage(ex, operation.kind) : NOTHING;
  const parts = { expand, filter, page, order };
  const query = Object.values(parts).flatMap((part) => part.query);
  const names = Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, part.name]));
  const ours = ex.model.known(ids[0], operation.kind)?.isOurs === true ? 'yes' : 'no';
  return {
    ask: askFor(operation, version, ids, { key, query }),
    cell: { operation: operation.id, version, key, ours, ...names },
  };
}

function idsFor({ model, draw }: Explorer, { path }: Operation, kind: ResourceKind): string[] | undefined {
  if (!path.includes('{')) return [];
  const ours = model.of(kind, true);
  const record = draw.one(ours.length > 0 && draw.chance(0.5) ? ours : model.of(kind));
  return record && [record.id];
}

interface Part {
  name: string;
  query: readonly Pair[];
}
const NOTHING: Part = { name: 'none', query: [] };

function drawExpansions({ draw }: Explorer, kind: ResourceKind, version: SupportedVersion): Part {
  const all = expansionsBelow(kind, version, 3);
  if (all.length === 0 || draw.chance(0.3)) return NOTHING;
  const one = draw.one(all) as string;
  const way = draw.one(['alone', 'alone', 'repeated', 'repeated', 'bracketed', 'twice', 'with a comma'] as const);
  const others = draw.some(all, 2);
  switch (way) {
    case 'alone':
      return { name: one, query: [['expand', one]] };
    case 'bracketed':
      return { name: `[]${one.split('.').length}`, query: [['expand[]', one]] };
    case 'with a comma':
      return { name: way, query: [['expand', others.join(',')]] };
    case 'twice':
      return { name: way, query: [one, one].map((each) => ['expand', each] as const) };
    default:
      return { name: others.toSorted().join('+'), query: others.map((each) => ['expand', each] as const) };
  }
}

function expansionsBelow(kind: ResourceKind, version: SupportedVersion, depth: number): string[] {
  return Object.entries(RESOURCES[kind].expansions)
    .filter(([, expansion]) => inVersion(expansion, version))
    .flatMap(([name, { kind: inner }]) =>
      inner === undefined || depth === 1
        ? [name]
        : [name, ...expansionsBelow(inner, version, depth - 1).map((each) => `${name}.${each}`)],
    );
}

function drawFilter({ draw, model }: Explorer, kind: ResourceKind, version: SupportedVersion): Part {
  const list = model.list(kind);
  const items = list.reference?.items ?? [];
  const filters = Object.entries(RESOURCES[kind].filters).filter(
    ([name, filter]) => list.filters.has(name) && inVersion(filter, version),
  );
  const [name, { values } = {}] = draw.one(filters) ?? [];
  if (name === undefined || draw.chance(0.5)) return NOTHING;
  const known = values?.(version) ?? items.map((item) => item[name]).filter((value) => typeof value === 'string');
  const given = known.filter((value) => !String(value).includes('|'));
  const one = draw.one(given);
  if (one === undefined || draw.chance(0.1))
    return values === undefined ? { name: `no ${name}`, query: [[name, UNKNOWN]] } : NOTHING;
  const other = draw.chance(0.3) ? draw.one(given) : undefined;
  const value = other === undefined || other === one ? String(one) : `${one}|${other}`;
  return { name: other === undefined ? name : `${name}|`, query: [[name, value]] };
}

function drawOrder({ draw, model }: Explorer, kind: ResourceKind, version: SupportedVersion): Part {
  if (!model.list(kind).orders || draw.chance(0.75)) return NOTHING;
  const orders = Object.entries(RESOURCES[kind].orders).filter(([, span]) => inVersion(span, version));
  const field = draw.one(['id', 'created_at', ...orders.map(([name]) => name)]);
  const value = `${field}${draw.one([':asc', ':desc', ''])}`;
  return { name: value, query: [['order_by', value]] };
}

const LIMITS = ['1', '2', '3', '7', '10', '50', '99', '100'];
const ODD_LIMITS = ['0', '-1', '-5', '101', '1000', '2147483648', '9007199254740993'];
const FAR_OFFSETS = ['-1', '-7', '10001', '2147483647', '2147483648', '9007199254740992'];

function drawPage({ draw, model }: Explorer, kind: ResourceKind): Part {
  const total = model.list(kind).reference?.total ?? 0;
  const count: Pair[] = draw.chance(0.3) ? [['expand', 'total_count']] : [];
  const limit = draw.one(LIMITS) as string;
  const near = Math.max(0, total - Number(limit));
  const at = (offset: number | string): Pair[] => [['limit', limit], ['offset', String(offset)], ...count];
  const pages: [string, readonly Pair[]][] = [
    ['default', count],
    ['first', [['limit', limit], ...count]],
    ['middle', at(draw.below(Math.max(1, total)))],
    ['exactly last', at(near)],
    ['before last', at(Math.max(0, near - 1))],
    ['after last', at(near + 1)],
    ['end', at(total)],
    ['beyond', at(total + 1 + draw.below(20))],
    ['far', at(draw.one(FAR_OFFSETS) as string)],
    ['odd', [['limit', draw.one(ODD_LIMITS) as string], ...count]],
  ];
  const [name, query] = draw.one(pages) as [string, readonly Pair[]];
  return { name: count.length > 0 ? `${name}, counted` : name, query };
}
