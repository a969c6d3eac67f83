/** Judges one answer to any client: its status, its page and its resources. */
import type { ResourceKind } from '../../../harness/contract/platform/operation.ts';
import type { Page } from '../support/lists.ts';
import { ok } from '../support/requests.ts';
import type { Difference } from './differences.ts';
import type { Exchange } from './exchange.ts';
import { judgePage } from './lists.ts';
import type { Model } from './model.ts';
import { dueRefusal, judgeStatus } from './refusals.ts';
import { askedExpansions, judgeResource, placeOf } from './resources.ts';

export function judge(model: Model, exchange: Exchange): Difference[] {
  const { operation } = exchange;
  const answered = judgeStatus(model, exchange);
  if (!ok(exchange) || operation.kind === undefined || dueRefusal(exchange) !== undefined) return answered;
  return [...answered, ...judgeBody(model, exchange, operation.kind)];
}

export function judgeBody(model: Model, exchange: Exchange, kind: ResourceKind): Difference[] {
  const { operation, json, ids } = exchange;
  const expand = askedExpansions(exchange);
  if (operation.list !== true) {
    const due = operation.path.includes('{') ? ids[0] : undefined;
    return judgeResource(model, exchange, json, { kind, path: '', name: placeOf(exchange), expand, due });
  }
  const found = judgePage(model, exchange);
  const { data } = Object(json) as Partial<Page>;
  if (!Array.isArray(data)) return found;
  const place = { kind, path: '/data/-', name: 'list', expand };
  return [...found, ...data.flatMap((item) => judgeResource(model, exchange, item, place))];
}
