import { END_OF_LIFE_VERSIONS, SUPPORTED_VERSIONS } from '../../../harness/contract/versions.ts';
import { VERSION_FORMAT } from '../../watched.ts';
import { MILLISECOND_NANOS } from '../support/ping.ts';
import { isJson, NOT_SERVED, ok, refused } from '../support/requests.ts';
import type { Difference } from './differences.ts';
import { type Ask, type Exchange, isExpand, isWrong, type Seen, seenIn, valuesOf } from './exchange.ts';
import { oddParameter } from './lists.ts';
import { isBeyond, Judgement, type Model, UNSURE } from './model.ts';
import { askedExpansions, judgeBody } from './resources.ts';

export function judge(model: Model, exchange: Exchange): Difference[] {
  const { kind } = exchange.operation;
  if (exchange.isExcused === true) return [];
  const answered = judgeStatus(model, exchange);
  if (!ok(exchange) || kind === undefined || isBare(exchange) || dueRefusal(exchange) !== undefined) return answered;
  return [...answered, ...judgeBody(model, exchange, kind)];
}

/** True for a write whose answer shows no resource: without a body, or with status 202 (RFC 9110, section 15.3.3). */
export const isBare = ({ operation, status, text }: Exchange): boolean =>
  operation.method !== 'GET' && (text === '' || status === 202);

function judgeStatus(model: Model, exchange: Exchange): Difference[] {
  const { status, operation } = exchange;
  const judgement = new Judgement(model, exchange);
  const why = dueRefusal(exchange);
  judgement.hold(status !== 0, 'silent', '', 'an answer', exchange.text, UNSURE);
  if (why !== undefined) {
    judgeRefusal(judgement, model, exchange, why);
    return judgement.found;
  }
  // Judges no 5xx of a ping, because the specification shows only its success.
  if (status !== 0 && operation.id !== 'pingDevice') {
    const [name, rule] = oddParameter(exchange);
    const path = operation.list === true && rule !== '' ? `with ${name} that is ${rule}` : '';
    judgement.hold(status < 500 || status === 501, 'error', path, 'no 5xx', exchange.text || status, UNSURE);
  }
  if (judgement.found.length > 0) return judgement.found;
  if (ok(exchange)) judgeSuccess(judgement, exchange);
  if (exchange.key === 'limited') judgeScope(judgement, model, exchange);
  else if (operation.method === 'GET' && operation.sub !== true) judgeServed(judgement, model, exchange);
  return judgement.found;
}

/** True for an operation that the platform may lack, because it has not served it in this version yet. */
const isLacking = (model: Model, { operation, version, status }: Exchange): boolean =>
  NOT_SERVED.includes(status) && !model.served.has(`${operation.id} ${version}`);

/** Expects a refusal without data; its status is only a SHOULD, because no section states one. */
function judgeRefusal(judgement: Judgement, model: Model, exchange: Exchange, why: string): void {
  const { operation, key, status, json } = exchange;
  const { kind, list } = operation;
  const listed = kind !== undefined && list === true ? model.list(kind).reference?.ids : undefined;
  // Looks for members named id, because an id may be a usual word or number.
  const shown = key === 'none' || isWrong(key) ? JSON.stringify(json ?? null) : '';
  const leaked = listed?.find((id) => shown.includes(`"id":${JSON.stringify(id)}`));
  const path = ` ${why}`;
  const isUsualPath = exchange.path === undefined;
  // Only a leaked id counts at an unusual path, because the platform may answer anything.
  const isServed = leaked !== undefined || (isUsualPath && ok(exchange));
  judgement.hold(!isServed, 'served', path, `a refusal that shows nothing: ${why}`, leaked ?? status);
  const isWrite = operation.method !== 'GET' && operation.id !== 'pingDevice';
  if (ok(exchange) || status === 0 || !isUsualPath || isWrite) return;
  // A router may answer 404 before it asks for a key.
  if (key !== 'full' && operation.method === 'GET' && isLacking(model, exchange)) return;
  const usual = key === 'full' ? undefined : key === 'limited' ? [403] : [401, 403];
  const isUsual = usual?.includes(status) ?? refused(exchange);
  judgement.hold(isUsual, 'unrefused', path, `${usual?.join(' or ') ?? 'a 4xx'}: ${why}`, status, UNSURE);
}

/** 200 and JSON: for lists by section 4.2, for others by the published document. */
function judgeSuccess(judgement: Judgement, exchange: Exchange): void {
  const { status, operation, headers } = exchange;
  const type = headers['content-type'] ?? 'none';
  if (operation.method === 'GET') judgement.hold(status === 200, 'status', '', '200', status);
  if (operation.answer !== 'binary' && status !== 204 && !isBare(exchange))
    judgement.hold(isJson({ headers }), 'media', '', 'application/json', type);
  if (operation.id === 'pingDevice') judgePing(judgement, exchange);
}

/** Tolerated ratio between the speeds of the platform's clock and this machine's. */
const CLOCK_DRIFT = 1.05;
const CLOCK_RESOLUTION_MS = 5;

/**
 * Judges the answer to a ping (section 2.5). Recorded traffic may lack the duration of the call; then no round trip is
 * too long.
 */
