/**
 * A connection that carries one HTTP/1.1 request at a time (RFC 9112). Written by hand for the requests of a load
 * generator: each is one write, and leaves little garbage. A general client makes objects for each, whose collection
 * stops the event loop while others are due.
 */
import { once } from 'node:events';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { Socket } from 'node:net';
import { type BodyRule, clipped, type Head, joined, MessageParser } from '../../../harness/common/http-parser.ts';
import type { AnswerHandler, SenderRequest } from '../../common/platform-http.ts';

/** Fields of objects that are sent again and again, as they stand in a request. */
const fields = new WeakMap<object, string>();

/** The bytes of a request. Throws when method, path or headers hold what would end them. */
export function encodeRequest(host: string, { method, path, headers, body }: SenderRequest): string | Buffer {
  // The target of a request has no spaces, control characters or characters beyond ASCII (RFC 9112 section 3).
  if (/[^\x21-\x7e]/.test(path)) throw new Error(`not a path of a request: ${JSON.stringify(clipped(path))}`);
  const head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n${fieldsOf(headers)}`;
  if (body === null) return `${head}\r\n`;
  const bytes = Buffer.from(body);
  return Buffer.concat([Buffer.from(`${head}content-length: ${bytes.length}\r\n\r\n`, 'latin1'), bytes]);
}

function fieldsOf(headers: SenderRequest['headers']): string {
  const known = fields.get(headers);
  if (known !== undefined) return known;
  let text = '';
  for (const [name, value] of Object.entries(headers)) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    text += `${name}: ${value}\r\n`;
  }
  fields.set(headers, text);
  return text;
}

/**
 * Has all connections without TLS read into one buffer, by an option of `net.connect`. A buffer for each answer would
 * be more garbage than all else that a request leaves.
 */
export const readTogether = {
  buffer: Buffer.alloc(64 * 1024),
  // Node calls it as a method of the socket.
  callback(this: Socket, length: number, buffer: Uint8Array): boolean {
    return this.emit('data', buffer.subarray(0, length));
  },
};

interface RequestConnectionOptions {
  /** Milliseconds without a byte after which a request fails. */
  timeoutMs: number;
  /** Called when an answer is complete, and the next request may be sent. */
  onReady(): void;
  /** Called once, as soon as the connection can be used no more. */
  onGone(): void;
}

/** So much earlier than the server says, a connection is not used any more: the request takes its time, too. */
const MARGIN_MS = 1000;
/** After an answer that does not say how long the connection stays open. Some servers close it after 5 s. */
const UNSAID_MS = 4000;

export class RequestConnection {
  readonly #socket: Socket;
  readonly #onGone: () => void;
  readonly #parser: MessageParser;
  /** Of the request under way. */
  #handler: AnswerHandler | undefined;
  /** Whether what is being read comes before the answer (1xx). */
  #interim = false;
  /** Whether the connection ends with this answer. */
  #last = false;
  /** When the server closes it unless it is used, by `performance.now()`. */
  #usableUntil = Number.POSITIVE_INFINITY;
  #isGone = false;

  /** `socket` is connected. */
  constructor(socket: Socket, { timeoutMs, onReady, onGone }: RequestConnectionOptions) {
    this.#socket = socket;
    this.#onGone = onGone;
    this.#parser = new MessageParser({
      head: (head) => this.#begin(head),
      // A copy: what it is part of may be read into again.
      body: (piece) => this.#handler?.onResponseData(this, Buffer.from(piece)),
      end: () => this.#complete(),
      wrong: (why) => this.#fail(new Error(`the answer is not HTTP/1.1: ${why}`)),
    });
    // Also of one that is idle: it is not worth keeping.
    socket.setTimeout(timeoutMs, () => this.#fail(new Error(`no byte of an answer for ${timeoutMs / 1000} s`)));
    socket.on('data', (bytes: Buffer) => {
      if (this.#handler === undefined) this.#cut();
      else this.#parser.push(bytes, 0);
      // Only now: what came behind the answer is no answer to the next request.
      if (this.#handler === undefined && !socket.destroyed) onReady();
    });
    socket.on('end', () => {
      this.#parser.end(0);
      this.#fail(closed());
    });
    socket.on('error', (error) => this.#fail(error));
    socket.once('close', () => this.#fail(closed()));
  }

  /** Whether the server keeps it open for another request, as far as it has said. Closes it otherwise. */
  get usable(): boolean {
    if (performance.now() >= this.#usableUntil) this.#cut();
    return !this.#socket.destroyed;
  }

  /** Call only when no request is under way. */
  send(bytes: string | Buffer, handler: AnswerHandler): void {
    this.#handler = handler;
    handler.onRequestStart(this);
    // It may have been given up.
    if (this.#handler === handler) this.#socket.write(bytes, 'latin1');
  }

  /** Fails the request under way, and cuts the connection. */
  abort(reason: Error): void {
    this.#fail(reason);
  }

  /** Like `abort`. Resolves when the connection is closed. */
  async destroy(reason: Error): Promise<void> {
    if (this.#socket.closed) return;
    const end = once(this.#socket, 'close');
    this.#fail(reason);
    await end;
  }

  #begin({ line, headers }: Head): BodyRule | undefined {
    const [, minor, code] = /^HTTP\/1\.([01]) (\d{3})(?: |$)/.exec(line) ?? [];
    const status = Number(code);
    // Nobody asked for another protocol.
    if (this.#handler === undefined || code === undefined || status === 101) {
      this.#fail(new Error(`the answer is not HTTP/1.1: ${clipped(line)}`));
      return undefined;
    }
    this.#interim = status < 200;
    if (this.#interim) return 'none';
    const named = joined(headers);
    const options = named['connection']?.toLowerCase() ?? '';
    const [, seconds] = /timeout=(\d+)/i.exec(named['keep-alive'] ?? '') ?? [];
    const usableMs = seconds === undefined ? UNSAID_MS : Number(seconds) * 1000 - MARGIN_MS;
    this.#usableUntil = performance.now() + usableMs;
    const framed = named['content-length'] !== undefined || named['transfer-encoding'] !== undefined;
    const bodiless = status === 204 || status === 304;
    const stays = minor === '0' ? options.includes('keep-alive') : !options.includes('close');
    this.#last = !stays || usableMs <= 0 || !(framed || bodiless);
    this.#handler.onResponseStart(this, status, named);
    return bodiless ? 'none' : 'rest';
  }

  #complete(): void {
    if (this.#interim) return;
    const handler = this.#handler;
    this.#handler = undefined;
    if (this.#last) this.#cut();
    handler?.onResponseEnd();
  }

  #cut(): void {
    this.#socket.destroy();
    if (this.#isGone) return;
    this.#isGone = true;
    this.#onGone();
  }

  #fail(error: Error): void {
    const handler = this.#handler;
    this.#handler = undefined;
    this.#parser.stop();
    this.#cut();
    handler?.onResponseError(this, error);
  }
}

const closed = (): Error => Object.assign(new Error('other side closed'), { code: 'ECONNRESET' });
