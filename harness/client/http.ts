/** HTTP to the target, over a unix socket or TCP. Every exchange is recorded. */
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { Agent, type Dispatcher } from 'undici';
import { classify, NoAnswer } from './errors.ts';
import { curlLine, type Recorded, Recorder } from './recorder.ts';
import { bodyOf, flatten, mergeHeaders, parse, type Query, queryText } from './request-parts.ts';

/** Where the target is. */
export interface Endpoint {
  /** `http://host:port` or `https://…`; with a socket path the host is only a name. */
  origin: string;
  socketPath?: string;
  /** PEM of certificate authorities to trust besides the system's. */
  ca?: string;
  /** The file that it was read from, for the `curl` lines. */
  caFile?: string | undefined;
}

/** One request. */
export interface HttpRequest {
  method?: string;
  /** Below the client's base path unless `absolute`. Already encoded. */
  path: string;
  /** Leaves the base path out. */
  absolute?: boolean;
  /** Name and value pairs, encoded here; a string is sent as it is. */
  query?: Query;
  /** Added to the client's own; `undefined` removes one of those. */
  headers?: Record<string, string | undefined>;
  /** An object is sent as JSON; text and bytes as they are. */
  body?: unknown;
  /** Milliseconds until the whole answer has come. */
  timeoutMs?: number;
}

/** A whole answer. */
export interface HttpResponse {
  status: number;
  /** Names in lower case, repeated ones joined with `, `. */
  headers: Record<string, string>;
  bytes: Buffer;
  text: string;
  /** The body as JSON; `undefined` when it is not JSON. */
  json: unknown;
  durationMs: number;
  recorded: Recorded;
}

/** An answer whose body is read as it comes. */
export interface OpenResponse {
  status: number;
  headers: Record<string, string>;
  body: Readable;
  recorded: Recorded;
  /** Ends the connection at once. */
  abort(): void;
}

/** How a client reaches its target, and what it sends with every request. */
export interface HttpClientOptions {
  endpoint: Endpoint;
  /** E.g. `/v0.2`. */
  basePath?: string;
  /** Sent with every request: credentials, version. */
  headers?: Record<string, string>;
  recorder?: Recorder;
  /** Default for `HttpRequest.timeoutMs`: 10 seconds. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** Characters of a body in a `curl` line. */
const CURL_BODY = 2000;

/** HTTP client of the checks. It follows no redirects and retries nothing: a check must see what the target does. */
export class HttpClient {
  readonly endpoint: Endpoint;
  readonly basePath: string;
  readonly headers: Record<string, string>;
  readonly recorder: Recorder;
  readonly #timeoutMs: number;
  readonly #signal: AbortSignal | undefined;
  readonly #agent: Agent;

  constructor(options: HttpClientOptions, agent?: Agent) {
    this.endpoint = options.endpoint;
    this.basePath = options.basePath ?? '';
    this.headers = options.headers ?? {};
    this.recorder = options.recorder ?? new Recorder();
    this.#timeoutMs = options.timeoutMs ?? 10_000;
    this.#signal = options.signal;
    this.#agent = agent ?? agentFor(options.endpoint);
  }

  /** The same target and connections, with some options replaced: another recorder, no credentials, another base path. */
  with(change: Partial<Omit<HttpClientOptions, 'endpoint'>>): HttpClient {
    return new HttpClient(
      {
        endpoint: this.endpoint,
        basePath: this.basePath,
        headers: this.headers,
        recorder: this.recorder,
        timeoutMs: this.#timeoutMs,
        ...(this.#signal === undefined ? {} : { signal: this.#signal }),
        ...change,
      },
      this.#agent,
    );
  }

  /** GET; throws as `request` does. */
  get(path: string, options: Omit<HttpRequest, 'path' | 'method'> = {}): Promise<HttpResponse> {
    return this.request({ ...options, path, method: 'GET' });
  }

  /** POST, with a body as JSON unless it is text or bytes; throws as `request` does. */
  post(
    path: string,
    body?: unknown,
    options: Omit<HttpRequest, 'path' | 'method' | 'body'> = {},
  ): Promise<HttpResponse> {
    return this.request({ ...options, path, method: 'POST', ...(body === undefined ? {} : { body }) });
  }

  /** PATCH, likewise. */
  patch(
    path: string,
    body: unknown,
    options: Omit<HttpRequest, 'path' | 'method' | 'body'> = {},
  ): Promise<HttpResponse> {
    return this.request({ ...options, path, method: 'PATCH', body });
  }

  /** Sends a request and reads the whole answer. Throws Unreachable or NoAnswer. */
  async request(request: HttpRequest): Promise<HttpResponse> {
    const started = performance.now();
    const timeoutMs = request.timeoutMs ?? this.#timeoutMs;
    const deadline = AbortSignal.timeout(timeoutMs);
    const open = await this.#dispatch(request, deadline, timeoutMs, started);
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of open.body) chunks.push(chunk as Buffer);
    } catch (error) {
      throw this.#failed(open.recorded, error, deadline, timeoutMs, started);
    }
    const bytes = Buffer.concat(chunks);
    const text = bytes.toString('utf8');
    open.recorded.response_body = this.recorder.body(text);
    open.recorded.duration_ms = performance.now() - started;
    return { ...open, bytes, text, json: parse(text), durationMs: open.recorded.duration_ms };
  }

