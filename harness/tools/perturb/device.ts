/** The proxy before a Device API: its two routes, and the control API, which it passes on and learns from. */
import type http from 'node:http';
import { DEVICE_API_PREFIX } from '../../contract/versions.ts';
import { at, becomeStale, changeMember, isObject, type Json, writtenAs } from './change.ts';
import {
  type Answer,
  ask,
  type Exchange,
  headerOf,
  jsonOf,
  madeAnswer,
  queryOf,
  type Upstream,
  whole,
  withHeader,
  withoutParameter,
} from './forward.ts';
import { streamInCell } from './frames.ts';
import { KINDS, type Perturbation } from './perturbation.ts';

const CURRENT = `${DEVICE_API_PREFIX}/deployments/current`;
const EVENTS = `${DEVICE_API_PREFIX}/events`;
const LAST = 'last-event-id';

/** The request for a stream as a kind has it that changes what is asked; the same one where there is nothing to change. */
export function changedStreamRequest({ kind, value = '' }: Perturbation, exchange: Exchange): Exchange {
  const { url, headers } = exchange;
  const [after, last] = [queryOf(url).get('after'), headerOf(headers, LAST)];
  const types = queryOf(url).get('types');
  if (kind === 'query-lost')
    return queryOf(url).has(value) ? { ...exchange, url: withoutParameter(url, value) } : exchange;
  if (kind === 'header-lost' && last !== undefined)
    return { ...exchange, headers: withHeader(headers, LAST, undefined) };
  if (kind === 'types-cut' && types?.includes(',') === true)
    return {
      ...exchange,
      url: `${withoutParameter(url, 'types')}${withoutParameter(url, 'types').includes('?') ? '&' : '?'}types=${types.split(',')[0]}`,
    };
  if (kind !== 'cursor-inclusive' || !/^[1-9]\d*$/.test(after ?? last ?? '')) return exchange;
  const one = (text: string): string => String(Number(text) - 1);
  if (after !== null)
    return { ...exchange, url: url.replace(/([?&]after=)(\d+)/, (_, name, digits) => `${name}${one(digits)}`) };
  return { ...exchange, headers: withHeader(headers, LAST, one(last ?? '')) };
}

export class DeviceProxy {
  readonly #it: Perturbation;
  readonly #upstream: Upstream;
  readonly #trace: (letter: 'v' | 'a') => void;
  restarted: boolean;
  /** The current deployment before the last call of control. */
  #before: Json = {};
  #newest = 0;
  #streams = 0;

  constructor(it: Perturbation, upstream: Upstream, restarted: boolean, trace: (letter: 'v' | 'a') => void) {
    this.#it = it;
    this.#upstream = upstream;
    this.restarted = restarted;
    this.#trace = trace;
  }

  /** A whole answer; of a stream, its head, and whether its frames are to be changed. */
  async answer(
    exchange: Exchange,
    signal: AbortSignal,
  ): Promise<Answer | { stream: http.IncomingMessage; isIn: boolean; media?: string }> {
    const { kind } = this.#it;
    const { cell } = this.#it;
    const path = exchange.url.split('?')[0];
    const isDue =
      (cell.operation ?? `GET ${path?.slice(DEVICE_API_PREFIX.length)}`) ===
        `${exchange.method} ${path?.slice(DEVICE_API_PREFIX.length)}` &&
      (cell.connection ?? exchange.connection) === exchange.connection &&
      (cell.restarted ?? this.restarted) === this.restarted;
    if (path === EVENTS && exchange.method === 'GET') return this.#stream(exchange, isDue, signal);
    const answer = await whole(await ask(this.#upstream, exchange));
    if (!isDue || path !== CURRENT) return isDue && KINDS[kind].of === 'json' ? this.#rewritten(answer) : answer;
    return this.#current(answer);
  }

  #rewritten(answer: Answer): Answer {
    const body = jsonOf(answer);
    const text = body === undefined ? undefined : writtenAs(this.#it.kind, body);
    return text === undefined ? answer : this.#apply({ ...answer, body: Buffer.from(text) });
  }

  #current(answer: Answer): Answer {
    const { kind, value, path, cell } = this.#it;
    const body = jsonOf(answer);
    if (KINDS[kind].of === 'json') return this.#rewritten(answer);
    if (
      !['member', 'status'].includes(KINDS[kind].of) ||
      answer.status !== 200 ||
      !isObject(body) ||
      (cell.activity ?? body['activity_status']) !== body['activity_status']
    )
      return answer;
    this.#trace('v');
    if (kind === 'refused') return this.#apply(madeAnswer(Number(value), { error: { message: 'not now' } }));
    if (kind === 'status') return this.#apply({ ...answer, status: Number(value), reason: '' });
    if (kind === 'media')
      return this.#apply({ ...answer, headers: withHeader(answer.headers, 'content-type', 'text/plain') });
    if (path === undefined) becomeStale(body, this.#before);
    else changeMember(body, path, kind, kind === 'stale' ? at(this.#before, path) : undefined);
    const made = JSON.stringify(body);
    return made === JSON.stringify(jsonOf(answer)) ? answer : this.#apply({ ...answer, body: Buffer.from(made) });
  }

  #apply(answer: Answer): Answer {
    this.#trace('a');
    return answer;
  }

  async #stream(exchange: Exchange, isDue: boolean, signal: AbortSignal) {
    this.#streams += 1;
    const { kind, value, cell } = this.#it;
    const [query, last] = [queryOf(exchange.url), headerOf(exchange.headers, LAST)];
    const isIn = isDue && streamInCell(cell, { query, header: last !== undefined, nth: this.#streams });
    const made = isIn ? changedStreamRequest(this.#it, exchange) : exchange;
    const stream = await ask(this.#upstream, made, signal);
    if (isIn && KINDS[kind].of !== 'frame') this.#trace('v');
    if (stream.statusCode !== 200)
      return isIn && kind === 'let-through' && stream.statusCode === 410
        ? this.#letThrough(exchange, stream, signal)
        : whole(stream);
    if (made !== exchange) this.#trace('a');
    const cursor = Number(query.get('after') ?? last ?? Number.NaN);
    // A cursor that lies before us promises nothing.
    if (isIn && kind === 'refused' && (value !== '410' || cursor <= this.#newest)) {
      stream.destroy();
      return this.#apply(madeAnswer(Number(value), { error: { message: 'not now' } }));
    }
    if (isIn && kind === 'media') this.#trace('a');
    return { stream, isIn, ...(isIn && kind === 'media' && { media: 'application/json' }) };
  }

  async #letThrough(exchange: Exchange, refusal: http.IncomingMessage, signal: AbortSignal) {
    refusal.resume();
    const url = withoutParameter(exchange.url, 'after');
    const stream = await ask(
      this.#upstream,
      { ...exchange, url, headers: withHeader(exchange.headers, LAST, undefined) },
      signal,
    );
    this.#trace('a');
    return { stream, isIn: false };
  }

  /** What passes on a stream. */
  saw(text: string): void {
    for (const [, id] of text.matchAll(/^id: (\d+)$/gm)) this.#newest = Math.max(this.#newest, Number(id));
  }

  /** Called before a call of control is passed on. */
  async beforeControl({ method, url }: Exchange): Promise<void> {
    if (method !== 'POST' || !url.includes('/deployments')) return;
    const exchange = { method: 'GET', url: CURRENT, headers: ['Host', 'device'], body: Buffer.alloc(0) };
    const current = jsonOf(await whole(await ask(this.#upstream, exchange)).catch(() => madeAnswer(503, {})));
    if (at(current, ['object']) === 'deployment') this.#before = current as Json;
  }
}
