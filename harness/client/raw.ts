/** HTTP/1.1 as bytes, written by hand because no client sends malformed, split or unfinished requests. */
import type { Socket } from 'node:net';
import type { HttpClient } from './http.ts';
import type { Recorded } from './recorder.ts';

/** A whole answer. Header names are in lower case. */
export interface RawResponse {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** How an exchange of bytes ended. */
export type RawEnd = 'answered' | 'closed' | 'timeout';

/** What came back. */
export interface RawExchange {
  /** Whole answers, in order. */
  responses: RawResponse[];
  /** `answered`: all that were waited for came; `closed`: the server hung up before; `timeout`: neither happened in time. */
  end: RawEnd;
  /** Bytes that are not a whole answer. */
  rest: Buffer;
}

/** How long to read, and how many answers. */
export interface RawOptions {
  /** Milliseconds for the whole exchange. */
  within: number;
  /** Answers to wait for. Default 1. */
  answers?: number;
  /** Methods of the requests, in order, since an answer to HEAD has no body. Default: all GET. */
  methods?: readonly string[];
}

/** Sends the parts one after the other, and reads until the answers have come. Throws Unreachable. */
export async function exchange(
  http: HttpClient,
  parts: readonly (string | Buffer)[],
  options: RawOptions,
): Promise<RawExchange> {
  const socket = await http.connect();
  socket.setNoDelay(true);
  const { answers = 1, methods = [] } = options;
  const recorded = record(http, parts);
  const started = performance.now();
  return new Promise((resolve) => {
    const responses: RawResponse[] = [];
    let buffer: Buffer = Buffer.alloc(0);
    const finish = (end: RawEnd): void => {
      clearTimeout(timer);
      socket.destroy();
      const status = responses.at(-1)?.status;
      if (status !== undefined) recorded.status = status;
      if (end !== 'answered') recorded.error = end === 'closed' ? 'the connection was closed' : 'no answer in time';
      recorded.duration_ms = performance.now() - started;
      resolve({ responses, end, rest: buffer });
    };
    const timer = setTimeout(() => finish('timeout'), options.within);
    const read = (closed: boolean): void => {
      for (;;) {
        const found = parseResponse(buffer, methods[responses.length] ?? 'GET', closed);
        if (found === undefined) break;
        buffer = buffer.subarray(found.length);
        // 100 Continue and its kin announce an answer; they are none.
        if (found.response.status >= 200) responses.push(found.response);
        if (responses.length < answers) continue;
        finish('answered');
        return;
      }
      if (closed) finish('closed');
    };
    socket.on('data', (chunk: Buffer) => {
      buffer = Buffer.concat([buffer, chunk]);
      read(false);
    });
    socket.once('close', () => read(true));
    // A server that refuses early closes while we are still sending.
    socket.on('error', () => {});
    void send(socket, parts);
  });
}

const CREDENTIALS = /^((?:authorization|proxy-authorization|x-api-key|cookie): *).+$/gim;

/** Records the bytes with a shell line that sends them again. */
function record(http: HttpClient, parts: readonly (string | Buffer)[]): Recorded {
  const sent = parts.map((part) => part.toString('latin1')).join('');
  const text = http.recorder.redactor.excerpt(sent.replaceAll(CREDENTIALS, '$1***'), 1500);
  const { origin, socketPath } = http.endpoint;
  const { hostname, port } = new URL(origin);
  const to = socketPath === undefined ? `TCP:${hostname}:${port || '80'}` : `UNIX-CONNECT:${socketPath}`;
  const escaped = JSON.stringify(text).slice(1, -1).replaceAll("'", "'\\''").replaceAll('%', '%%');
  return http.recorder.add({
    method: 'RAW',
    url: origin,
    request_headers: {},
    request_body: text,
    duration_ms: 0,
    curl: `printf '${escaped}' | socat - ${to}`,
  });
}

async function send(socket: Socket, parts: readonly (string | Buffer)[]): Promise<void> {
  for (const part of parts) {
    if (socket.destroyed) return;
    await new Promise<void>((resolve) => socket.write(part, () => resolve()));
    // Lets each part leave in a segment of its own, as far as a stream allows.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const HEAD_END = Buffer.from('\r\n\r\n');

/** The first answer in `bytes` if it is whole. One without a length is whole when the connection closes. */
function parseResponse(
  bytes: Buffer,
  method: string,
  closed: boolean,
): { response: RawResponse; length: number } | undefined {
  const end = bytes.indexOf(HEAD_END);
  if (end === -1) return undefined;
  const [statusLine = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(statusLine)?.[1] ?? Number.NaN);
  if (Number.isNaN(status)) return undefined;
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon > 0) headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  const start = end + HEAD_END.length;
  const rest = bytes.subarray(start);
  const done = (body: Buffer, length: number) => ({ response: { status, headers, body }, length: start + length });
  if (method === 'HEAD' || status < 200 || status === 204 || status === 304) return done(Buffer.alloc(0), 0);
  if (/\bchunked\b/i.test(headers['transfer-encoding'] ?? '')) {
    const body = dechunk(rest);
    return body === undefined ? undefined : done(body.content, body.length);
  }
  const length = Number(headers['content-length'] ?? Number.NaN);
  if (Number.isInteger(length)) return rest.length >= length ? done(rest.subarray(0, length), length) : undefined;
  return closed ? done(rest, rest.length) : undefined;
}

function dechunk(bytes: Buffer): { content: Buffer; length: number } | undefined {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const line = bytes.indexOf('\r\n', at);
    if (line === -1) return undefined;
    const size = Number.parseInt(bytes.subarray(at, line).toString('latin1'), 16);
    if (Number.isNaN(size)) return undefined;
    const next = line + 2 + size;
    if (bytes.length < next + 2) return undefined;
    if (size === 0) {
      const end = bytes.indexOf('\r\n', next);
      return end === -1 ? undefined : { content: Buffer.concat(parts), length: end + 2 };
    }
    parts.push(bytes.subarray(line + 2, next));
    at = next + 2;
  }
}

/** A request as text, with the headers that the client sends (credentials among them) and a Host unless one is given. */
export function requestText(
  http: HttpClient,
  request: { method?: string; target: string; headers?: readonly string[]; version?: string; body?: string },
): string {
  const { method = 'GET', target, headers = [], version = 'HTTP/1.1', body = '' } = request;
  const own = Object.entries(http.headers).map(([name, value]) => `${name}: ${value}`);
  const host = headers.some((line) => /^host:/i.test(line)) ? [] : [`Host: ${new URL(http.endpoint.origin).host}`];
  return `${method} ${target} ${version}\r\n${[...host, ...own, ...headers].join('\r\n')}\r\n\r\n${body}`;
}
