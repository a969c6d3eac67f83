/** Parses one watched connection; gives up on ambiguous bytes. */
import { isUtf8 } from 'node:buffer';
import { createHash, type Hash } from 'node:crypto';
import { CODINGS, isCoded } from '../client/body.ts';
import { SseParser } from '../client/sse-parser.ts';
import { Bytes } from '../common/bytes.ts';
import { type BodyRule, type Head, isEventStream, MessageParser, type Pairs, valuesOf } from '../common/http-parser.ts';
import type { Ending, Side } from './relay.ts';
import type { Body, Ended, TakeTraffic } from './traffic.ts';

/** Maximum bytes of a body that is kept whole: ten times a usual page of 100 items. */
const MOST_KEPT = 4 * 1024 * 1024;
const BEGINNING = 64 * 1024;

class KeptBody {
  readonly #bytes = new Bytes(MOST_KEPT);
  #hash: Hash | undefined;
  #size = 0;

  get held(): number {
    return this.#bytes.capacity;
  }

  clear(): void {
    this.#bytes.clear();
  }

  append(piece: Buffer): void {
    this.#size += piece.length;
    if (this.#hash !== undefined) return void this.#hash.update(piece);
    const before = this.#bytes.length;
    if (this.#bytes.append(piece)) return;
    this.#hash = createHash('sha256').update(this.#bytes.view());
    this.#hash.update(piece.subarray(this.#bytes.length - before));
    const beginning = Buffer.from(this.#bytes.view().subarray(0, BEGINNING));
    this.#bytes.clear();
    this.#bytes.append(beginning);
  }

  taken(codings = ''): Body | undefined {
    const size = this.#size;
    if (size === 0) return undefined;
    const bytes = this.#bytes.view();
    if (this.#hash !== undefined) return { ...readable(bytes.subarray(0, BEGINNING)), size, cut: this.#cut() };
    const plain = withoutCodings(bytes, codings);
    const body = plain === undefined ? { base64: bytes.subarray(0, BEGINNING).toString('base64') } : readable(plain);
    const cut = plain === undefined && size > BEGINNING ? { cut: this.#cut() } : {};
    this.#bytes.clear();
    return { ...body, size, ...cut };
  }

  #cut(): { sha256: string } {
    const sha256 = (this.#hash ?? createHash('sha256').update(this.#bytes.view())).digest('hex');
    this.#bytes.clear();
    return { sha256 };
  }
}

function readable(bytes: Buffer): Pick<Body, 'text' | 'base64'> {
  const text = bytes.toString('utf8');
  // Accepts text cut within its last character; refuses UTF-16, which is full of NULs.
  const isText = !text.includes('\0') && (isUtf8(bytes) || !text.slice(0, -1).includes('\ufffd'));
  return isText ? { text } : { base64: bytes.toString('base64') };
}

function withoutCodings(bytes: Buffer, codings: string): Buffer | undefined {
  let body = bytes;
  for (const coding of codings.split(',').toReversed()) {
    const name = coding.trim().toLowerCase();
    if (!isCoded(name)) continue;
    const known = CODINGS.get(name);
    if (known === undefined) return undefined;
    try {
      body = known.unpackSync(body, { maxOutputLength: MOST_KEPT });
    } catch {
      return undefined;
    }
  }
  return body;
}

const MOST_WAITING = 1000;

interface Exchange {
  readonly id: number;
  readonly method: string;
  held: number;
  status?: number;
  body: KeptBody | undefined;
  codings: string;
  stream?: StreamReader;
  interim: boolean;
}

interface ReaderOptions {
  connection: number;
  number(): number;
  take: TakeTraffic;
}

const OBJECT_BYTES = 200;

export class ConnectionReader {
  readonly #options: ReaderOptions;
  readonly #parsers: Record<Side, MessageParser>;
  readonly #waiting: Exchange[] = [];
  #asking: { id: number; body: KeptBody; codings: string } | undefined;
  #lost = false;
  #over = false;
  #clientLeft = false;
  #requests = 0;
  #at = 0;

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#parsers = {
      client: new MessageParser({
        head: (head, at) => this.#request(head, at),
        body: (piece) => this.#asking?.body.append(piece),
        end: (at) => this.#asked(at),
        wrong: (why) => this.lose(`the client sent ${why}`, this.#at),
      }),
      server: new MessageParser({
        head: (head, at) => this.#response(head, at),
        body: (piece, at) => this.#answering(piece, at),
        end: (at) => this.#answered(at),
        wrong: (why) => this.lose(`the server sent ${why}`, this.#at),
      }),
    };
  }

  get held(): number {
    const { client, server } = this.#parsers;
    const [answered] = this.#waiting;
    const bodies = (this.#asking?.body.held ?? 0) + (answered?.body?.held ?? 0) + (answered?.stream?.held ?? 0);
    return client.held + server.held + bodies + this.#requests;
  }

  bytes(from: Side, piece: Buffer, at: number): void {
    this.#at = at;
    if (!this.#lost) this.#parsers[from].push(piece, at);
  }

  ended(from: Side, how: Ending, at: number): void {
    this.#at = at;
    if (from === 'client') this.#clientLeft = true;
    if (this.#over) return;
    // Keeps the exchange open, because a client that ends its side may still wait for an answer.
    if (from === 'client' && how === 'end' && !this.#lost) this.#parsers.client.end(at);
    else {
      if (!this.#lost) {
        if (how === 'end') this.#parsers.server.end(at);
        else this.#parsers.server.stop();
        this.#cut(from, at);
      }
      this.#over = true;
      this.#options.take({ kind: 'closed', at, connection: this.#options.connection });
    }
  }

  leave(at: number): void {
    if (this.#lost || this.#over) return;
    this.#over = true;
    for (const parser of Object.values(this.#parsers)) parser.stop();
    this.#cut(undefined, at);
    this.#options.take({ kind: 'closed', at, connection: this.#options.connection });
  }

  lose(why: string, at: number): void {
    if (this.#lost || this.#over) return;
    this.#lost = true;
    for (const parser of Object.values(this.#parsers)) parser.stop();
    this.#cut(undefined, at);
    this.#options.take({ kind: 'lost', at, connection: this.#options.connection, why });
  }

  #request({ line, headers }: Head, at: number): BodyRule | undefined {
    const [, method, target] = /^([!#$%&'*+.^_`|~\w-]+) (\S+) HTTP\/1\.([01])$/.exec(line) ?? [];
    if (method === undefined || target === undefined) return void this.lose('what the client sent is no HTTP/1.1', at);
    if (this.#waiting.length >= MOST_WAITING)
      return void this.lose(`${MOST_WAITING} requests wait for their answers`, at);
    const id = this.#options.number();
    const characters = headers.reduce((sum, [name, value]) => sum + name.length + value.length, line.length);
    const held = 4 * characters + OBJECT_BYTES * (headers.length + 5);
    this.#requests += held;
    this.#waiting.push({ id, method, held, body: undefined, codings: '', interim: false });
    this.#asking = { id, body: new KeptBody(), codings: valuesOf(headers, 'content-encoding').join(',') };
    const { connection } = this.#options;
    this.#options.take({ kind: 'request', at, connection, exchange: id, method, target, headers });
    return 'framed';
  }

  #asked(at: number): void {
    const asking = this.#asking;
    if (asking === undefined) return;
    this.#asking = undefined;
    const body = asking.body.taken(asking.codings);
    const exchange = this.#waiting.findLast(({ id }) => id === asking.id);
    if (exchange !== undefined) {
      const text = 2 * (body?.text?.length ?? 0);
      exchange.held += text;
      this.#requests += text;
    }
    this.#options.take({ kind: 'asked', at, exchange: asking.id, ...(body && { body }) });
  }

  #response({ line, headers }: Head, at: number): BodyRule | undefined {
    const status = Number(/^HTTP\/1\.([01]) (\d{3})(?: .*)?$/.exec(line)?.[2]);
    const [exchange] = this.#waiting;
    if (Number.isNaN(status)) this.lose('what the server sent is no HTTP/1.1', at);
    else if (exchange === undefined) this.lose(`the server sent ${status}, and nothing was asked`, at);
    if (this.#lost || exchange === undefined) return undefined;
    exchange.interim = status < 200 && status !== 101;
    if (exchange.interim) return 'none';
    exchange.status = status;
    exchange.codings = valuesOf(headers, 'content-encoding').join(',');
    this.#options.take({ kind: 'response', at, exchange: exchange.id, status, headers });
    if (status === 101 || (exchange.method === 'CONNECT' && status < 300)) {
      this.#end(exchange, 'whole', at);
      return void this.lose('it was upgraded to another protocol', at);
    }
    if (exchange.method === 'HEAD' || status === 204 || status === 304) return 'none';
    if (isEventStream(status, valuesOf(headers, 'content-type').at(-1)) && !isCoded(exchange.codings))
      exchange.stream = new StreamReader((fields, when) =>
        this.#options.take({ kind: 'frame', at: when, exchange: exchange.id, fields }),
      );
    else exchange.body = new KeptBody();
    return 'rest';
  }

  #answering(piece: Buffer, at: number): void {
    const [exchange] = this.#waiting;
    exchange?.body?.append(piece);
    try {
      exchange?.stream?.push(piece, at);
    } catch (error) {
      this.lose(error instanceof Error ? error.message : String(error), at);
    }
  }

  #answered(at: number): void {
    const [exchange] = this.#waiting;
    if (exchange === undefined || exchange.interim) return;
    this.#end(exchange, exchange.stream !== undefined && this.#clientLeft ? 'client' : 'whole', at);
  }

  #cut(by: Side | undefined, at: number): void {
    const ended = by === undefined ? 'unseen' : this.#clientLeft ? 'client' : by;
    for (const exchange of [...this.#waiting]) this.#end(exchange, ended, at);
  }

  #end(exchange: Exchange, ended: Ended, at: number): void {
    this.#waiting.splice(this.#waiting.indexOf(exchange), 1);
    this.#requests -= exchange.held;
    if (this.#asking?.id === exchange.id) {
      this.#asking.body.clear();
      this.#asking = undefined;
    }
    const body = exchange.body?.taken(exchange.codings);
    const torn = exchange.stream?.torn;
    const rest = { ...(body && { body }), ...(torn !== undefined && { torn }) };
    this.#options.take({ kind: 'over', at, exchange: exchange.id, ended, ...rest });
  }
}

class StreamReader {
  readonly #parser: SseParser;
  readonly #tail = new Bytes(4096);
  #end = 0;

  constructor(frame: (fields: Pairs, at: number) => void) {
    this.#parser = new SseParser({
      frame: ({ fields, at, end }) => {
        this.#end = end;
        const pairs: Pairs = fields.map(({ name, value }) => [name, value]);
        frame(pairs, at);
      },
      comment: ({ end }) => {
        this.#end = end;
      },
    });
  }

  push(piece: Buffer, at: number): void {
    const before = this.#parser.bytes;
    const from = this.#end;
    this.#parser.push(piece, at);
    if (this.#end > from) this.#tail.drop(this.#tail.length);
    this.#tail.append(piece.subarray(Math.max(0, this.#end - before)));
  }

  get held(): number {
    return this.#parser.held + this.#tail.capacity;
  }

  get torn(): string | undefined {
    return this.#parser.unfinished && this.#tail.length > 0 ? this.#tail.view().toString('utf8') : undefined;
  }
}
