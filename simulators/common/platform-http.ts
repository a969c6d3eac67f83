/** HTTP client for one platform; all simulated robots share its pool of connections. */

import { createRequire } from 'node:module';
import { jsonOf } from '../../harness/common/lenient.ts';
import { retryAfterMs } from '../../harness/common/units.ts';
import { isPassing } from '../../harness/common/waiting.ts';
import type { Shape } from '../../harness/contract/shape.ts';

export interface SenderRequest {
  method: ApiRequest['method'];
  path: string;
  /** Headers that callers must not change, because the sender may cache the encoded headers. */
  headers: Readonly<Record<string, string>>;
  body: string | null;
}

interface Abortable {
  abort(reason: Error): void;
}

/** Handles one response; undici defines the method names. */
export interface AnswerHandler {
  onRequestStart(request: Abortable): void;
  /** Also called for an interim response (1xx). */
  onResponseStart(request: Abortable, status: number, headers: Answer['headers']): void;
  onResponseData(request: Abortable, piece: Buffer): void;
  onResponseEnd(): void;
  onResponseError(request: Abortable | undefined, error: Error): void;
}

export interface Sender {
  /** A `patient` request may wait behind other requests, so that a burst opens few connections. */
  send(request: SenderRequest, handler: AnswerHandler, patient?: boolean): void;
  destroy(): Promise<void>;
}

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  bytes: Uint8Array;
}

export interface ExchangeOptions extends SenderRequest {
  signal?: AbortSignal | undefined;
  /** Called when the request is sent, after any wait for a connection. */
  onSent?: (() => void) | undefined;
  patient?: boolean | undefined;
}

/** Rejects with `sender`'s error, or the reason of the signal. */
export function exchange(sender: Sender, options: ExchangeOptions): Promise<Answer> {
  const { signal, onSent, patient, ...request } = options;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    let answer = { status: 0, headers: {} as Answer['headers'] };
    let underWay: Abortable | undefined;
    const abort = (): void => {
      underWay?.abort(signal?.reason as Error);
      settle(() => reject(signal?.reason));
    };
    const settle = (end: () => void): void => {
      signal?.removeEventListener('abort', abort);
      end();
    };
    signal?.addEventListener('abort', abort, { once: true });
    sender.send(
      request,
      {
        onRequestStart(started) {
          if (signal?.aborted) return started.abort(signal.reason as Error);
          underWay = started;
          onSent?.();
        },
        onResponseStart(_, status, headers) {
          if (status >= 200) answer = { status, headers };
        },
        onResponseData: (answering, chunk) => {
          chunks.push(chunk);
          length += chunk.length;
          if (length > 2 ** 26) answering.abort(new Error('an answer above 64 MiB'));
        },
        onResponseEnd: () => {
          const [first] = chunks;
          const bytes = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks);
          settle(() => resolve({ ...answer, bytes }));
        },
        onResponseError: (_, error) => settle(() => reject(error)),
      },
      patient,
    );
  });
}

const TIMEOUT_MS = 30_000;

const UNKNOWN = 'unknown';

export class ApiError extends Error {
  override name = 'ApiError';
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  /** Shows `code` in the message alone, because a member `code` marks an error of this machine. */
  constructor(status: number, code: string, message: string, retryAfterMs?: number) {
    super(`HTTP ${status}${code === UNKNOWN ? '' : ` ${code}`}: ${message}`);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
  get unauthorized(): boolean {
    return this.status === 401 || this.status === 403;
  }
  /** True if no retry can succeed, because the platform rejects the request itself. */
  get refused(): boolean {
    return this.status >= 400 && this.status < 500 && !this.unauthorized && !isPassing(this.status);
  }
}

export class NetworkError extends Error {
  override name = 'NetworkError';
}

/** Successful response with an unexpected body. */
export class ProtocolError extends Error {
  override name = 'ProtocolError';
}

export const isTemporary = (error: unknown): boolean =>
  error instanceof NetworkError || (error instanceof ApiError && !error.refused && !error.unauthorized);

export function networkErrorMessage(error: Error): string {
  if (error.message !== '') return error.message;
  const [first]: unknown[] = error instanceof AggregateError ? error.errors : [];
  return first instanceof Error ? first.message : String((error as NodeJS.ErrnoException).code ?? error.name);
}

export type ShapeOf<T> = Pick<Shape, 'name' | 'problems'> & { is(value: unknown): value is T };

export interface ApiRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  /** A function makes headers for each attempt, because some tokens are valid once. */
  headers: Record<string, string> | (() => Promise<Record<string, string>>);
  body?: object;
  signal?: AbortSignal;
  onSent?: (() => void) | undefined;
  patient?: boolean | undefined;
}

