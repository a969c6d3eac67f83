/** HTTP to one platform, over one pool of connections that all robots of a process share. */
import { Pool } from 'undici';
import type { Shape } from '../../../harness/contract/shape.ts';
import type { Random } from '../../common/random.ts';
import { TRANSIENT_RETRIES, transientDelay } from './backoff.ts';
import { wordsOf } from './error-words.ts';
import { pause, type Time } from './time.ts';

const REQUEST_TIMEOUT_MS = 30_000;

/** The platform answered, with an error. */
export class ApiError extends Error {
  override name = 'ApiError';
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(`HTTP ${status} ${code}: ${message}`);
    this.status = status;
    this.code = code;
  }
  /** The platform does not (or no longer) know who asks, or does not let them. */
  get unauthorized(): boolean {
    return this.status === 401 || this.status === 403;
  }
  /** The request itself is wrong: sending it again will not help. */
  get refused(): boolean {
    return this.status >= 400 && this.status < 500 && !this.unauthorized && ![408, 425, 429].includes(this.status);
  }
}

/** The platform could not be reached, or the connection broke. */
export class NetworkError extends Error {
  override name = 'NetworkError';
}

/** Trying again later may help. */
export const isTemporary = (error: unknown): boolean =>
  error instanceof NetworkError || (error instanceof ApiError && !error.refused && !error.unauthorized);

/** The platform answered with success, but not with what was asked for. */
export class ProtocolError extends Error {
  override name = 'ProtocolError';
}

export interface ApiRequest {
  method: 'GET' | 'POST' | 'PATCH';
  /** Path and query below the base URL. */
  path: string;
  /** A function makes them for each attempt: what may be used once only cannot be sent again. */
  headers: Record<string, string> | (() => Promise<Record<string, string>>);
  body?: object;
  signal: AbortSignal;
}

export interface HttpOptions {
  /** Base URL of the platform; a path in it is kept. */
  baseUrl: URL;
  ca?: string | Buffer | undefined;
  connections?: number | undefined;
  time: Time;
  random: Random;
}

export class PlatformHttp {
  readonly #pool: Pool;
  readonly #prefix: string;
  readonly #time: Time;
  readonly #random: Random;

  constructor({ baseUrl, ca, connections = 32, time, random }: HttpOptions) {
    this.#pool = new Pool(baseUrl.origin, {
      connections,
      headersTimeout: REQUEST_TIMEOUT_MS,
      bodyTimeout: REQUEST_TIMEOUT_MS,
      ...(ca !== undefined && { connect: { ca } }),
    });
    this.#prefix = baseUrl.pathname.replace(/\/$/, '');
    this.#time = time;
    this.#random = random;
  }

  /** The JSON answer, when it has that shape. Rejects with ApiError, NetworkError, ProtocolError, or the signal's reason. */
  async json<T>(
    request: ApiRequest,
    shape: Pick<Shape, 'name' | 'problems'> & { is(value: unknown): value is T },
  ): Promise<T> {
    const text = Buffer.from(await this.bytes(request)).toString();
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw new ProtocolError(`${request.method} ${request.path} was not answered with JSON`);
    }
    if (shape.is(value)) return value;
    const [problem] = shape.problems(value);
    const where = problem ? `: ${problem.path || 'the answer'} ${problem.message}` : '';
    throw new ProtocolError(`${request.method} ${request.path} was not answered with a ${shape.name}${where}`);
  }

  /** The body of a successful answer. Transient network errors are retried three times. */
  async bytes(request: ApiRequest): Promise<Uint8Array> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#once(request);
      } catch (error) {
        if (!(error instanceof NetworkError) || attempt >= TRANSIENT_RETRIES) throw error;
        await pause(this.#time, transientDelay(this.#random), request.signal);
      }
    }
  }

  async #once({ method, path, headers: given, body, signal }: ApiRequest): Promise<Uint8Array> {
    signal.throwIfAborted();
    const headers = typeof given === 'function' ? await given() : given;
    let status: number;
    let bytes: Uint8Array;
    try {
      const response = await this.#pool.request({
        method,
        path: this.#prefix + path,
        headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
        body: body === undefined ? null : JSON.stringify(body),
        signal,
      });
      status = response.statusCode;
      bytes = new Uint8Array(await response.body.arrayBuffer());
    } catch (error) {
      signal.throwIfAborted();
      throw new NetworkError(`${method} ${path}: ${wordsOf(error as Error)}`, { cause: error });
    }
    if (status >= 200 && status < 300) return bytes;
    throw apiError(`${method} ${path.replace(/\?.*/, '')}`, status, bytes);
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }
}

/** `request`: method and path, so that whoever reads it knows what was refused. */
function apiError(request: string, status: number, bytes: Uint8Array): ApiError {
  try {
    const { error } = JSON.parse(Buffer.from(bytes).toString());
    return new ApiError(status, String(error.code), `${error.message} (${request})`);
  } catch {
    return new ApiError(status, 'unknown', `no error body (${request})`);
  }
}
