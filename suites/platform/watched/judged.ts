/** Judges single answers of watched traffic by the model of the exploration. */
import { createHash } from 'node:crypto';
import type { AnswerSeen, Happening, RequestSeen } from '../../../harness/client/happening.ts';
import { isObject } from '../../../harness/common/lenient.ts';
import { RESOURCE_KINDS } from '../../../harness/contract/platform/operation.ts';
import { OPERATIONS } from '../../../harness/contract/platform/operations.ts';
import { NAMES_BY_DIALECT, NEWEST_VERSION, SUPPORTED_VERSIONS } from '../../../harness/contract/versions.ts';
import type { Judge, Rule } from '../../../harness/runner/rules.ts';
import { isPing, KEY, listOf, queryOf, VERSION_FORMAT, VERSION_HEADERS } from '../../watched.ts';
import { STATUSES_OF_OTHER_CAUSES } from '../5-keys-and-versions.ts';
import { decide } from '../oracle/decides.ts';
import type { Difference } from '../oracle/differences.ts';
import { askFor, type Exchange } from '../oracle/exchange.ts';
import { getOf } from '../oracle/explorer.ts';
import { Judgement, Model } from '../oracle/model.ts';
import { isBare, judgePing } from '../oracle/refusals.ts';
import { judgeBody } from '../oracle/resources.ts';
import { COLLECTIONS, isCollection } from '../support/lists.ts';
import { refused } from '../support/requests.ts';

interface Answered {
  request: RequestSeen;
  answer: AnswerSeen;
}

/** Answer to a request with an API key; agents and users of a console, who send none, may have other endpoints. */
export function answerIn(seen: Happening): Answered | undefined {
  if (seen.kind !== 'answer' || seen.request?.headers[KEY] === undefined) return undefined;
  return { request: seen.request, answer: seen.answer };
}

const versionHeaders = ({ headers }: RequestSeen): string[] =>
  VERSION_HEADERS.filter((name) => headers[name] !== undefined);

const SPECIFIED = NAMES_BY_DIALECT.spec.versionHeader.toLowerCase();
const WRITTEN = new Map(VERSION_HEADERS.map((name) => [name, new RegExp(`(?<![\\w-])${name}(?![\\w-])`, 'i')]));

function shows({ status, headers, text }: AnswerSeen, name: string): boolean {
  // Requires the form of a version, because a server may send its build number in this header.
  if (VERSION_FORMAT.test(headers[name] ?? '')) return true;
  const refusal = refused({ status }) && !STATUSES_OF_OTHER_CAUSES.has(status) ? text : '';
  return [headers['vary'] ?? '', refusal].some((words) => WRITTEN.get(name)?.test(words));
}

/**
 * Returns a function that reads the version of a request from its only version header. Answers must have shown that the
 * platform knows the header, or it is that of the specification and no other was seen.
 */
export function versions(): (seen: Happening) => string | undefined {
  const shown = new Set<string>();
  const used = new Set<string>();
  return (seen) => {
    if (seen.kind !== 'answer') return undefined;
    for (const each of VERSION_HEADERS) if (!shown.has(each) && shows(seen.answer, each)) shown.add(each);
    const { request } = answerIn(seen) ?? {};
    const names = request === undefined ? [] : versionHeaders(request);
    for (const each of names) used.add(each);
    const [name = ''] = names;
    const isAlone = name === SPECIFIED && new Set([...used, ...shown]).size === 1;
    return names.length === 1 && (isAlone || shown.has(name)) ? request?.headers[name] : undefined;
  };
}

export function answerShown(seen: Happening): Answered | undefined {
  const found = answerIn(seen);
  if (found === undefined) return undefined;
  const { request } = found;
  const isOfList = isCollection(request.path) && ['GET', 'POST'].includes(request.method);
  return isOfList || isPing(request) ? found : undefined;
}

/** Short hash of a list in one version for one client, because rules remember many lists. */
export function listKeyOf(request: RequestSeen): string {
  const text = `${VERSION_HEADERS.map((name) => request.headers[name])} ${listOf(request)}`;
  return createHash('sha256').update(text).digest('base64url');
}

