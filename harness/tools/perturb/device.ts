/** The proxy before a Device API: its two routes, and the control API, which it passes on and learns from. */
import type http from 'node:http';
import { DEVICE_API_PREFIX } from '../../contract/versions.ts';
import { at, becomeStale, changeMember, type Json } from './change.ts';
import {
  type Answer,
  ask,
  Changes,
  type Exchange,
  endToEnd,
  headerOf,
  jsonOf,
  queryOf,
  type Trace,
  type Upstream,
  whole,
  withHeader,
  withoutParameter,
} from './forward.ts';
import { streamInCell } from './frames.ts';
import { KINDS, type Perturbation } from './perturbation.ts';

const CURRENT = '/deployments/current';
/** Things whose kinds change frames. */
const FRAMED: readonly string[] = ['frame', 'stream', 'json', 'member'];
const LAST = 'last-event-id';

/** The request for a stream as a kind has it that changes what is asked; the same one where none applies. */
export function changedStreamRequest({ kind, value = '' }: Perturbation, exchange: Exchange): Exchange {
  const { url, headers } = exchange;
  const [after, last] = [queryOf(url).get('after'), headerOf(headers, LAST)];
  const types = queryOf(url).get('types');
  if (kind === 'query-lost')
    return queryOf(url).has(value) ? { ...exchange, url: withoutParameter(url, value) } : exchange;
  if (kind === 'header-lost' && last !== undefined)
    return { ...exchange, headers: withHeader(headers, LAST, undefined) };
  if (kind === 'types-cut' && types?.includes(',') === true)
    return { ...exchange, url: url.replace(/([?&]types=[^&]*?)(,|%2C)[^&]*/i, '$1') };
  if (kind !== 'cursor-inclusive' || !/^[1-9]\d*$/.test(after ?? last ?? '')) return exchange;
  const one = (text: string): string => String(Number(text) - 1);
  if (after !== null)
    return { ...exchange, url: url.replace(/([?&]after=)(\d+)/, (_, name, digits) => `${name}${one(digits)}`) };
  return { ...exchange, headers: withHeader(headers, LAST, one(last ?? '')) };
}

/** The head of a stream, and whether its frames are to be changed. */
export interface Stream {
  stream: http.IncomingMessage;
  isIn: boolean;
  headers: string[];
}

export class DeviceChanges extends Changes {
  restarted: boolean;
  /** The current deployment before the last call of control. */
  #before: Json = {};
  /** The last event that any stream has shown. */
  #newest = 0;
  #streams = 0;

  constructor(it: Perturbation, upstream: Upstream, trace: Trace, restarted: boolean) {
    super(it, upstream, trace);
    this.restarted = restarted;
  }

  async answer(exchange: Exchange, signal: AbortSignal): Promise<Answer | Stream> {
    const { kind, cell } = this.it;
    const [path = ''] = exchange.url.split('?');
    const operation = `${exchange.method} ${path.replace(DEVICE_API_PREFIX, '')}`;
    const isIn =
      (cell.operation ?? operation) === operation &&
      (cell.connection ?? exchange.connection) === exchange.connection &&
      (cell.restarted ?? this.restarted) === this.restarted;
    if (operation === 'GET /events') return this.#stream(exchange, isIn, signal);
    const answer = await whole(await ask(this.upstream, exchange));
    if (isIn && KINDS[kind].of === 'json') return this.rewritten(answer);
    return isIn && operation === `GET ${CURRENT}` && answer.status === 200 ? this.#current(answer) : answer;
  }

  #current(answer: Answer): Answer {
    const { kind, path, cell } = this.it;
    const activity = at(jsonOf(answer), ['activity_status']);
    if (!['member', 'status'].includes(KINDS[kind].of) || (cell.activity ?? activity) !== activity) return answer;
    this.trace('v');
    return this.changed(answer, (body) => {
      if (path === undefined) becomeStale(body, this.#before);
      else changeMember(body, path, kind, kind === 'stale' ? at(this.#before, path) : undefined);
    });
  }

  async #stream(exchange: Exchange, isDue: boolean, signal: AbortSignal): Promise<Answer | Stream> {
    this.#streams += 1;
    const { kind, value, cell } = this.it;
    const [query, last] = [queryOf(exchange.url), headerOf(exchange.headers, LAST)];
    const isIn = isDue && streamInCell(cell, { query, header: last !== undefined, nth: this.#streams });
    if (isIn && KINDS[kind].of !== 'frame') this.trace('v');
    let made = isIn ? changedStreamRequest(this.it, exchange) : exchange;
    let stream = await ask(this.upstream, made, signal);
    if (isIn && kind === 'let-through' && stream.statusCode === 410) {
      stream.resume();
      made = {
        ...exchange,
        url: withoutParameter(exchange.url, 'after'),
        headers: withHeader(exchange.headers, LAST, undefined),
      };
      stream = await ask(this.upstream, made, signal);
    }
    if (stream.statusCode !== 200) return whole(stream);
    if (made !== exchange || (isIn && kind === 'media')) this.trace('a');
    // A cursor that lies before us promises nothing.
    if (isIn && kind === 'refused' && (value !== '410' || Number(query.get('after') ?? last) <= this.#newest)) {
      stream.destroy();
      return this.refusal();
    }
    const headers = endToEnd(stream.rawHeaders);
    const media = isIn && kind === 'media' ? withHeader(headers, 'content-type', 'application/json') : headers;
    return { stream, isIn: isIn && FRAMED.includes(KINDS[kind].of), headers: media };
  }

  /** Looks at what passes on a stream. */
  saw(text: string): void {
    for (const [, id] of text.matchAll(/^id: (\d+)$/gm)) this.#newest = Math.max(this.#newest, Number(id));
  }

  /** Passes on a call of control. */
  async control(exchange: Exchange, control: Upstream): Promise<Answer> {
    const { method, url } = exchange;
    if (method === 'POST' && url.startsWith('/deployments')) {
      const asked = {
        method: 'GET',
        url: `${DEVICE_API_PREFIX}${CURRENT}`,
        headers: ['Host', 'device'],
        body: Buffer.alloc(0),
      };
      const current = jsonOf(await whole(await ask(this.upstream, asked)));
      if (at(current, ['object']) === 'deployment') this.#before = current as Json;
    }
    if (url === '/stop') this.restarted = true;
    return whole(await ask(control, exchange));
  }
}
