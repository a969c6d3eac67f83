/** Which requests are refused, and which must be. */
import { END_OF_LIFE_VERSIONS, SUPPORTED_VERSIONS } from '../../../harness/contract/versions.ts';
import { VERSION_FORMAT } from '../../watched.ts';
import { isJson, ok, refused } from '../support/requests.ts';
import { type Exchange, seenIn, valuesOf } from './exchange.ts';
import type { Found } from './found.ts';
import { ruleOf } from './lists.ts';
import type { Model } from './model.ts';

export function judgeStatus(model: Model, exchange: Exchange): Found[] {
  const { status, operation } = exchange;
  const why = dueRefusal(exchange);
  if (why !== undefined) {
    if (!ok(exchange)) return [];
    const path = ` ${why}`;
    return [{ what: 'served', exchange, path, expected: `a refusal: ${why}`, actual: status, certain: true }];
  }
  if (status === 0)
    return [{ what: 'silent', exchange, path: '', expected: 'an answer', actual: exchange.text, certain: false }];
  // Of a ping, nothing but success is shown.
  if (status >= 500 && status !== 501 && operation.id !== 'pingDevice') {
    const rule = operation.list === true ? ruleOf(exchange, 'limit') || ruleOf(exchange, 'offset') : '';
    const path = rule === 'default' || rule === '' ? '' : `with a value that is ${rule}`;
    return [{ what: 'error', exchange, path, expected: 'no 5xx', actual: exchange.text || status, certain: false }];
  }
  const form = formOf(exchange);
  if (ok(exchange)) return [...judgeSuccess(exchange), ...judgeServed(model, exchange, form)];
  return judgeServed(model, exchange, form);
}

/** Section 4.2: a list is answered with 200 and JSON; so is all else, as published. */
function judgeSuccess(exchange: Exchange): Found[] {
  const { status, operation, headers } = exchange;
  const found: Found[] = [];
  if (operation.method === 'GET' && status !== 200)
    found.push({ what: 'status', exchange, path: '', expected: '200', actual: status, certain: true });
  const type = headers['content-type'] ?? 'none';
  if (operation.answer !== 'binary' && status !== 204 && !isJson({ headers }))
    found.push({ what: 'media', exchange, path: '', expected: 'application/json', actual: type, certain: true });
  return operation.id === 'pingDevice' ? [...found, ...judgePing(exchange)] : found;
}

/** Section 2.5. */
function judgePing(exchange: Exchange): Found[] {
  const { status, json } = exchange;
  const { code, round_trip_nanos: trip } = (json ?? {}) as { code?: unknown; round_trip_nanos?: unknown };
  const tell = (path: string, expected: string, actual: unknown): Found[] => [
    { what: 'shape', exchange, path, expected, actual, certain: true },
  ];
  if (typeof code !== 'string') return status === 200 ? tell('/code', 'a code', exchange.text) : [];
  if (code !== 'success') return [];
  if (status !== 200) return tell('', '200 with code success', status);
  const isTrip = typeof trip === 'number' && Number.isInteger(trip) && trip >= 0;
  return isTrip ? [] : tell('/round_trip_nanos', 'an integer of 0 or more', trip);
}

