/** The jobs that end by themselves: `current` of a Device API, and `list`, `ping` and `deploy` of a Platform API. */
import { readFileSync } from 'node:fs';
import type { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { http } from '../../harness/common/node-http.ts';
import { retryAfterMs } from '../../harness/common/retry-after.ts';
import { DEVICE_API_PREFIX } from '../../harness/contract/versions.ts';
import type { Access, ClientBehaviour, Page, PageAsked, Purpose } from './behaviour.ts';
import { type Outgoing, type Received, send } from './http.ts';
import { CallFailed, isObject } from './reference-call.ts';

export interface CallsOptions {
  job: 'current' | 'list' | 'ping' | 'deploy';
  /** Base of the Device API, or of the Platform API. */
  url?: string | undefined;
  /** Path of a unix socket, or of a discovery file, to reach the Device API on. */
  socket?: string | undefined;
  discovery?: string | undefined;
  access: Access;
  /** What the caller asks for. */
  collection: string;
  limit?: number | undefined;
  device: string;
  release: string;
  pingNanos?: number | undefined;
  behaviour: ClientBehaviour;
  signal: AbortSignal;
  print(line: string): void;
  /** Writes to standard error. */
  complain(text: string): void;
}

/** Resolves with the exit code. */
export async function makeCall(options: CallsOptions): Promise<number> {
  const { behaviour, access, complain, print } = options;
  const greeting = behaviour.calls.greeting(access);
  if (greeting !== '') complain(greeting);
  using caller = new Caller(options);
  try {
    await caller[options.job]();
    return 0;
  } catch (error) {
    const { lines, complaint, code } = behaviour.calls.failed(error, access);
    for (const line of lines) print(JSON.stringify(line));
    if (complaint !== '') complain(complaint);
    return code;
  }
}

/** What a request is sent with beside its address. */
interface Contents {
  headers: Readonly<Record<string, string>>;
  body?: Readonly<Record<string, unknown>>;
  /** Nanoseconds that the platform was told to wait. */
  nanos?: number;
}

class Caller implements Disposable {
  readonly #options: CallsOptions;
  readonly #agent: Agent | false;

  constructor(options: CallsOptions) {
    this.#options = options;
    this.#agent = options.behaviour.calls.keepsAlive && new http.Agent({ keepAlive: true });
  }

  [Symbol.dispose](): void {
    if (this.#agent !== false) this.#agent.destroy();
  }

  async current(): Promise<void> {
    const { behaviour, discovery, url = '', socket } = this.#options;
    const place = discovery && behaviour.follow.discover(() => readFileSync(discovery, 'utf8'));
    if (discovery !== undefined && !place) throw new CallFailed('the discovery file says nothing');
    const base = place ? `http://127.0.0.1:${place.port}${DEVICE_API_PREFIX}` : url;
    const headers = behaviour.follow.credentials(place ? place.token : undefined);
    const outgoing: Outgoing = {
      ...{ method: 'GET', headers, body: undefined, socket },
      url: new URL(`${base}/deployments/current`),
    };
    this.#show(await this.#exchange(outgoing, 'current'));
  }

  async list(): Promise<void> {
    const { behaviour, limit, print } = this.#options;
    const seen = new Set<unknown>();
    let due: readonly PageAsked[] = [{ limit: behaviour.calls.limit(limit), offset: 0 }];
    for (;;) {
      const got = await Promise.all(due.map((asked) => this.#page(asked)));
      for (const page of got) {
        for (const item of behaviour.calls.items(page, seen)) {
          print(JSON.stringify({ saw: 'item', item }));
          if (isObject(item)) seen.add(item['id']);
        }
      }
      const [page, asked] = [got.at(-1), due.at(-1)];
      due = page === undefined || asked === undefined ? [] : behaviour.calls.next(page, asked);
      if (due.length === 0) return;
    }
  }

  async #page(asked: PageAsked): Promise<Page> {
    const { behaviour, collection } = this.#options;
    const query = new URLSearchParams(behaviour.calls.query(asked));
    return behaviour.calls.page(await this.#ask('GET', `/${collection}?${query}`, 'page', { headers: {} }));
  }

  async ping(): Promise<void> {
    const { behaviour, device, pingNanos, print } = this.#options;
    const { headers, body } = behaviour.calls.ping(pingNanos);
    const nanos = Number(body['timeout_nanos'] ?? 0) || 0;
    const value = await this.#ask('POST', `/devices/${device}/ping`, 'ping', { headers, body, nanos });
    print(JSON.stringify({ saw: 'pong', ...behaviour.calls.pong(isObject(value) ? value : {}) }));
  }

  async deploy(): Promise<void> {
    const { behaviour, device, release } = this.#options;
    const contents = {
      headers: { 'Content-Type': 'application/json' },
      body: behaviour.calls.deployment(device, release),
    };
    let created: unknown;
    for (let count = 0; count < behaviour.calls.deployments; count += 1)
      created = await this.#ask('POST', '/deployments', 'deploy', contents);
    this.#show(created);
  }

  #show(value: unknown): void {
    const { behaviour, print } = this.#options;
    const deployment = behaviour.calls.shown(isObject(value) ? value : {});
    print(JSON.stringify({ saw: 'deployment', deployment }));
  }

  #ask(method: Outgoing['method'], path: string, purpose: Purpose, contents: Contents): Promise<unknown> {
    const { behaviour, url = '', access } = this.#options;
    const outgoing: Outgoing = {
      ...{ method, socket: undefined },
      url: new URL(`${url}${behaviour.calls.address(path, access, purpose)}`),
      headers: { ...contents.headers, ...behaviour.calls.access(access, purpose) },
      body: contents.body === undefined ? undefined : JSON.stringify(contents.body),
    };
    return this.#exchange(outgoing, purpose, contents.nanos);
  }

  async #exchange(outgoing: Outgoing, purpose: Purpose, nanos?: number): Promise<unknown> {
    const { behaviour, signal } = this.#options;
    for (let attempt = 0; ; attempt += 1) {
      const received = await this.#send(outgoing, nanos);
      signal.throwIfAborted();
      const why = {
        purpose,
        status: received?.status,
        attempt,
        retryAfterMs: received && retryAfterMs(received.headers),
      };
      const waitMs = behaviour.calls.retry(why);
      if (waitMs === undefined) {
        if (received === undefined) throw new CallFailed('no answer came');
        return behaviour.calls.value(received, purpose);
      }
      await delay(waitMs, undefined, { signal });
    }
  }

  async #send(outgoing: Outgoing, nanos: number | undefined): Promise<Received | undefined> {
    const { behaviour, signal } = this.#options;
    const how = { withinMs: behaviour.calls.answerMs(nanos), signal, agent: this.#agent };
    const received = await send(outgoing, how);
    const elsewhere = received?.headers.location;
    const headers = behaviour.calls.redirected(outgoing.headers);
    if (elsewhere === undefined || headers === undefined) return received;
    return send({ ...outgoing, url: new URL(elsewhere, outgoing.url), headers }, how);
  }
}
