/** HTTP to the target, over a unix socket or TCP. Every exchange is recorded. */

import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import type { Agent, Dispatcher } from 'undici';
import { defined } from '../common/defined.ts';
import { excerpt } from '../common/excerpt.ts';
import { type OutOfPatience, Patience } from '../common/waiting.ts';
import { BodyReader, parseJson } from './body.ts';
import { agentFor, type Connecting, type Endpoint, noteConnection, openSocket } from './connection.ts';
import type { Form } from './equivalent-forms.ts';
import { classify, errorOf, NoAnswer, NoAnswerInTime, Unfinished, Unreachable, wasClosed } from './errors.ts';
import { type Recorded, Recorder } from './recorder.ts';
import { bodyOf, curlLine, flatten, mergeHeaders, type Query, queryText } from './request-forms.ts';

// A request that waits for its answer, and for how long it does.

/** Characters of an address in an error: a finding must have room for what went wrong. */
const LONGEST_SHOWN_URL = 300;
/** A whole answer may take that many times as long as its head. */
export const LONGEST_ANSWER = 6;

/** A request on its way. */
export interface Pending {
  request: Pick<Dispatcher.RequestOptions, 'method' | 'path' | 'headers' | 'body'>;
  timeoutMs: number;
  recorded: Recorded;
  /** Milliseconds of `performance.now()`. */
  started: number;
  patience: Patience;
  /** Aborts when the time is up, with the bound that has passed. */
  over: AbortController;
  /** What was last waited for. */
  stage: 'connecting' | 'head' | 'body';
  /** Ends the watch over the time. */
  stop(): void;
}

/**
 * Why a request was given up: before it had a connection the target has done nothing wrong, and slow is not wrong
 * either.
 */
export function timedOut(what: string, stage: Pending['stage'], why: OutOfPatience, timeoutMs: number): Error {
  if (stage === 'connecting') return new Unreachable(`${what}: no connection within ${timeoutMs} ms`);
  if (stage === 'head') return new NoAnswerInTime(`${what}: no answer within ${timeoutMs} ms`);
  if (why === 'silent')
    return new NoAnswerInTime(`${what}: the answer stopped: nothing more of it for ${timeoutMs} ms`);
  return new Unfinished(`${what}: the answer still came after ${(LONGEST_ANSWER * timeoutMs) / 1000} s`);
}

/**
 * The same promise, but rejected at once when the signal aborts: undici waits for the connection before it looks at the
 * signal.
 */
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

export type { Endpoint } from './connection.ts';

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
  /** Sends the body in two pieces, cut within its first character of several bytes, or in its middle. */
  isCut?: boolean | undefined;
  /**
   * Milliseconds until the head of the answer has come, and then for each pause in its body. All of it may take six
   * times that.
   */
  timeoutMs?: number;
}

/** A whole answer. */
export interface HttpResponse {
  status: number;
  /** Names in lower case, repeated ones joined with `, `. */
  headers: Record<string, string>;
  /** The body without its content codings. */
  bytes: Buffer;
  readonly text: string;
  /**
   * The body as JSON; `undefined` when it is not JSON, or is far more than an answer can hold (500 levels, 250,000
   * values).
   */
  readonly json: unknown;
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
  /** Sends nothing but GET and HEAD: any other request throws before anything is sent. */
  readOnly?: boolean;
  /**
   * Sends further requests on a connection that is open, whoever asked on it before. A GET whose connection is closed
   * at that moment is sent once more.
   */
  keepsAlive?: boolean;
  /** Form of its requests. Default: that of the recorder. */
  form?: Form | undefined;
}

/** What the clients of one target share. */
interface Shared {
  agent: Agent;
  /** Its connections stay open. */
  kept: Agent;
  bodies: BodyReader;
}

/**
 * HTTP client of the checks. It follows no redirects, and sends nothing twice but a GET whose kept connection was
 * closed: a check must see what the target does. It connects again where the listener is full.
 */
export class HttpClient {
  readonly endpoint: Endpoint;
  readonly basePath: string;
  readonly headers: Record<string, string>;
  readonly recorder: Recorder;
  /** Ends every request and connection of this client. */
  readonly signal: AbortSignal | undefined;
  readonly #timeoutMs: number;
  readonly #options: HttpClientOptions;
  readonly #shared: Shared;

