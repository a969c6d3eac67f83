/** Judges single answers to any client by the model of the exploration. */
import type { Happening } from '../../../harness/client/happening.ts';
import { type Operation, RESOURCE_KINDS } from '../../../harness/contract/platform/operation.ts';
import { OPERATIONS, RESOURCES } from '../../../harness/contract/platform/operations.ts';
import { NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import type { Judge, Rule } from '../../../harness/runner/rules.ts';
import { isObject } from '../../json.ts';
import { decide } from '../oracle/decides.ts';
import type { Comparison, Difference } from '../oracle/differences.ts';
import type { Exchange } from '../oracle/exchange.ts';
import { getOf } from '../oracle/explorer.ts';
import { judgeBody } from '../oracle/judge.ts';
import { Judgement } from '../oracle/judgement.ts';
import { Model } from '../oracle/model.ts';
import { judgePing } from '../oracle/refusals.ts';

interface Judged {
  ids: ReadonlyMap<string, Difference | undefined>;
  text: string;
}

const JUDGED = new WeakMap<Happening, Map<string, Judged | undefined>>();

export function judgeByModel(judge: Judge, seen: Happening, id: string, version: string = NEWEST_VERSION): void {
  const known = JUDGED.get(seen) ?? new Map<string, Judged | undefined>();
  JUDGED.set(seen, known);
  if (!known.has(version)) known.set(version, judgedIn(seen, version));
  const judged = known.get(version);
  if (judged === undefined || !judged.ids.has(id)) return;
  judge.saw(() => judged.text);
  const found = judged.ids.get(id);
  judge.must(found === undefined, {
    expected: found?.expected ?? '',
    actual: found?.actual,
    counterexample: `${seen.asked.method} ${seen.asked.url}`,
  });
}

export const inAnswers =
  (id: string): (() => Rule) =>
  () =>
  (seen, judge) =>
    judgeByModel(judge, seen, id);

function judgedIn(seen: Happening, version: string): Judged | undefined {
  const exchange = exchangeIn(seen, version);
  if (exchange === undefined) return undefined;
  const model = new Model();
  const judgement = new Judgement(model, exchange);
  const { kind } = exchange.operation;
  if (kind === undefined) judgePing(judgement, exchange);
  const all = kind === undefined ? judgement.found : judgeBody(model, exchange, kind);
  const found = all.filter((each) => decide(each).level === 'MUST');
  const ids = new Map<string, Difference | undefined>();
  for (const [cell, { comparison }] of model.comparisons)
    for (const id of idsOf(cell, comparison)) ids.set(id, undefined);
  for (const each of found.toReversed()) for (const id of decide(each).ids) ids.set(id, each);
  return { ids, text: exchange.text };
}

/** Cache of requirement ids by comparison; bounded, because members may have any name. */
const IDS = new Map<string, readonly string[]>();
const MOST_COMPARISONS = 10_000;

function idsOf(cell: string, comparison: Comparison): readonly string[] {
  const ids = IDS.get(cell) ?? decide(comparison).ids;
  if (IDS.size >= MOST_COMPARISONS) IDS.clear();
  IDS.set(cell, ids);
  return ids;
}

function exchangeIn(seen: Happening, version: string): Exchange | undefined {
  if (seen.kind !== 'answer' || seen.answer.status >= 300) return undefined;
  const { asked, answer, path } = seen;
  const [address = '', query = ''] = path.split('?', 2);
  const operation = operationAt(asked.method, address) ?? readOf(answer.json);
  if (operation === undefined || (operation.list === true && answer.status !== 200)) return undefined;
  const { status, headers, json, text } = answer;
  const pairs = [...new URLSearchParams(query)];
  return { operation, version, key: 'full', ids: [], query: pairs, status, headers, json, text, asked };
}

const ROUTES = OPERATIONS.filter(
  ({ id, kind, answer }) => id === 'pingDevice' || (kind !== undefined && answer === undefined),
).map((operation) => ({
  operation,
  route: new RegExp(`^${operation.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}));
const COLLECTIONS = new Set(Object.values(RESOURCES).map(({ collection }) => collection));

function operationAt(method: string, address: string): Operation | undefined {
  const parts = address.split('/');
  const below = `/${parts.slice(parts.findIndex((part) => COLLECTIONS.has(part))).join('/')}`;
  return ROUTES.find(({ operation, route }) => operation.method === method && route.test(below))?.operation;
}

/** Finds the resource type by the member `object`, because routes of agents show resources too. */
function readOf(json: unknown): Operation | undefined {
  const kind = isObject(json) ? RESOURCE_KINDS.find((each) => each === json['object']) : undefined;
  return kind === undefined ? undefined : getOf(kind);
}
