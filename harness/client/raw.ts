/** HTTP/1.1 as bytes, written by hand because no client sends malformed, split or unfinished requests. */
import type { Socket } from 'node:net';
import { Patience } from '../common/patience.ts';
import { Bytes } from './bytes.ts';
import { socatAddress } from './connection.ts';
import { LONGEST_LINE, runnable } from './curl.ts';
import { describe, Unfinished } from './errors.ts';
import type { HttpClient } from './http.ts';
import { LONGEST_ANSWER } from './pending.ts';
import { parseHead, parseResponse, type RawResponse } from './raw-response.ts';
import type { Recorded } from './recorder.ts';

/** How an exchange of bytes ended. */
export type RawEnd = 'answered' | 'refused' | 'closed' | 'timeout' | 'malformed';

/** What came back. */
export interface RawExchange {
  /** Whole answers, in order; the last one has no body when it was refused. */
  responses: RawResponse[];
  /**
   * `answered`: all that were waited for came; `refused`: the head of an answer has a status that is not accepted; `closed`: the server
   * hung up before; `timeout`: nothing more came in time; `malformed`: the framing of an answer is wrong, or more than 4 MiB came.
   */
  end: RawEnd;
  /** Bytes that are not a whole answer. */
  rest: Buffer;
}

/** How long to read, and how many answers. */
export interface RawOptions {
  /** Milliseconds to connect, and then without another byte. */
  within: number;
  /** Answers to wait for. Default 1. */
  answers?: number;
  /** Methods of the requests, in order, since an answer to HEAD has no body. Default: all GET. */
  methods?: readonly string[];
  /** An answer with another status ends the exchange at its head: its body may be a stream that never ends. Default: all. */
  accepts?(status: number): boolean;
}

/** More than any answer to such a request holds. */
const MOST_BYTES = 4 * 1024 * 1024;

const ERRORS: Readonly<Record<RawEnd, string | undefined>> = {
  answered: undefined,
  refused: undefined,
  closed: 'the connection was closed',
  timeout: 'no answer in time',
  malformed: 'the framing of the answer is wrong, or it is larger than 4 MiB',
};

/**
 * Sends the parts one after the other, and reads until the answers have come. Throws Unreachable, Unfinished when bytes still come after
 * six times `within`, and the reason of the client's signal.
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
    const status = result.responses.at(-1)?.status;
    if (status !== undefined) recorded.status = status;
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

/** The first of an answer, the end of the connection and the end of patience decides; nothing that comes later changes it. */
async function readAnswers(
  socket: Socket,
  { within, answers = 1, methods = [], accepts }: RawOptions,
): Promise<RawExchange> {
  const responses: RawResponse[] = [];
  const buffer = new Bytes(MOST_BYTES);
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
      // 100 Continue and its kin announce an answer; they are none.
      if (found.response.status >= 200) responses.push(found.response);
    }
    const begun = responses.length >= answers ? undefined : parseHead(buffer.view());
    if (begun !== undefined && begun.status >= 200 && accepts?.(begun.status) === false) {
      responses.push({ status: begun.status, headers: begun.headers, body: Buffer.alloc(0) });
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

/** Records the bytes with a shell line that sends them again. */
function record(http: HttpClient, parts: readonly (string | Buffer)[], within: number): Recorded {
  const sent = parts.map((part) => part.toString('latin1')).join('');
  // Masked before anything in it is escaped.
  const text = http.recorder.redactor.excerpt(sent.replaceAll(CREDENTIALS, '$1***'), LONGEST_LINE);
  const escaped = JSON.stringify(text).slice(1, -1).replaceAll("'", "'\\''").replaceAll('%', '%%');
  const seconds = Math.max(1, Math.ceil(within / 1000));
  // socat would not wait for the answer once all of the request is sent, nor end by itself.
  const line = `printf '${escaped}' | socat -t ${seconds} -T ${seconds} - ${socatAddress(http.endpoint)}`;
  return http.recorder.add({
    method: 'RAW',
    url: http.endpoint.origin,
    request_headers: {},
    request_body: text,
    duration_ms: 0,
    curl: runnable(line, `a raw request of ${sent.length} bytes to ${http.endpoint.origin}`),
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