const isSupported = (request: RequestSeen): boolean =>
  versionHeaders(request).every((name) => SUPPORTED_VERSIONS.some((each) => each === request.headers[name]));

/** Excludes unsupported versions, which may have other lists. */
export function listAnswerIn(seen: Happening): (Answered & { query: URLSearchParams }) | undefined {
  const found = answerIn(seen);
  if (found === undefined || found.request.method !== 'GET' || !isCollection(found.request.path)) return undefined;
  const { request } = found;
  return isSupported(request) ? { ...found, query: queryOf(request) } : undefined;
}

/** Finding of each requirement that an answer decides; undefined where the requirement holds. */
type Judged = ReadonlyMap<string, Difference | undefined>;

const JUDGED = new WeakMap<Happening, Map<string, Judged>>();

export function judgeByModel(judge: Judge, seen: Happening, id: string, version: string = NEWEST_VERSION): void {
  if (seen.kind !== 'answer') return;
  const known = JUDGED.get(seen) ?? new Map<string, Judged>();
  JUDGED.set(seen, known);
  const judged = known.get(version) ?? judgedIn(seen, version);
  known.set(version, judged);
  if (!judged.has(id)) return;
  judge.saw(() => seen.answer.text);
  const found = judged.get(id);
  judge.must(found === undefined, {
    expected: found?.expected ?? '',
    actual: found?.actual,
    counterexample: `${seen.asked.method} ${seen.asked.url}`,
  });
}

export const inAnswers = (id: string) => (): Rule => (seen, judge) => judgeByModel(judge, seen, id);

function judgedIn(seen: Answer, version: string): Judged {
  const ids = new Map<string, Difference | undefined>();
  const exchange = exchangeIn(seen, version);
  const { kind } = exchange?.operation ?? {};
  if (exchange === undefined || (kind !== undefined && isBare(exchange))) return ids;
  const model = new Model();
  const judgement = new Judgement(model, exchange);
  if (kind === undefined) judgePing(judgement, exchange);
  const all = kind === undefined ? judgement.found : judgeBody(model, exchange, kind);
  const found = all.filter((each) => decide(each).level === 'MUST');
  for (const [cell, { comparison }] of model.comparisons) {
    const known = IDS.get(cell) ?? decide(comparison).ids;
    if (IDS.size >= MOST_COMPARISONS) IDS.clear();
    IDS.set(cell, known);
    for (const id of known) ids.set(id, undefined);
  }
  for (const each of found.toReversed()) for (const id of decide(each).ids) ids.set(id, each);
  return ids;
}

/** Requirement ids by comparison; bounded, because members may have any name. */
const IDS = new Map<string, readonly string[]>();
const MOST_COMPARISONS = 10_000;

type Answer = Extract<Happening, { kind: 'answer' }>;

function exchangeIn(seen: Answer, version: string): Exchange | undefined {
  if (seen.answer.status >= 300) return undefined;
  if (seen.request !== undefined && !isSupported(seen.request)) return undefined;
  const { asked, answer, path } = seen;
  const { status, headers, json, text } = answer;
  const [address = '', query = ''] = path.split('?', 2);
  const parts = address.split('/');
  const below = `/${parts.slice(parts.findIndex((part) => COLLECTIONS.includes(part))).join('/')}`;
  const isOther = seen.request !== undefined && seen.request.headers[KEY] === undefined;
  const found = isOther
    ? undefined
    : ROUTES.find(({ operation, route }) => operation.method === asked.method && route.test(below));
  // Takes the kind from `object` where no route fits, because routes of agents show resources too.
  const kind = isObject(json) ? RESOURCE_KINDS.find((each) => each === json['object']) : undefined;
  const operation = found?.operation ?? (kind && getOf(kind));
  if (operation === undefined || (operation.list === true && status !== 200)) return undefined;
  const ask = askFor(operation, version, [], { query: [...new URLSearchParams(query)] });
  return { ...ask, status, headers, json, text, asked };
}

const ROUTES = OPERATIONS.filter(
  ({ id, kind, answer }) => id === 'pingDevice' || (kind !== undefined && answer === undefined),
).map((operation) => ({ operation, route: new RegExp(`^${operation.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`) }));
