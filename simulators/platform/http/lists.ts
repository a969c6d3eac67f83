/** The list envelope and what is in it (specification sections 2.6 and 8). */
import type { ResourceKind } from '../../../harness/contract/platform/operation.ts';
import type { ExpandTree } from '../render.ts';
import type { Filters, Matching } from '../store/page-index.ts';
import type { Answered, Call } from './call.ts';
import { readExpand, readFilters, readOrder, valuesOf } from './query.ts';

const BY_ID = [{ field: 'id', descending: false }] as const;

/** Answers a page of a collection. */
export function list(call: Call, kind: ResourceKind, narrow: Filters = {}): Answered {
  const { core, query, version } = call;
  const collection = core.store.collections[kind];
  const isValue = (field: string, text: string): boolean => collection.query({ [field]: [text] }, BY_ID).count() > 0;
  const filters = { ...readFilters(query, kind, version, isValue), ...narrow };
  const terms = core.behaviour.order(readOrder(query, kind, version));
  return page(call, kind, collection.query(filters, terms));
}

/** Answers a page of what matches. */
export function page(call: Call, kind: ResourceKind, matching: Matching): Answered {
  const { core, renderer, query, version } = call;
  const { behaviour } = core;
  const expand = readExpand(query, kind, version, true);
  let total: number | undefined;
  const window = {
    limit: behaviour.clampLimit(valuesOf(query, 'limit')),
    offset: behaviour.clampOffset(valuesOf(query, 'offset')),
    total: () => (total ??= matching.count()),
  };
  // One row beyond the page shows whether there are more.
  let after: { start: number; count: number; more: boolean } | undefined;
  const rows = behaviour.page(window, (start, count) => {
    const found = matching.slice(start, count + 1);
    after = { start, count, more: found.length > count };
    return found.slice(0, count);
  });
  const beyond =
    after?.start === window.offset && after.count === window.limit
      ? after.more
      : matching.slice(window.offset + window.limit, 1).length > 0;
  const returned = rows.length;
  const hasMore = behaviour.hasMore({ ...window, returned, beyond });
  const plain = Object.keys(expand.tree).length === 0;
  const totalCount = behaviour.totalCount({ ...window, asked: expand.totalCount, expanding: !plain, returned });
  // Appending keeps a rope of strings, which is flattened once, when it is written to the socket.
  let json = `{"object":"list","limit":${window.limit},"offset":${window.offset},"has_more":${hasMore},"data":[`;
  for (let index = 0; index < returned; index++) {
    const seq = rows[index] as number;
    if (index > 0) json += ',';
    json += plain ? renderer.text(kind, seq, version) : expanded(call, kind, seq, expand.tree);
  }
  json += totalCount === undefined ? ']}' : `],"total_count":${totalCount}}`;
  if (behaviour.envelope === undefined) return { json };
  return { json: JSON.stringify(behaviour.envelope(JSON.parse(json))) };
}

function expanded({ core, renderer, version }: Call, kind: ResourceKind, seq: number, tree: ExpandTree): string {
  const row = core.store.collections[kind].bySeq(seq);
  return row === undefined ? 'null' : JSON.stringify(renderer.value(kind, row, version, tree));
}