  /** Resolves when the head of the answer is there. `timeoutMs` bounds that alone: the body may never end. Throws likewise. */
  open(request: HttpRequest): Promise<OpenResponse> {
    const timeoutMs = request.timeoutMs ?? this.#timeoutMs;
    const head = new AbortController();
    const timer = setTimeout(() => head.abort(new DOMException('timed out', 'TimeoutError')), timeoutMs);
    return this.#dispatch(request, head.signal, timeoutMs, performance.now()).finally(() => clearTimeout(timer));
  }

  /** A bare connection to the target, for bytes that no HTTP client would send. Throws Unreachable or NoAnswer. */
  connect(): Promise<Socket> {
    const { origin, socketPath, ca } = this.endpoint;
    const url = new URL(origin);
    const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
    return new Promise((resolve, reject) => {
      const socket =
        socketPath !== undefined
          ? connectTcp({ path: socketPath })
          : url.protocol === 'https:'
            ? connectTls({
                host: url.hostname,
                port,
                // TLS forbids an address as a server name.
                ...(isIP(url.hostname) === 0 ? { servername: url.hostname } : {}),
                ...(ca === undefined ? {} : { ca }),
              })
            : connectTcp({ host: url.hostname, port });
      const ready = url.protocol === 'https:' && socketPath === undefined ? 'secureConnect' : 'connect';
      socket.once(ready, () => {
        socket.off('error', refuse);
        resolve(socket);
      });
      const refuse = (error: Error): void => reject(classify(error, this.describe()));
      socket.once('error', refuse);
    });
  }

  /** The address of the target in words. */
  describe(): string {
    return this.endpoint.socketPath === undefined
      ? this.endpoint.origin + this.basePath
      : `unix:${this.endpoint.socketPath}`;
  }

  /** Ends all connections, also those of clients made by `with`. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #dispatch(
    request: HttpRequest,
    deadline: AbortSignal,
    timeoutMs: number,
    started: number,
  ): Promise<OpenResponse> {
    const method = request.method ?? 'GET';
    const path = (request.absolute === true ? '' : this.basePath) + request.path + queryText(request.query);
    const headers = mergeHeaders(this.headers, request.headers);
    const body = bodyOf(request.body, headers);
    const url = this.endpoint.origin + path;
    const sent = typeof body === 'string' ? body : body?.toString('utf8');
    const recorded = this.recorder.add({
      method,
      url,
      request_headers: headers,
      ...(sent === undefined ? {} : { request_body: sent }),
      duration_ms: 0,
      curl: curlLine({
        method,
        url,
        socketPath: this.endpoint.socketPath,
        caFile: this.endpoint.caFile,
        headers,
        body: sent === undefined ? undefined : this.recorder.redactor.excerpt(sent, CURL_BODY),
        stream: headers['accept'] === 'text/event-stream',
        variable: (secret) => this.recorder.redactor.variable(secret),
      }),
    });
    const ended = new AbortController();
    const signals = [deadline, ended.signal, ...(this.#signal === undefined ? [] : [this.#signal])];
    let answer: Dispatcher.ResponseData;
    try {
      answer = await this.#agent.request({
        origin: this.endpoint.origin,
        path,
        method: method as Dispatcher.HttpMethod,
        headers,
        body: body ?? null,
        signal: AbortSignal.any(signals),
        headersTimeout: 0,
        bodyTimeout: 0,
      });
    } catch (error) {
      throw this.#failed(recorded, error, deadline, timeoutMs, started);
    }
    const received = flatten(answer.headers);
    recorded.status = answer.statusCode;
    recorded.response_headers = this.recorder.redactor.headers(received);
    recorded.duration_ms = performance.now() - started;
    // A reader of the body sees its errors; without a reader, an abort must not end the process.
    answer.body.on('error', () => {});
    return { status: answer.statusCode, headers: received, body: answer.body, recorded, abort: () => ended.abort() };
  }

  #failed(recorded: Recorded, error: unknown, deadline: AbortSignal, timeoutMs: number, started: number): Error {
    recorded.duration_ms = performance.now() - started;
    const what = `${recorded.method} ${recorded.url}`;
    if (this.#signal?.aborted === true) return error instanceof Error ? error : new Error(String(error));
    const failure = deadline.aborted
      ? new NoAnswer(`${what}: no whole answer within ${timeoutMs} ms`, { cause: error })
      : classify(error, what);
    recorded.error = this.recorder.redactor.text(failure.message);
    return failure;
  }
}

function agentFor(endpoint: Endpoint): Agent {
  return new Agent({
    // A kept-alive connection that the server closes just as a request goes out looks like a broken server.
    // Over https, where a handshake costs round trips, a short keep-alive is the better bargain.
    pipelining: endpoint.origin.startsWith('https:') ? 1 : 0,
    keepAliveTimeout: 1000,
    connections: 128,
    maxHeaderSize: 256 * 1024,
    connect: {
      timeout: 10_000,
      ...(endpoint.socketPath === undefined ? {} : { socketPath: endpoint.socketPath }),
      ...(endpoint.ca === undefined ? {} : { ca: endpoint.ca }),
    },
  });
}
