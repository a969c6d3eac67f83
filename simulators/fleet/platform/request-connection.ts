/** HTTP/1.1 connection (RFC 9112) for one request at a time; creates little garbage, whose collection takes time. */
import { once } from 'node:events';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { Socket } from 'node:net';
import { type BodyRule, clipped, type Head, joined, MessageParser } from '../../../harness/common/http-parser.ts';
import type { AnswerHandler, SenderRequest } from '../../common/platform-http.ts';

/** Encoded headers by headers object, because most requests share the same object. */
const fields = new WeakMap<object, string>();

/** Encodes a request; throws an Error for control characters in path or headers. */
export function encodeRequest(host: string, { method, path, headers, body }: SenderRequest): string | Buffer {
  // Rejects spaces, control characters and characters beyond ASCII (RFC 9112 section 3).
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

/** Option `onread` of `net.connect`: all connections without TLS share one read buffer, to save garbage. */
export const readTogether = {
  buffer: Buffer.alloc(64 * 1024),
  callback(this: Socket, length: number, buffer: Uint8Array): boolean {
    return this.emit('data', buffer.subarray(0, length));
  },
};

/** Milliseconds before the server's idle timeout at which the client stops using a connection. */
const MARGIN_MS = 1000;
/** Maximum milliseconds of idle time for a server without a stated timeout; some servers close after 5 s. */
const UNSAID_MS = 4000;

export class RequestConnection {
  readonly #socket: Socket;
  readonly #onGone: () => void;
  readonly #parser: MessageParser;
  #handler: AnswerHandler | undefined;
  #interim = false;
  #last = false;
  #usableUntil = Number.POSITIVE_INFINITY;
  #isGone = false;

  constructor(socket: Socket, on: { timeoutMs: number; onReady(): void; onGone(): void }) {
    const { timeoutMs, onReady, onGone } = on;
    this.#socket = socket;
    this.#onGone = onGone;
    this.#parser = new MessageParser({
      head: (head) => this.#begin(head),
      // Copies the bytes, because the next answer overwrites the shared buffer.
      body: (piece) => this.#handler?.onResponseData(this, Buffer.from(piece)),
      end: () => {
        if (this.#interim) return;
        const handler = this.#handler;
        this.#handler = undefined;
        if (this.#last) this.#cut();
        handler?.onResponseEnd();
      },
      wrong: (why) => this.#fail(new Error(`the answer is not HTTP/1.1: ${why}`)),
    });
    socket.setTimeout(timeoutMs, () => this.#fail(new Error(`no byte of an answer for ${timeoutMs / 1000} s`)));
    socket.on('data', (bytes: Buffer) => {
      if (this.#handler === undefined) this.#cut();
      else this.#parser.push(bytes, 0);
      // Frees the connection only after all bytes are parsed, so that no surplus byte answers the next request.
      if (this.#handler === undefined && !socket.destroyed) onReady();
    });
    socket.on('end', () => {
      this.#parser.end(0);
      this.#fail(closed());
    });
    socket.on('error', (error) => this.#fail(error));
    socket.once('close', () => this.#fail(closed()));
  }

  get usable(): boolean {
    if (performance.now() >= this.#usableUntil) this.#cut();
    return !this.#socket.destroyed;
  }

  send(bytes: string | Buffer, handler: AnswerHandler): void {
    this.#handler = handler;
    handler.onRequestStart(this);
    // Sends nothing if the handler aborted the request in `onRequestStart`.
    if (this.#handler === handler) this.#socket.write(bytes, 'latin1');
  }

  abort(reason: Error): void {
    this.#fail(reason);
  }

  async destroy(reason: Error): Promise<void> {
    if (this.#socket.closed) return;
    const end = once(this.#socket, 'close');
    this.#fail(reason);
    await end;
  }

  #begin({ line, headers }: Head): BodyRule | undefined {
    const [, minor, code] = /^HTTP\/1\.([01]) (\d{3})(?: |$)/.exec(line) ?? [];
    const status = Number(code);
    // Fails on status 101 (switching protocols), which no request asks for.
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
