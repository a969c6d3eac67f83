import type http from 'node:http';
import { isObject } from '../../common/lenient.ts';
import { EVENT_TYPES } from '../../contract/enums.ts';
import { DEVICE_API_PREFIX } from '../../contract/versions.ts';
import { changeMember, type Json, makeStale, valueAt, writtenAs } from './change.ts';
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
import { groupOf, isWithin, type Perturbation } from './perturbation.ts';

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
  restarted = false;
  /** Current deployment before the last `POST /deployments` to the control API. */
  #before: Json = {};
  #newest = 0;
  #streams = 0;

  async answer(exchange: Exchange, signal: AbortSignal): Promise<Answer | Stream> {
    const { kind, path, cell } = this.it;
    const operation = `${exchange.method} ${exchange.url.split('?')[0]?.replace(DEVICE_API_PREFIX, '')}`;
    const isIn = isWithin(cell, { operation, connection: exchange.connection, restarted: this.restarted });
    if (operation === 'GET /events') return this.#stream(exchange, isIn, signal);
    const answer = await this.ask(exchange);
    const group = groupOf(kind);
    const activity = valueAt(jsonOf(answer), ['activity_status']);
    const isShown = operation === CURRENT && answer.status === 200 && (cell.activity ?? activity) === activity;
    if (!isIn || (group !== 'json' && !(isShown && (group === 'member' || group === 'status')))) return answer;
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
    if (isIn && groupOf(kind) !== 'frame') this.trace('v');
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
    const isFramed = ['frame', 'stream', 'json', 'member'].includes(groupOf(kind));
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
    if (url === '/stop') this.restarted = true;
    return this.ask(exchange, control);
  }
}

interface Frame {
  id: string | undefined;
  event: string | undefined;
  envelope: Json;
}

function frameIn(block: string): Frame | undefined {
  const fields = new Map(
    block
      .split('\n')
      .map((line) => /^(\w+): ?(.*)$/s.exec(line)?.slice(1) as [string, string])
      .filter(Boolean),
  );
  const envelope: unknown = JSON.parse(fields.get('data') ?? 'null');
  return isObject(envelope) ? { id: fields.get('id'), event: fields.get('event'), envelope } : undefined;
}

export const blockOf = ({ id, event, envelope }: Frame): string =>
  [
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(event === undefined ? [] : [`event: ${event}`]),
    `data: ${JSON.stringify(envelope)}`,
  ].join('\n');

function changedFrame({ kind, path = [] }: Perturbation, frame: Frame, before: Json | undefined): Frame {
  if (kind === 'id-altered') return { ...frame, id: String(Number(frame.id) + 1) };
  if (kind === 'id-dropped') return { ...frame, id: undefined };
  if (kind === 'event-altered') return { ...frame, event: EVENT_TYPES.find((type) => type !== frame.event) };
  if (kind === 'event-dropped') return { ...frame, event: undefined };
  const envelope = structuredClone(frame.envelope);
  changeMember(envelope, path, kind, valueAt(before, path));
  return { ...frame, envelope };
}

function writtenBlock({ kind }: Perturbation, block: string): string {
  const lines = block.split('\n');
  if (kind === 'comment-added') return `: note\n${block}`;
  if (kind === 'field-added') return `${block}\nnote: 1`;
  if (kind === 'unspaced') return lines.map((line) => line.replace(/^(\w+): /, '$1:')).join('\n');
  if (kind === 'line-ends') return `${block}\n\n`.replaceAll('\n', '\r\n');
  if (kind === 'fields-reversed') return lines.reverse().join('\n');
  const frame = frameIn(block);
  // Line feeds in JSON would end the field of a stream.
  if (frame === undefined || kind === 'whitespace') return block;
  const text = kind === 'data-split' ? JSON.stringify(frame.envelope, undefined, 1) : writtenAs(kind, frame.envelope);
  const data = text?.split('\n').map((line) => `data: ${line}`);
  return lines.flatMap((line) => (line.startsWith('data: ') ? (data ?? line) : line)).join('\n');
}

export class Frames {
  readonly #it: Perturbation;
  readonly #opened = Date.now();
  readonly #send: (block: string) => void;
  readonly #trace: Trace;
  readonly #counts = { replay: 0, live: 0 };
  #text = '';
  #heartbeats = 0;
  #before: Json | undefined;
  #kept: string[] = [];
  #candidate: { block: string; frame: Frame; timer: NodeJS.Timeout } | undefined;

  constructor(it: Perturbation, send: (text: string) => void, trace: Trace) {
    this.#it = it;
    this.#send = (block) => send(`${block}\n\n`);
    this.#trace = trace;
  }

  take(piece: string): void {
    const blocks = (this.#text + piece).split('\n\n');
    this.#text = blocks.pop() ?? '';
    for (const block of blocks) this.#block(block);
  }

  end(): void {
    this.#settle(true);
  }

  #block(block: string): void {
    const { kind } = this.#it;
    if (['stream', 'json'].includes(groupOf(kind))) {
      const made = writtenBlock(this.#it, block);
      this.#trace(made === block ? 'v' : 'a');
      this.#send(made);
    } else if (block.startsWith(':')) {
      this.#heartbeats += 1;
      if (kind !== 'heartbeat-lost' || this.#heartbeats === 1) this.#send(block);
      else this.#trace('a');
    } else this.#event(block, frameIn(block));
  }

  #event(block: string, frame: Frame | undefined): void {
    if (frame === undefined) {
      this.#send(block);
      return;
    }
    const phase = Date.parse(String(frame.envelope['occurred_at'])) < this.#opened ? 'replay' : 'live';
    this.#counts[phase] += 1;
    const { place } = this.#it.cell;
    const isDue = isWithin(this.#it.cell, { phase, type: frame.event });
    this.#settle(phase === 'live');
    if (isDue && place === 'last') {
      // A replay counts as over after 50 ms without an event.
      const timer = setTimeout(() => this.#settle(true), 50);
      this.#candidate = { block, frame, timer };
    } else if (isDue && (place === undefined || place === this.#counts[phase])) this.#change(block, frame);
    else this.#pass(block, frame);
  }

  #settle(isLast = false): void {
    if (this.#candidate === undefined) return;
    const { block, frame, timer } = this.#candidate;
    clearTimeout(timer);
    this.#candidate = undefined;
    if (isLast) this.#change(block, frame);
    else this.#pass(block, frame);
  }

  #pass(block: string, frame: Frame): void {
    const kept = this.#kept.splice(0);
    for (const each of this.#it.kind === 'late' ? [...kept, block] : [block, ...kept]) this.#send(each);
    this.#before = frame.envelope;
  }

  #change(block: string, frame: Frame): void {
    const { kind } = this.#it;
    this.#trace('v');
    if (kind === 'late' || kind === 'reordered') {
      if (this.#kept.length > 0) this.#pass(block, frame);
      else {
        this.#kept.push(block);
        this.#trace('a');
      }
      return;
    }
    const made = blockOf(changedFrame(this.#it, frame, this.#before));
    const all = kind === 'lost' ? [] : kind === 'doubled' ? [block, block] : [made === blockOf(frame) ? block : made];
    if (all.length !== 1 || all[0] !== block) this.#trace('a');
    for (const each of all) this.#send(each);
    this.#before = frame.envelope;
  }
}