/** Whether what is served in one version, or to one key, is served elsewhere too. */
function judgeServed(model: Model, exchange: Exchange, form: string): Found[] {
  const { status, key, version, operation } = exchange;
  if (key === 'limited') return judgeScope(model, exchange);
  if (operation.method !== 'GET') return [];
  const served = `${operation.id} served`;
  if (ok(exchange)) {
    model.adoptions.take(served, 'yes', seenIn(exchange));
    model.served.add(`${operation.id} ${version}`);
  }
  const answer = ok(exchange) ? 'served' : 'refused';
  if (form === 'plain') {
    const isServed = model.adoptions.has(served, 'yes');
    if (ok(exchange) || !refused(exchange) || !isServed) return [];
    const expected = 'an answer, as the same is served otherwise';
    const path = isPastEnd(model, exchange) ? 'with an offset past the end' : '';
    return [{ what: 'refused', exchange, path, expected, actual: status, certain: false }];
  }
  if (form === 'odd') {
    if (ok(exchange) || !model.adoptions.has(served, 'yes')) return [];
    const rules = (['limit', 'offset'] as const).map((name) => [name, ruleOf(exchange, name)] as const);
    const [name, rule] = rules.find(([, each]) => each !== '' && each !== 'default') ?? ['limit', 'nonsense'];
    if (rule === 'nonsense') return [];
    const expected = 'a list: what is out of range is clamped, and no error';
    return [
      { what: 'refused', exchange, path: `with a ${name} that is ${rule}`, expected, actual: status, certain: false },
    ];
  }
  const earlier = model.adoptions.take(`${operation.id} ${form}`, answer, seenIn(exchange));
  if (earlier === undefined) return [];
  model.adoptions.replace(`${operation.id} ${form}`, 'served', seenIn(exchange));
  const words = { expected: `the same answer as elsewhere: ${earlier.answer}`, actual: `${answer} (${status})` };
  return [{ what: 'refused', exchange, path: `?${form}`, ...words, earlier: earlier.seen, certain: false }];
}

function isPastEnd(model: Model, exchange: Exchange): boolean {
  const { kind } = exchange.operation;
  const total = kind === undefined ? undefined : model.lists.get(kind)?.reference?.total;
  return total !== undefined && Number(valuesOf(exchange, 'offset')[0] ?? -1) >= total;
}

/** Why a request must be refused; undefined where nothing says so. */
export function dueRefusal({ key, version, ids, operation }: Exchange): string | undefined {
  if (key === 'none' || key === 'wrong') return key === 'none' ? 'there is no key' : 'the key was never issued';
  if (key === 'limited' && operation.id === 'pingDevice') return 'the key lacks devices:read';
  if (END_OF_LIFE_VERSIONS.some((each) => each === version)) return 'the version is at its end of life';
  if (!SUPPORTED_VERSIONS.some((each) => each === version))
    return VERSION_FORMAT.test(version) ? 'the version was never released' : 'the version is malformed';
  return ids.some((id) => id.includes(UNKNOWN)) ? 'nothing has that id' : undefined;
}

/** No platform makes such an id. */
export const UNKNOWN = '0unknown0';

/** Which scopes operations need is not shown but for ping; each version has the same. */
function judgeScope(model: Model, exchange: Exchange): Found[] {
  const { operation, status } = exchange;
  if (!ok(exchange) && ![401, 403, 404].includes(status)) return [];
  const answer = ok(exchange) ? 'served' : 'refused';
  const asked = `limited ${operation.id}`;
  const earlier = model.adoptions.take(asked, answer, seenIn(exchange));
  if (earlier === undefined) return [];
  const words = { expected: `${earlier.answer}, as with this key elsewhere`, actual: `${answer} (${status})` };
  const what = ok(exchange) ? 'served' : 'refused';
  return [{ what, exchange, path: '', ...words, earlier: earlier.seen, certain: false }];
}

/** What beside the plain request may be the reason of a refusal. */
function formOf({ query, rawQuery }: Exchange): string {
  const names = [...new Set(query.map(([name]) => name))];
  const others = names.filter((name) => name !== 'limit' && name !== 'offset');
  if (others.length === 0) {
    const isOdd =
      rawQuery !== undefined || (['limit', 'offset'] as const).some((name) => !USUAL.has(ruleOf({ query }, name)));
    return isOdd ? 'odd' : 'plain';
  }
  const expansions = query.filter(([name]) => name.startsWith('expand'));
  if (others.length === 1 && expansions.length === 1 && expansions[0]?.[1] === 'total_count') return 'plain';
  const values = expansions.map(([, value]) => value).sort();
  return others.map((name) => (name.startsWith('expand') ? `${name}=${values.join()}` : name)).join('&');
}

const USUAL: ReadonlySet<string> = new Set(['', 'default']);
