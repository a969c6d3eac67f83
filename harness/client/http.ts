import type { Agent, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { defined } from '../common/defined.ts';
import { excerpt } from '../common/excerpt.ts';
import { parseJson } from '../common/lenient.ts';
import { http } from '../common/node-http.ts';
import { type OutOfPatience, Patience } from '../common/waiting.ts';
import { BodyReader } from './body.ts';
import { type Connecting, type Endpoint, EndpointAgent, hostOf, openSocket } from './connection.ts';
import type { Form } from './equivalent-forms.ts';
import {
  BodyTooLarge,
  classify,
  errorOf,
  NoAnswer,
  NoAnswerInTime,
  Unfinished,
  Unreachable,
  wasClosed,
} from './errors.ts';
import { arranged, evidentIn } from './known-clients.ts';
import { type Recorded, Recorder } from './recorder.ts';
import { bodyOf, curlLine, flatten, mergeHeaders, type Query, queryText } from './request-forms.ts';

/** Time limit of the whole answer, as a multiple of `timeoutMs`. */
export const LONGEST_ANSWER = 6;

export interface Pending {
  request: { method: string; path: string; lines: [name: string, value: string][]; body: Buffer | Readable };
  timeoutMs: number;
  recorded: Recorded;
  started: number;
  patience: Patience;
  over: AbortController;
  stage: 'connecting' | 'head' | 'body';
  stop(): void;
}

/** Only silence after connecting is the target's fault. */
export function timedOut(what: string, stage: Pending['stage'], why: OutOfPatience, timeoutMs: number): Error {
  if (stage === 'connecting') return new Unreachable(`${what}: no connection within ${timeoutMs} ms`);
  if (stage === 'head') return new NoAnswerInTime(`${what}: no answer within ${timeoutMs} ms`);
  if (why === 'silent')
    return new NoAnswerInTime(`${what}: the answer stopped: nothing more of it for ${timeoutMs} ms`);
  return new Unfinished(`${what}: the answer still came after ${(LONGEST_ANSWER * timeoutMs) / 1000} s`);
}

/** Rejects immediately on an abort, which Node's client reports only once it is connected. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

export interface HttpRequest {
  method?: string;
  /** Encoded path, below the client's base path unless `absolute`. */
  path: string;
  absolute?: boolean;
  /** Pairs are encoded; a string is sent unchanged. */
  query?: Query;
  headers?: Record<string, string | undefined>;
  /** Objects are sent as JSON, text and bytes unchanged. */
  body?: unknown;
  /** Sends the body in two pieces, split within a multi-byte character if possible. */
  isCut?: boolean | undefined;
  /**
   * Milliseconds until the head of the answer and between chunks of its body; six times as long for the whole answer.
   */
  timeoutMs?: number;
}

export interface HttpResponse {
  status: number;
  /** Lower-case names; repeated headers are joined with `, `. */
  headers: Record<string, string>;
  bytes: Buffer;
  readonly text: string;
  /** Undefined for invalid JSON, more than 500 levels or more than 250,000 values. */
  readonly json: unknown;
  durationMs: number;
  recorded: Recorded;
}

export interface OpenResponse {
  status: number;
  headers: Record<string, string>;
  body: Readable;
  recorded: Recorded;
  abort(): void;
}

export interface HttpClientOptions {
  endpoint: Endpoint;
  basePath?: string;
  headers?: Record<string, string>;
  recorder?: Recorder;
  timeoutMs?: number;
  signal?: AbortSignal;
  /** Throws on every request but GET and HEAD. */
  readOnly?: boolean;
  /** Reuses connections; repeats a GET once if the server closes a reused one. */
  keepsAlive?: boolean;
  form?: Form | undefined;
}

const sharedAt = (endpoint: Endpoint) => ({
  agent: new EndpointAgent(endpoint),
  kept: new EndpointAgent(endpoint, { keepsAlive: true }),
  fresh: new EndpointAgent(endpoint, { keepsAlive: false }),
  bodies: new BodyReader(),
});

/** Errors of requests on connections that were used before. */
const STALE = new WeakSet<object>();

/** Follows no redirects, so that a check sees each answer of the target. */
export class HttpClient {
  readonly endpoint: Endpoint;
  readonly basePath: string;
  readonly headers: Record<string, string>;
  readonly recorder: Recorder;
  readonly signal: AbortSignal | undefined;
  readonly #timeoutMs: number;
  readonly #options: HttpClientOptions;
  readonly #shared: ReturnType<typeof sharedAt>;

  constructor(options: HttpClientOptions, shared = sharedAt(options.endpoint)) {
    const { endpoint, basePath = '', headers = {}, recorder = new Recorder(), timeoutMs = 10_000, signal } = options;
    this.endpoint = endpoint;
    this.basePath = basePath;
    this.headers = headers;
    this.recorder = recorder;
    this.signal = signal;
    this.#timeoutMs = timeoutMs;
    this.#options = { ...options, recorder };
    this.#shared = shared;
  }