export interface PlatformHttpOptions {
  baseUrl: URL;
  /** Certificate authority of the platform, PEM. */
  ca?: string | Buffer | undefined;
  /** Maximum number of connections, default 32; further requests wait. */
  connections?: number | undefined;
  onCrowded?: (() => void) | undefined;
  /** Default: a pool of connections. */
  sender?: Sender;
  /** Receives the complete response and the duration in milliseconds. Must not throw. */
  onAnswer?:
    | ((request: Omit<SenderRequest, 'body'> & { body: string | undefined }, answer: Answer, ms: number) => void)
    | undefined;
  /** Called before each retry after a network error, three at most. Default: no retry. */
  beforeRetry?: (signal: AbortSignal | undefined, error: NetworkError) => Promise<void>;
}

/** All methods may reject with ApiError, NetworkError, ProtocolError, or the reason of an aborted signal. */
export class PlatformHttp {
  readonly #options: PlatformHttpOptions;
  readonly #connections: number;
  readonly #sender: Sender;
  readonly #prefix: string;
  #underWay = 0;

  constructor(options: PlatformHttpOptions) {
    const { baseUrl, ca, connections = 32, sender } = options;
    this.#options = options;
    this.#connections = connections;
    this.#sender = sender ?? pooled(baseUrl.origin, connections, ca);
    this.#prefix = baseUrl.pathname.replace(/\/$/, '');
  }

  async json<T>(request: ApiRequest, shape: ShapeOf<T>): Promise<T> {
    const { buffer, byteOffset, byteLength } = await this.bytes(request);
    const text = Buffer.from(buffer, byteOffset, byteLength).toString();
    const value = jsonOf(text);
    if (value === undefined) throw new ProtocolError(`${named(request)} was not answered with JSON`);
    if (shape.is(value)) return value;
    const [problem] = shape.problems(value);
    const where = problem ? `: ${problem.path || 'the answer'} ${problem.message}` : '';
    throw new ProtocolError(`${named(request)} was not answered with a ${shape.name}${where}`);
  }

  async bytes(request: ApiRequest): Promise<Uint8Array> {
    const { beforeRetry } = this.#options;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#once(request);
      } catch (error) {
        if (!(error instanceof NetworkError) || !beforeRetry || attempt >= 3) throw error;
        await beforeRetry(request.signal, error);
      }
    }
  }

  close(): Promise<void> {
    return this.#sender.destroy();
  }

  async #once({ method, path, headers: given, body: value, signal, onSent, patient }: ApiRequest): Promise<Uint8Array> {
    signal?.throwIfAborted();
    const own = typeof given === 'function' ? await given() : given;
    const headers = value === undefined ? own : { ...own, 'content-type': 'application/json' };
    const body = value === undefined ? undefined : JSON.stringify(value);
    const began = performance.now();
    let answer: Answer;
    if (this.#underWay >= this.#connections) this.#options.onCrowded?.();
    this.#underWay += 1;
    try {
      const sent = { method, path: this.#prefix + path, headers, body: body ?? null };
      answer = await exchange(this.#sender, { ...sent, signal, onSent, patient });
    } catch (error) {
      signal?.throwIfAborted();
      throw new NetworkError(`${named({ method, path })}: ${networkErrorMessage(error as Error)}`, { cause: error });
    } finally {
      this.#underWay -= 1;
    }
    this.#options.onAnswer?.({ method, path, headers, body }, answer, performance.now() - began);
    const { status, bytes } = answer;
    if (status >= 200 && status < 300) return bytes;
    const { 'retry-after': asked, date } = answer.headers;
    const retryAfter = retryAfterMs({ 'retry-after': asked?.toString(), date: date?.toString() });
    throw apiError(named({ method, path }), status, bytes, retryAfter);
  }
}

/** Method and path without the query, so that equal failures of several pages have one message. */
const named = ({ method, path }: Pick<ApiRequest, 'method' | 'path'>): string =>
  `${method} ${path.replace(/\?.*/, '')}`;

/** Loads undici at its first use, because loading takes more processor time than an empty Node program. */
export const undici = (): typeof import('undici') => createRequire(import.meta.url)('undici');

function pooled(origin: string, connections: number, ca: PlatformHttpOptions['ca']): Sender {
  // One request at a time per connection, so that PlatformHttp can count waiting requests.
  const pool = new (undici().Pool)(origin, {
    connections,
    allowH2: false,
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
    ...(ca !== undefined && { connect: { ca } }),
  });
  return { send: (options, handler) => void pool.dispatch(options, handler), destroy: () => pool.destroy() };
}

/** Quotes the body, because the specification defines no format of errors. */
function apiError(request: string, status: number, bytes: Uint8Array, retryAfter: number | undefined): ApiError {
  const text = Buffer.from(bytes).toString();
  const { error } = (jsonOf(text) ?? {}) as { error?: { code?: unknown; message?: unknown } | null };
  const code = typeof error?.code === 'string' ? error.code : UNKNOWN;
  const words = typeof error?.message === 'string' ? error.message : text.trim();
  return new ApiError(status, code, `${words === '' ? 'no body' : words.slice(0, 200)} (${request})`, retryAfter);
}
