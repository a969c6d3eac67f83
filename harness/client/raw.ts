/** Sends HTTP/1.1 over a raw socket, for requests that no HTTP client sends; parses answers strictly (RFC 9112). */

import type { Socket } from 'node:net';
import { Bytes } from '../common/bytes.ts';
import { Patience } from '../common/waiting.ts';
import { hostOf, socatAddress } from './connection.ts';
import { describe, Unfinished } from './errors.ts';
import { type HttpClient, LONGEST_ANSWER } from './http.ts';
import type { Recorded } from './recorder.ts';
import { LONGEST_LINE, runnable } from './request-forms.ts';

/** Header names are in lower case, repeated headers joined with `, `. */
export interface RawResponse {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
  /** True if the server closes the connection after the answer (RFC 9112, section 9.3). */
  closes: boolean;
}

type Parsed<T> = T | undefined | 'malformed';

const CRLF = Buffer.from('\r\n');
const HEAD_END = Buffer.from('\r\n\r\n');

export function parseResponse(
  bytes: Buffer,
  method: string,
  closed: boolean,
): Parsed<{ response: RawResponse; length: number }> {
  const head = parseHead(bytes);
  if (head === undefined) return undefined;
  const { length, ...rest } = head;
  const body = bodyOf(rest, bytes.subarray(length), method, closed);
  if (body === undefined || body === 'malformed') return body;
  // Copies the body, because later data overwrites the receive buffer.
  return { response: { ...rest, body: Buffer.from(body.content) }, length: length + body.length };
}

function parseHead(bytes: Buffer): (Omit<RawResponse, 'body'> & { length: number }) | undefined {
  const end = bytes.indexOf(HEAD_END);
  if (end === -1) return undefined;
  const [statusLine = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const [, minor, status] = /^HTTP\/1\.([01]) (\d{3})(?: |$)/.exec(statusLine) ?? [];
  if (status === undefined) return undefined;
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon <= 0) continue;
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  const said = headers['connection'] ?? '';
  const closes = minor === '0' ? !/\bkeep-alive\b/i.test(said) : /\bclose\b/i.test(said);
  return { status: Number(status), headers, closes, length: end + HEAD_END.length };
}

interface Body {
  content: Buffer;
  length: number;
}

function bodyOf(
  { status, headers }: Pick<RawResponse, 'status' | 'headers'>,
  bytes: Buffer,
  method: string,
  closed: boolean,
): Parsed<Body> {
  if (method === 'HEAD' || status < 200 || status === 204 || status === 304)
    return { content: Buffer.alloc(0), length: 0 };
  const written = headers['content-length'];
  const coded = headers['transfer-encoding'];
  if (coded !== undefined) {
    const codings = coded.split(',').map((coding) => coding.trim().toLowerCase());
    const chunked = codings.filter((coding) => coding === 'chunked').length;
    // Refuses framing on which clients disagree, e.g. empty list members (RFC 9110, section 5.6.1.1).
    if (written !== undefined || chunked > 1 || codings.includes('')) return 'malformed';
    if (codings.at(-1) === 'chunked') return dechunk(bytes);
  }
  // A body without a length lasts until the connection closes (RFC 9112, section 6.3).
  if (written === undefined) return closed ? { content: bytes, length: bytes.length } : undefined;
  const length = numberOf(written, { digits: /^\d{1,15}$/, base: 10 });
  if (length === undefined) return 'malformed';
  return bytes.length >= length ? { content: bytes.subarray(0, length), length } : undefined;
}

const numberOf = (text: string, { digits, base }: { digits: RegExp; base: number }): number | undefined =>
  digits.test(text) ? Number.parseInt(text, base) : undefined;

/** Skips trailers (RFC 9112, section 7.1). */
function dechunk(bytes: Buffer): Parsed<Body> {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = bytes.indexOf(CRLF, at);
    // Limits incomplete size lines, too, so that an endless line ends the exchange after 4096 bytes.
    if ((end === -1 ? bytes.length : end) - at > 4096) return 'malformed';
    if (end === -1) return undefined;
    const [written = ''] = bytes.subarray(at, end).toString('latin1').split(';');
    const size = numberOf(written.trim(), { digits: /^[\da-f]{1,12}$/i, base: 16 });
    if (size === undefined) return 'malformed';
    const start = end + CRLF.length;
    if (size === 0) {
      const length = endOfTrailers(bytes, start);
      return length === undefined ? undefined : { content: Buffer.concat(parts), length };
    }
    const next = start + size + CRLF.length;
    if (bytes.length < next) return undefined;
    if (!bytes.subarray(start + size, next).equals(CRLF)) return 'malformed';
    parts.push(bytes.subarray(start, start + size));
    at = next;
  }
}

function endOfTrailers(bytes: Buffer, from: number): number | undefined {
  for (let at = from; ; ) {
    const end = bytes.indexOf(CRLF, at);
    if (end === -1) return undefined;
    if (end === at) return end + CRLF.length;
    at = end + CRLF.length;
  }
}

type RawEnd = 'answered' | 'refused' | 'closed' | 'timeout' | 'malformed';

export interface RawExchange {
  responses: RawResponse[];
  /**
   * `refused`: status not accepted; `closed`: the server closed before all answers came; `timeout`: no bytes for
   * `within` milliseconds; `malformed`: wrong framing, or more than 4 MiB.
   */
  end: RawEnd;
  rest: Buffer;
}

export interface RawOptions {
  /** Milliseconds to connect, and between bytes of the answers. */
  within: number;
  answers?: number;
  /** Methods of the requests, because an answer to HEAD has no body. Default: GET. */
  methods?: readonly string[];
  /** A refused status ends the exchange at the head, because its body may be endless. */
  accepts?(status: number): boolean;
}

