/** Job `follow` of the reference client: reads the event stream, and reconnects whenever the stream ends. */
import { readFileSync } from 'node:fs';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { http } from '../../harness/common/node-http.ts';
import { retryAfterMs } from '../../harness/common/units.ts';
import { LONGEST_TIMER_MS } from '../../harness/common/waiting.ts';
import { DEVICE_API_PREFIX } from '../../harness/contract/versions.ts';
import type { Block, ClientBehaviour, Interruption, StreamBehaviour } from './behaviour.ts';

export interface FollowOptions {
  url?: string | undefined;
  socket?: string | undefined;
  discovery?: string | undefined;
  heartbeatSeconds: number;
  types?: string | undefined;
  behaviour: ClientBehaviour;
  signal: AbortSignal;
  print(line: string): void;
}

type Asked = Pick<FollowOptions, 'url' | 'socket' | 'discovery' | 'behaviour'>;

/** Reads the discovery file at each call, because a restart may change the port. */
export function whereIs({ url = '', socket, discovery, behaviour }: Asked) {
  if (discovery === undefined) return { url: new URL(url), socket, token: undefined };
  const found = behaviour.follow.discover(() => readFileSync(discovery, 'utf8'));
  if (found === undefined) return undefined;
  const { port, token } = found;
  return { url: new URL(`http://127.0.0.1:${port}${DEVICE_API_PREFIX}`), socket: undefined, token };
}

export async function followEvents(options: FollowOptions): Promise<void> {
  const { behaviour, signal } = options;
  const follower = new Follower(options);
  let attempt = 0;
  while (!signal.aborted) {
    const before = follower.dispatched;
    const ended = await follower.once();
    if (signal.aborted) return;
    attempt = follower.dispatched > before ? 0 : attempt + 1;
    if (ended.status === 410) follower.expire();
    const waitMs = behaviour.follow.reconnect({ ...ended, attempt });
    if (waitMs === undefined) return options.print(JSON.stringify({ saw: 'end', reason: 'gave up' }));
    await delay(Math.min(waitMs, LONGEST_TIMER_MS), undefined, { signal }).catch(() => {});
  }
}

class Follower {
  readonly #options: FollowOptions;
  readonly #seen = new Set<string>();
  #cursor: string | undefined;
  #lastId = '';
  #retryMs: number | undefined;
  #streams = 0;
  dispatched = 0;

  constructor(options: FollowOptions) {
    this.#options = options;
  }