  constructor(options: HttpClientOptions, shared?: Shared) {
    const { endpoint, basePath = '', headers = {}, recorder = new Recorder(), timeoutMs = 10_000, signal } = options;
    this.endpoint = endpoint;
    this.basePath = basePath;
    this.headers = headers;
    this.recorder = recorder;
    this.signal = signal;
    this.#timeoutMs = timeoutMs;
    this.#options = { ...options, recorder };
    this.#shared = shared ?? {
      ...{ agent: agentFor(endpoint), kept: agentFor(endpoint, { keepsAlive: true }) },
      bodies: new BodyReader(),
    };
  }

  /**
   * The same target and connections, with some options replaced: another recorder, no credentials, another base path.
   */
  with(change: Partial<Omit<HttpClientOptions, 'endpoint'>>): HttpClient {
    return new HttpClient({ ...this.#options, ...change }, this.#shared);
  }

  /** Form of its requests; undefined for the usual one. */
  get form(): Form | undefined {
    return this.#options.form ?? this.recorder.form;
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
    return this.request({ ...options, path, method: 'POST', ...defined({ body }) });
  }

  /**
   * Sends a request and reads the whole answer, up to 16 MiB. Throws Unreachable, NoAnswer, or Unfinished when bytes
   * still come after six times `timeoutMs`.
   */
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
      // undici gives a connection back one turn after the end of its answer.
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
   * Resolves when the head of the answer is there. `timeoutMs` bounds that alone: the body may never end. Throws
   * likewise.
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
   * A bare connection to the target, for bytes that no HTTP client would send. It ends with the client's signal. Throws
   * Unreachable or NoAnswer.
   */
  connect(options: Partial<Connecting> = {}): Promise<Socket> {
    return openSocket(this.endpoint, this.describe(), { timeoutMs: this.#timeoutMs, signal: this.signal, ...options });
  }

  /** The address of the target in words. */
  describe(): string {
    return this.endpoint.socketPath === undefined
      ? this.endpoint.origin + this.basePath
      : `unix:${this.endpoint.socketPath}`;
  }

  /** Ends all connections, also those of clients made by `with`. */
  async close(): Promise<void> {
    await Promise.all([this.#shared.agent.destroy(), this.#shared.kept.destroy()]);
  }

  /** Records a request, and starts the time for its answer. */
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
    const headers = form.headers?.(merged) ?? merged;
    const url = this.endpoint.origin + path;
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
        method: method as Dispatcher.HttpMethod,
        path,
        headers: isCut && !isChunked ? { ...headers, 'content-length': String(bytes.length) } : headers,
        // A stream without a length is sent in chunks.
        body: isCut || isChunked ? Readable.from(isCut ? piecesOf(bytes) : [bytes]) : (body ?? null),
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

  /** Sends the request. Resolves when the head of its answer is there. */
  async #head(exchange: Pending): Promise<OpenResponse> {
    const { request, over, recorded } = exchange;
    const ended = new AbortController();
    const connected = noteConnection(() => {
      exchange.stage = 'head';
    });
    const signal = AbortSignal.any([
      ...[over.signal, ended.signal],
      ...(this.signal === undefined ? [] : [this.signal]),
    ]);
    const { agent, kept } = this.#shared;
    const options = { origin: this.endpoint.origin, ...request, signal, headersTimeout: 0, bodyTimeout: 0 };
    const ask = (through: Agent) => unlessAborted(through.compose(connected).request(options), signal);
    const answer = await (this.#options.keepsAlive === true
      ? ask(kept).catch((error: unknown) => {
          // A server may close an idle connection just as a request goes out: every client asks once more.
          if (signal.aborted || request.method !== 'GET' || !wasClosed(error)) throw error;
          return ask(kept);
        })
      : ask(agent));
    exchange.stage = 'body';
    exchange.patience.renew();
    const received = flatten(answer.headers);
    recorded.status = answer.statusCode;
    recorded.response_headers = this.recorder.headers(received);
    recorded.duration_ms = performance.now() - exchange.started;
    // A reader of the body sees its errors; without a reader, an abort must not end the process.
    answer.body.on('error', () => {});
    return { status: answer.statusCode, headers: received, body: answer.body, recorded, abort: () => ended.abort() };
  }

  #failed({ recorded, started, over, stage, timeoutMs }: Pending, error: unknown): Error {
    recorded.duration_ms = performance.now() - started;
    const what = `${recorded.method} ${excerpt(recorded.url, LONGEST_SHOWN_URL)}`;
    if (this.signal?.aborted === true) return errorOf(error);
    const failure = over.signal.aborted
      ? timedOut(what, stage, over.signal.reason as OutOfPatience, timeoutMs)
      : error instanceof NoAnswer
        ? new NoAnswer(`${what}: ${error.message}`, { cause: error })
        : classify(error, what);
    this.recorder.failed(recorded, failure.message);
    return failure;
  }
}

/** Milliseconds between two pieces: without a pause the system may send them as one. */
const PIECES_MS = 5;

async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer, void> {
  const first = bytes.findIndex((byte) => byte > 0x7f);
  const place = first < 0 ? Math.floor(bytes.length / 2) : first + 1;
  yield bytes.subarray(0, place);
  await setTimeout(PIECES_MS);
  yield bytes.subarray(place);
}

/** The query of a request. One that is text stays as it is, as does one that is in the path already. */
function written({ path, query }: HttpRequest, form: Partial<Form>): string {
  const text = queryText(query);
  if (form.query === undefined || typeof query === 'string' || path.includes('?')) return text;
  return queryText(form.query(text.slice(1)));
}

/** Text and JSON are made when they are first read: many answers are only counted. */
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