const ERRORS: Readonly<Partial<Record<RawEnd, string>>> = {
  closed: 'the connection was closed',
  timeout: 'no answer in time',
  malformed: 'the framing of the answer is wrong, or it is larger than 4 MiB',
};

/**
 * Sends the parts one by one, and reads the answers. Throws Unreachable, LimitReached, Unfinished after six times
 * `within`, or the reason of an abort.
 */
export async function exchange(
  http: HttpClient,
  parts: readonly (string | Buffer)[],
  options: RawOptions,
): Promise<RawExchange> {
  const recorded = record(http, parts, options.within);
  const started = performance.now();
  const socket = await http.connect({ timeoutMs: options.within }).catch((error: unknown) => {
    http.recorder.failed(recorded, describe(error));
    http.recorder.ended(recorded);
    throw error;
  });
  socket.setNoDelay(true);
  try {
    const read = readAnswers(socket, options);
    void send(socket, parts);
    const result = await read;
    http.signal?.throwIfAborted();
    const error = ERRORS[result.end];
    if (error !== undefined) recorded.error = error;
    const answer = result.responses.at(-1);
    if (answer !== undefined) {
      recorded.status = answer.status;
      recorded.response_headers = http.recorder.headers(answer.headers);
      http.recorder.received(recorded, answer.body);
    }
    return result;
  } catch (error) {
    http.recorder.failed(recorded, describe(error));
    throw error;
  } finally {
    recorded.duration_ms = performance.now() - started;
    http.recorder.ended(recorded);
    socket.destroy();
  }
}

async function readAnswers(
  socket: Socket,
  { within, answers = 1, methods = [], accepts }: RawOptions,
): Promise<RawExchange> {
  const responses: RawResponse[] = [];
  // Bytes of an answer; expected answers to raw requests are far smaller.
  const buffer = new Bytes(4 * 1024 * 1024);
  const over = Promise.withResolvers<RawEnd>();
  const patience = new Patience(within, LONGEST_ANSWER * within);
  const late = new Unfinished(`the answer still came after ${(LONGEST_ANSWER * within) / 1000} s`);
  const stop = patience.watch((why) => (why === 'silent' ? over.resolve('timeout') : over.reject(late)));
  const read = (closed: boolean): void => {
    while (responses.length < answers) {
      const found = parseResponse(buffer.view(), methods[responses.length] ?? 'GET', closed);
      if (found === 'malformed') over.resolve('malformed');
      if (found === undefined || found === 'malformed') break;
      buffer.drop(found.length);
      if (found.response.status >= 200) responses.push(found.response);
    }
    const begun = responses.length >= answers ? undefined : parseHead(buffer.view());
    if (begun !== undefined && begun.status >= 200 && accepts?.(begun.status) === false) {
      const { length: _, ...head } = begun;
      responses.push({ ...head, body: Buffer.alloc(0) });
      over.resolve('refused');
    }
    if (responses.length >= answers) over.resolve('answered');
    else if (closed) over.resolve('closed');
  };
  const take = (chunk: Buffer): void => {
    patience.renew();
    if (buffer.append(chunk)) read(false);
    else over.resolve('malformed');
  };
  const close = (): void => read(true);
  socket.on('data', take).once('close', close);
  try {
    return { end: await over.promise, responses, rest: Buffer.from(buffer.view()) };
  } finally {
    stop();
    socket.off('data', take).off('close', close);
  }
}

const CREDENTIALS = /^((?:authorization|proxy-authorization|x-api-key|cookie): *).+$/gim;

function record(http: HttpClient, parts: readonly (string | Buffer)[], within: number): Recorded {
  const sent = parts.map((part) => part.toString('latin1')).join('');
  // Masks secrets before escaping, because escaping can change a secret.
  const text = http.recorder.redactor.excerpt(sent.replaceAll(CREDENTIALS, '$1***'), LONGEST_LINE);
  const escaped = JSON.stringify(text).slice(1, -1).replaceAll("'", "'\\''").replaceAll('%', '%%');
  const seconds = Math.max(1, Math.ceil(within / 1000));
  // Sets timeouts, because socat otherwise stops reading once the request is sent, or never ends.
  const line = `printf '${escaped}' | socat -t ${seconds} -T ${seconds} - ${socatAddress(http.endpoint)}`;
  const [, method = 'RAW', target = ''] = /^([!-~]{1,20}) ([!-~]+) HTTP\/\d/.exec(text.trimStart()) ?? [];
  const { origin } = http.endpoint;
  return http.recorder.add({
    method,
    url: target === '' || target.startsWith('/') ? origin + target : target,
    raw: true,
    request_headers: {},
    request_body: text,
    duration_ms: 0,
    curl: runnable(line, `a raw request of ${sent.length} bytes to ${origin}`),
  });
}

async function send(socket: Socket, parts: readonly (string | Buffer)[]): Promise<void> {
  for (const part of parts) {
    if (socket.destroyed) return;
    await new Promise<void>((resolve) => socket.write(part, () => resolve()));
    // Puts each part into its own TCP segment.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

export function requestText(
  http: HttpClient,
  request: { method?: string; target: string; headers?: readonly string[]; version?: string; body?: string },
): string {
  const { method = 'GET', target, headers = [], version = 'HTTP/1.1', body = '' } = request;
  const own = Object.entries(http.headers).map(([name, value]) => `${name}: ${value}`);
  const host = headers.some((line) => /^host:/i.test(line)) ? [] : [`Host: ${hostOf(http.endpoint)}`];
  return `${method} ${target} ${version}\r\n${[...host, ...own, ...headers].join('\r\n')}\r\n\r\n${body}`;
}