  with(change: Partial<Omit<HttpClientOptions, 'endpoint'>>): HttpClient {
    return new HttpClient({ ...this.#options, ...change }, this.#shared);
  }

  get form(): Form | undefined {
    return this.#options.form ?? this.recorder.form;
  }

  get(path: string, options: Omit<HttpRequest, 'path' | 'method'> = {}): Promise<HttpResponse> {
    return this.request({ ...options, path, method: 'GET' });
  }

  post(
    path: string,
    body?: unknown,
    options: Omit<HttpRequest, 'path' | 'method' | 'body'> = {},
  ): Promise<HttpResponse> {
    return this.request({ ...options, path, method: 'POST', ...defined({ body }) });
  }

  /** Throws Unreachable, LimitReached, NoAnswer, BodyTooLarge or, after six times `timeoutMs`, Unfinished. */
  async request(request: HttpRequest): Promise<HttpResponse> {
    const exchange = this.#begin(request, LONGEST_ANSWER);
    try {
      const open = await this.#head(exchange);
      const packed = await this.#shared.bodies.read(open.body, exchange.patience);
      const bytes = await this.#shared.bodies.unpacked(packed, open.headers['content-encoding']);
      const { recorded } = exchange;
      this.recorder.received(recorded, bytes);
      recorded.duration_ms = performance.now() - exchange.started;
      this.recorder.ended(recorded);
      // Waits one turn of the event loop, after which the agent can reuse the connection.
      if (this.#options.keepsAlive === true) await new Promise(setImmediate);
      const answer = wholeAnswer(open, bytes);
      this.recorder.happened({ kind: 'answer', asked: recorded, path: exchange.request.path, answer });
      return answer;
    } catch (error) {
      throw this.#failed(exchange, error);
    } finally {
      exchange.stop();
    }
  }

  /**
   * Resolves at the head of the answer; `timeoutMs` does not bound the body. Throws Unreachable, LimitReached or
   * NoAnswer.
   */
  async open(request: HttpRequest): Promise<OpenResponse> {
    const exchange = this.#begin(request, 1);
    try {
      return await this.#head(exchange);
    } catch (error) {
      throw this.#failed(exchange, error);
    } finally {
      exchange.stop();
    }
  }

  /**
   * Opens a socket for bytes that HTTP clients cannot send; the client's signal closes it. Throws Unreachable or
   * LimitReached.
   */
  connect(options: Partial<Connecting> = {}): Promise<Socket> {
    return openSocket(this.endpoint, this.describe(), { timeoutMs: this.#timeoutMs, signal: this.signal, ...options });
  }

  describe(): string {
    return this.endpoint.socketPath === undefined
      ? this.endpoint.origin + this.basePath
      : `unix:${this.endpoint.socketPath}`;
  }

  async close(): Promise<void> {
    for (const each of [this.#shared.agent, this.#shared.kept, this.#shared.fresh]) each.destroy();
  }

  #begin(request: HttpRequest, longest: number): Pending {
    const { method = 'GET', timeoutMs = this.#timeoutMs } = request;
    if (this.#options.readOnly === true && method !== 'GET' && method !== 'HEAD')
      throw new Error(`${method} ${request.path} was not sent: this run only reads`);
    const form: Partial<Form> = this.form ?? {};
    const path = (request.absolute === true ? '' : this.basePath) + request.path + written(request, form);
    const merged = mergeHeaders(this.headers, request.headers);
    const body = bodyOf(request.body, merged);
    const bytes = Buffer.from(body ?? '');
    const [isChunked, isCut] = [form.chunked === true, request.isCut === true].map((is) => is && bytes.length > 1);
    const { origin } = this.endpoint;
    const lines = arranged(form.headers?.(merged) ?? merged, {
      host: hostOf(this.endpoint),
      referer: `${origin}/`,
      ...(isBodiless(method, body) ? {} : { origin }),
      ...(isChunked ? { 'transfer-encoding': 'chunked' } : {}),
      ...(isChunked || isBodiless(method, body) ? {} : { 'content-length': String(bytes.length) }),
    });
    const headers = evidentIn(lines, form.spelled);
    const url = origin + path;
    const sent = body?.toString('utf8');
    const recorded = this.recorder.add({
      method,
      url,
      request_headers: headers,
      ...defined({ request_body: sent }),
      duration_ms: 0,
      curl: curlLine({
        method,
        url,
        headers,
        body: sent,
        timeoutMs,
        socketPath: this.endpoint.socketPath,
        caFile: this.endpoint.caFile,
        stream: merged['accept'] === 'text/event-stream',
        variable: (secret) => this.recorder.redactor.variable(secret),
      }),
    });
    const over = new AbortController();
    const patience = new Patience(timeoutMs, longest * timeoutMs);
    return {
      request: {
        method,
        path,
        lines: lines.map(({ name, spelled, value }) => [form.spelled?.(name) ?? spelled, value]),
        body: isCut || isChunked ? Readable.from(isCut ? piecesOf(bytes) : [bytes]) : bytes,
      },
      timeoutMs,
      recorded,
      over,
      patience,
      started: performance.now(),
      stage: 'connecting',
      stop: patience.watch((why) => over.abort(why)),
    };
  }

  async #head(exchange: Pending): Promise<OpenResponse> {
    const { request, over, recorded } = exchange;
    const ended = new AbortController();
    const signal = AbortSignal.any([
      ...[over.signal, ended.signal],
      ...(this.signal === undefined ? [] : [this.signal]),
    ]);
    const { agent, kept, fresh } = this.#shared;
    const usual = request.method === 'GET' ? agent : fresh;
    let answer: IncomingMessage;
    try {
      answer = await this.#send(exchange, this.#options.keepsAlive === true ? kept : usual, signal);
    } catch (error) {
      // Repeats a GET, because a server may close an idle connection as a request arrives.
      const isStale = STALE.has(Object(error)) && wasClosed(error);
      if (signal.aborted || request.method !== 'GET' || !isStale) throw error;
      answer = await this.#send(exchange, fresh, signal);
    }
    exchange.stage = 'body';
    exchange.patience.renew();
    const received = flatten(answer.rawHeaders);
    const { statusCode: status = 0 } = answer;
    recorded.status = status;
    recorded.response_headers = this.recorder.headers(received);
    recorded.duration_ms = performance.now() - exchange.started;
    // Node ends the process on an 'error' event without a listener.
    answer.on('error', () => {});
    return { status, headers: received, body: answer, recorded, abort: () => ended.abort() };
  }

  #send(exchange: Pending, agent: Agent, signal: AbortSignal): Promise<IncomingMessage> {
    const { method, path, lines, body } = exchange.request;
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const request = http.request({ agent, method, path, signal, setHost: false, maxHeaderSize: 256 * 1024 });
    // Keeps Node from adding these headers by itself.
    for (const name of ['connection', 'content-length', 'transfer-encoding']) request.removeHeader(name);
    for (const [name, value] of lines) request.setHeader(name, value);
    let answer: IncomingMessage | undefined;
    request.once('socket', () => {
      exchange.stage = 'head';
    });
    request.once('response', (response) => {
      answer = response;
      if ((response.statusCode ?? 0) >= 200) return resolve(response);
      response.on('error', () => {});
      request.destroy(new NoAnswer(WRONG_STATUS));
    });
    request.once('upgrade', (_response, socket) => {
      socket.destroy();
      reject(new NoAnswer(WRONG_STATUS));
    });
    request.on('error', (error) => {
      if (request.reusedSocket) STALE.add(error);
      answer?.destroy(error);
      reject(error);
    });
    if (body instanceof Readable) body.pipe(request);
    else request.end(body);
    return unlessAborted(promise, signal);
  }

  #failed({ recorded, started, over, stage, timeoutMs }: Pending, error: unknown): Error {
    recorded.duration_ms = performance.now() - started;
    // Cuts the address to 300 characters, to leave room for the problem.
    const what = `${recorded.method} ${excerpt(recorded.url, 300)}`;
    if (this.signal?.aborted === true) return errorOf(error);
    const failure = over.signal.aborted
      ? timedOut(what, stage, over.signal.reason as OutOfPatience, timeoutMs)
      : error instanceof NoAnswer || error instanceof BodyTooLarge
        ? new (error instanceof NoAnswer ? NoAnswer : BodyTooLarge)(`${what}: ${error.message}`, { cause: error })
        : classify(error, what);
    this.recorder.failed(recorded, failure.message);
    return failure;
  }
}

const WRONG_STATUS = 'the answer has no valid status, or switches protocols without a request for it';

/** True for a request without `content-length`: no body, and a method that usually has none. */
const isBodiless = (method: string, body: unknown): boolean =>
  body === undefined && !['POST', 'PUT', 'PATCH'].includes(method);

async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer, void> {
  const first = bytes.findIndex((byte) => byte > 0x7f);
  const place = first < 0 ? Math.floor(bytes.length / 2) : first + 1;
  yield bytes.subarray(0, place);
  // Milliseconds between the two pieces of a body, which the kernel otherwise joins.
  await setTimeout(5);
  yield bytes.subarray(place);
}

function written({ path, query }: HttpRequest, form: Partial<Form>): string {
  const text = queryText(query);
  if (form.query === undefined || typeof query === 'string' || path.includes('?')) return text;
  return queryText(form.query(text.slice(1)));
}

function wholeAnswer({ status, headers, recorded }: OpenResponse, bytes: Buffer): HttpResponse {
  let text: string | undefined;
  let json: { value: unknown } | undefined;
  return {
    status,
    headers,
    recorded,
    bytes,
    durationMs: recorded.duration_ms,
    get text() {
      text ??= bytes.toString('utf8');
      return text;
    },
    get json() {
      json ??= { value: parseJson(this.text) };
      return json.value;
    },
  };
}