  async once(): Promise<Omit<Interruption, 'attempt'>> {
    const { heartbeatSeconds, types, behaviour, signal } = this.#options;
    const { follow } = behaviour;
    const unreached = { status: undefined, retryMs: this.#retryMs, retryAfterMs: undefined };
    const place = whereIs(this.#options);
    if (place === undefined) return unreached;
    const { url, socket, token } = place;
    const { path: asked, headers: own } = follow.request(`${url.pathname}/events`, this.#cursor);
    const filter = follow.types(types);
    const path = filter === '' ? asked : `${asked}${asked.includes('?') ? '&' : '?'}${filter}`;
    const headers = { ...own, ...follow.credentials(token) };
    const server = socket === undefined ? { host: url.hostname, port: url.port } : { socketPath: socket };
    const opening = http.request({ ...server, path, headers, signal, agent: false });
    const silenceMs = follow.silenceMs(heartbeatSeconds);
    if (silenceMs !== undefined) opening.setTimeout(silenceMs, () => opening.destroy());
    let response = await answerTo(opening);
    const elsewhere = response?.headers.location;
    const redirected = follow.redirected(headers);
    if (response !== undefined && elsewhere !== undefined && redirected !== undefined) {
      response.destroy();
      response = await answerTo(http.request(elsewhere, { headers: redirected, signal, agent: false }));
    }
    if (response === undefined) return unreached;
    const { statusCode: status = 0 } = response;
    if (status === 200 && follow.reads(response.headers['content-type'] ?? '')) await this.#read(response);
    else response.destroy();
    return { status, retryMs: this.#retryMs, retryAfterMs: retryAfterMs(response.headers) };
  }

  expire(): void {
    const { told, cursor } = this.#options.behaviour.follow.expired(this.#cursor);
    if (told) this.#options.print(JSON.stringify({ saw: 'gap' }));
    this.#cursor = cursor;
    this.#lastId = cursor ?? '';
  }

  async #read(response: IncomingMessage): Promise<void> {
    const { stream, follow: behaviour } = this.#options.behaviour;
    const reader = blockReader(stream(), this.#lastId);
    const before = this.dispatched;
    try {
      for await (const bytes of response) {
        for (const block of reader.add(bytes as Buffer)) this.#take(block);
        if (this.dispatched - before >= behaviour.mostEvents) break;
      }
    } catch (error) {
      const isBroken =
        error instanceof Error && ('code' in error || error.name === 'AbortError' || error.message === 'aborted');
      if (!isBroken) throw error;
    }
    this.#streams += 1;
    for (const block of reader.end()) this.#take(block);
    const { id, retryMs } = reader.state();
    this.#lastId = id;
    this.#retryMs = retryMs ?? this.#retryMs;
    this.#cursor = behaviour.cursor({ id: this.#lastId, event: '', data: '' }, this.#cursor);
  }

  #take(block: Block): void {
    const { follow: behaviour } = this.#options.behaviour;
    this.#cursor = behaviour.cursor(block, this.#cursor);
    const envelope = behaviour.envelope(block);
    const type = envelope === undefined ? undefined : behaviour.typeOf(envelope, block);
    if (envelope === undefined || type === undefined) return;
    const id = behaviour.idOf(envelope, block);
    if (behaviour.deduplicates && this.#seen.has(String(id))) return;
    this.#seen.add(String(id));
    this.dispatched += 1;
    const lines = behaviour.show({ saw: 'event', id, type, data: envelope.data });
    if (behaviour.handsOnAfterMs === 0) this.#print(lines);
    else
      setTimeout((stream) => stream === this.#streams && this.#print(lines), behaviour.handsOnAfterMs, this.#streams);
  }

  #print(lines: readonly string[]): void {
    for (const line of lines) this.#options.print(line);
  }
}

function answerTo(opening: ClientRequest): Promise<IncomingMessage | undefined> {
  return new Promise((resolve) => {
    opening.once('response', resolve);
    opening.on('error', () => resolve(undefined));
    opening.end();
  });
}

/** `id`: last event id of earlier streams. */
function blockReader(behaviour: StreamBehaviour, id: string) {
  let [committed, next, event, retryMs] = [id, id, '', undefined as number | undefined];
  let data: string[] = [];
  const complete = (): Block[] => {
    const block = { id: next, event, data: behaviour.join(data) };
    const wanted = behaviour.isDispatched(block, data);
    committed = next;
    event = '';
    data = [];
    return wanted ? [block] : [];
  };
  const take = (line: string): Block[] => {
    if (line === '') return complete();
    const found = behaviour.field(line);
    if (found === undefined) return [];
    const { name, value } = found;
    if (name === 'data') data.push(value);
    else if (name === 'event') event = value;
    else if (name === 'id') {
      next = behaviour.idOf(value, next);
      if (behaviour.idAtOnce) committed = next;
    } else if (name === 'retry' && /^\d+$/.test(value)) retryMs = Number(value);
    return [];
  };
  return {
    add: (bytes: Buffer): Block[] => behaviour.lines(behaviour.decode(bytes)).flatMap(take),
    end: (): Block[] => (behaviour.atEnd === 'dispatch' ? [...behaviour.lines('\n').flatMap(take), ...complete()] : []),
    state: () => ({ id: committed, retryMs }),
  };
}