export function judgePing(judgement: Judgement, { status, json, text, asked }: Exchange): void {
  const { code, round_trip_nanos: trip } = (json ?? {}) as { code?: unknown; round_trip_nanos?: unknown };
  const hold = (isRight: boolean, path: string, expected: string, actual: unknown): void =>
    judgement.hold(isRight, 'shape', path, expected, actual);
  hold(typeof code === 'string' || status !== 200, '/code', 'a code', text);
  const isWhole = typeof trip !== 'number' || Number.isInteger(trip);
  if (code !== 'success')
    return void hold(isWhole, '/round_trip_nanos of another code', 'an integer, where there is one', trip);
  hold(status === 200, '', '200 with code success', status);
  const isTrip = typeof trip === 'number' && Number.isInteger(trip) && trip >= 0;
  hold(isTrip, '/round_trip_nanos', 'an integer of 0 or more', trip);
  if (!isTrip) return;
  const tookMs = asked.duration_ms > 0 ? asked.duration_ms : Number.POSITIVE_INFINITY;
  const most = (tookMs * CLOCK_DRIFT + CLOCK_RESOLUTION_MS) * MILLISECOND_NANOS;
  hold(trip <= most, '/round_trip_nanos', `nanoseconds, no more than the call took: ${Math.round(tookMs)} ms`, trip);
  // Accepts 0 or at least 1000 ns, because no round trip over a network is shorter.
  const isLong = trip === 0 || trip >= 1000;
  hold(isLong, '/round_trip_nanos short', 'nanoseconds: no round trip takes less than a microsecond', trip);
}

function judgeServed(judgement: Judgement, model: Model, exchange: Exchange): void {
  const { status, version, operation, ids } = exchange;
  const { kind, list } = operation;
  const served = `${operation.id} served`;
  const isServed = ok(exchange);
  if (isServed) {
    model.adoptions.take(served, 'yes', seenIn(exchange));
    model.served.add(`${operation.id} ${version}`);
  } else if (isBeyond(model.known(ids[0], kind), version) !== false) return;
  const hold = (isRight: boolean, path: string, expected: string, earlier?: Seen): void =>
    judgement.hold(isRight, 'refused', path, expected, status, { certain: false, earlier });
  const form = formOf(exchange);
  if (form !== 'plain' && form !== 'odd') {
    const asked = `${operation.id} ${form}`;
    const earlier = model.adoptions.take(asked, isServed ? 'served' : 'refused', seenIn(exchange));
    if (earlier !== undefined) model.adoptions.replace(asked, 'served', seenIn(exchange));
    const expected = `the same answer as elsewhere: ${earlier?.answer}`;
    return void hold(earlier === undefined, `?${form}`, expected, earlier?.seen);
  }
  // A list is due if its items are served, and neither key nor version explains the refusal.
  const isDue = list === true && !NOT_THERE.has(status) && model.serves(kind, version);
  // No section demands that a platform serves other requests, or lists the endpoints of each version.
  if ((!model.adoptions.has(served, 'yes') && !isDue) || isLacking(model, exchange)) return;
  if (form === 'plain') {
    const total = kind && model.lists.get(kind)?.reference?.total;
    const isPastEnd = total !== undefined && Number(valuesOf(exchange, 'offset')[0] ?? -1) >= total;
    const path = isPastEnd ? 'with an offset past the end' : '';
    if (isServed || refused(exchange)) hold(isServed, path, 'an answer, as the same is served otherwise');
  } else {
    const [name, rule] = oddParameter(exchange);
    const expected = 'a list: what is out of range is clamped, and no error';
    if (rule !== 'nonsense') hold(isServed, `with ${name} that is ${rule}`, expected);
  }
}

const NOT_THERE: ReadonlySet<number> = new Set([401, 403, ...NOT_SERVED]);

export function dueRefusal({ key, version, ids, operation }: Ask): string | undefined {
  if (key === 'none') return 'there is no key';
  if (isWrong(key)) return 'the key was never issued';
  if (key === 'limited' && operation.id === 'pingDevice') return 'the key lacks devices:read';
  if (END_OF_LIFE_VERSIONS.some((each) => each === version)) return 'the version is at its end of life';
  if (!SUPPORTED_VERSIONS.some((each) => each === version))
    return VERSION_FORMAT.test(version) ? 'the version was never released' : 'the version is malformed';
  return ids.some((id) => id.includes(UNKNOWN)) ? 'nothing has that id' : undefined;
}

/** Part of an id that no platform generates. */
export const UNKNOWN = '0unknown0';

function judgeScope(judgement: Judgement, model: Model, exchange: Exchange): void {
  const { operation, status } = exchange;
  const isServed = ok(exchange);
  if (!isServed && ![401, 403, 404].includes(status)) return;
  // An expansion may need the scope of the expanded resource.
  if (!isServed && askedExpansions(exchange).length > 0) return;
  const answer = isServed ? 'served' : 'refused';
  const earlier = model.adoptions.take(`limited ${operation.id}`, answer, seenIn(exchange));
  const [expected, actual] = [`${earlier?.answer}, as with this key elsewhere`, `${answer} (${status})`];
  judgement.hold(earlier === undefined, answer, '', expected, actual, { earlier: earlier?.seen, ...UNSURE });
}

function formOf(exchange: Exchange): string {
  const { query } = exchange;
  const names = [...new Set(query.map(([name]) => name))];
  const others = names.filter((name) => name !== 'limit' && name !== 'offset');
  if (others.length === 0) return oddParameter(exchange)[1] === '' ? 'plain' : 'odd';
  const expansions = query.filter(isExpand);
  if (others.length === 1 && expansions.length === 1 && expansions[0]?.[1] === 'total_count') return 'plain';
  const values = expansions.map(([, value]) => value).sort();
  // A platform may refuse to filter by a value that no record can have, or to order by several fields.
  const isSeveral = valuesOf(exchange, 'order_by').some((value) => value.includes(','));
  const odd = query.some(([, value]) => value === UNKNOWN) ? ' of nothing' : isSeveral ? ' of several' : '';
  return others.map((name) => (name.startsWith('expand') ? `${name}=${values.join()}` : name)).join('&') + odd;
}
