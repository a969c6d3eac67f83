import type http from 'node:http';
import { DEVICE_API_PREFIX } from '../../contract/versions.ts';
import { changeMember, type Json, makeStale, valueAt } from './change.ts';
import {
  type Answer,
  Changes,
  type Exchange,
  endToEnd,
  headerOf,
  jsonOf,
  queryOf,
  type Trace,
  type Upstream,
  withHeader,
  withoutParameter,
} from './forward.ts';
import { isWithin, type Perturbation, subjectOf } from './perturbation.ts';

const CURRENT = 'GET /deployments/current';
const LAST = 'last-event-id';

/** Returns the same object if the kind of change does not apply. */
export function changedStreamRequest({ kind, value = '' }: Perturbation, exchange: Exchange): Exchange {
  const { url, headers } = exchange;
  const [query, last] = [queryOf(url), headerOf(headers, LAST)];
  const [after, types] = [query.get('after'), query.get('types')];
  if (kind === 'query-lost') return query.has(value) ? { ...exchange, url: withoutParameter(url, value) } : exchange;
  if (kind === 'header-lost' && last !== undefined)
    return { ...exchange, headers: withHeader(headers, LAST, undefined) };
  if (kind === 'types-cut' && types?.includes(',') === true)
    return { ...exchange, url: url.replace(/([?&]types=[^&]*?)(,|%2C)[^&]*/i, '$1') };
  if (kind !== 'cursor-inclusive' || !/^[1-9]\d*$/.test(after ?? last ?? '')) return exchange;
  const earlier = String(Number(after ?? last) - 1);
  if (after !== null) return { ...exchange, url: url.replace(/([?&]after=)\d+/, `$1${earlier}`) };
  return { ...exchange, headers: withHeader(headers, LAST, earlier) };
}

export interface Stream {
  stream: http.IncomingMessage;
  isIn: boolean;
  headers: string[];
}

export class DeviceChanges extends Changes {
  #restarted: boolean;
  /** Current deployment before the last `POST /deployments` to the control API. */
  #before: Json = {};
  #newest = 0;
  #streams = 0;

  constructor(it: Perturbation, upstream: Upstream, trace: Trace, restarted: boolean) {
    super(it, upstream, trace);
    this.#restarted = restarted;
  }

  async answer(exchange: Exchange, signal: AbortSignal): Promise<Answer | Stream> {
    const { kind, path, cell } = this.it;
    const operation = `${exchange.method} ${exchange.url.split('?')[0]?.replace(DEVICE_API_PREFIX, '')}`;
    const isIn = isWithin(cell, { operation, connection: exchange.connection, restarted: this.#restarted });
    if (operation === 'GET /events') return this.#stream(exchange, isIn, signal);
    const answer = await this.ask(exchange);
    const subject = subjectOf(kind);
    const activity = valueAt(jsonOf(answer), ['activity_status']);
    const isShown = operation === CURRENT && answer.status === 200 && (cell.activity ?? activity) === activity;
    if (!isIn || (subject !== 'json' && !(isShown && (subject === 'member' || subject === 'status')))) return answer;
    this.trace('v');
    return this.changed(answer, (body) => {
      if (path === undefined) makeStale(body, this.#before);
      else changeMember(body, path, kind, kind === 'stale' ? valueAt(this.#before, path) : undefined);
    });
  }

  async #stream(exchange: Exchange, isDue: boolean, signal: AbortSignal): Promise<Answer | Stream> {
    this.#streams += 1;
    const { kind, value, cell } = this.it;
    const [query, last] = [queryOf(exchange.url), headerOf(exchange.headers, LAST)];
    const hasHeader = last !== undefined;
    const cursor = query.has('after') ? (hasHeader ? 'both' : 'query') : hasHeader ? 'header' : 'none';
    const isIn = isDue && isWithin(cell, { cursor, typed: query.has('types'), stream: this.#streams });
    if (isIn && subjectOf(kind) !== 'frame') this.trace('v');
    let made = isIn ? changedStreamRequest(this.it, exchange) : exchange;
    let stream = await this.open(made, this.upstream, signal);
    if (isIn && kind === 'let-through' && stream.statusCode === 410) {
      stream.resume();
      const headers = withHeader(exchange.headers, LAST, undefined);
      made = { ...exchange, url: withoutParameter(exchange.url, 'after'), headers };
      stream = await this.open(made, this.upstream, signal);
    }
    if (stream.statusCode !== 200) return this.whole(stream);
    if (made !== exchange || (isIn && kind === 'media')) this.trace('a');
    // 410 only for cursors of existing events: the specification allows any answer to later cursors.
    if (isIn && kind === 'refused' && (value !== '410' || Number(query.get('after') ?? last) <= this.#newest)) {
      stream.destroy();
      return this.refusal();
    }
    const headers = endToEnd(stream.rawHeaders);
    const isFramed = ['frame', 'stream', 'json', 'member'].includes(subjectOf(kind));
    const media = isIn && kind === 'media' ? withHeader(headers, 'content-type', 'application/json') : headers;
    return { stream, isIn: isIn && isFramed, headers: media };
  }

  noteIds(text: string): void {
    for (const [, id] of text.matchAll(/^id: (\d+)$/gm)) this.#newest = Math.max(this.#newest, Number(id));
  }

  async control(exchange: Exchange, control: Upstream): Promise<Answer> {
    const { method, url } = exchange;
    if (method === 'POST' && url.startsWith('/deployments')) {
      const current = await this.read(CURRENT.replace('GET ', DEVICE_API_PREFIX), ['Host', 'device']);
      if (valueAt(current, ['object']) === 'deployment') this.#before = current as Json;
    }
    if (url === '/stop') this.#restarted = true;
    return this.ask(exchange, control);
  }
}
