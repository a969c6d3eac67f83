import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import fc from 'fast-check';
import type { Place, Side } from '../relay.ts';

type Step = { who: Side; what: 'send'; bytes: Uint8Array } | { who: Side; what: 'end' | 'reset' };

class Peer {
  readonly socket: Socket;
  readonly pieces: Buffer[] = [];
  readonly ends: string[] = [];
  length = 0;
  #wake = Promise.withResolvers<void>();

  constructor(socket: Socket) {
    this.socket = socket;
    const note = (what: string): void => {
      this.ends.push(what);
      this.#changed();
    };
    socket.on('data', (piece: Buffer) => {
      this.pieces.push(piece);
      this.length += piece.length;
      this.#changed();
    });
    socket.on('end', () => note('end'));
    socket.on('error', (error: NodeJS.ErrnoException) => note(`error ${error.code}`));
    socket.on('close', () => note('close'));
  }

  #changed(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await this.#wake.promise;
  }

  get saw() {
    return { bytes: Buffer.concat(this.pieces).toString('base64'), ends: [...this.ends] };
  }
}

export class Stage implements AsyncDisposable {
  readonly #waiting: ((peer: Peer) => void)[] = [];
  readonly #server = createServer({ allowHalfOpen: true }, (socket) => this.#waiting.shift()?.(new Peer(socket)));

  static async open(place: Place): Promise<Stage> {
    const stage = new Stage();
    stage.#server.listen(place);
    await once(stage.#server, 'listening');
    return stage;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async play(script: readonly Step[], place: Place) {
    const accepted = new Promise<Peer>((resolve) => void this.#waiting.push(resolve));
    const client = new Peer(connect({ ...place, allowHalfOpen: true }));
    const peers = { client, server: await accepted };
    try {
      const sent = { client: 0, server: 0 };
      for (const step of script) {
        const { socket } = peers[step.who];
        const other = peers[step.who === 'client' ? 'server' : 'client'];
        if (step.what === 'send') {
          socket.write(step.bytes);
          sent[step.who] += step.bytes.length;
          await other.until(() => other.length >= sent[step.who]);
        } else if (step.what === 'end') {
          socket.end();
          await other.until(() => other.ends.length > 0);
        } else {
          if ('path' in place) socket.destroy();
          else socket.resetAndDestroy();
          await other.until(() => other.ends.includes('path' in place ? 'end' : 'close'));
          await peers[step.who].until(() => peers[step.who].ends.includes('close'));
        }
      }
      return { client: peers.client.saw, server: peers.server.saw };
    } finally {
      for (const { socket } of Object.values(peers)) socket.destroy();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise<void>((resolve) => void this.#server.close(() => resolve()));
  }
}

const REQUESTS = [
  'GET /v0.2/events?after=3 HTTP/1.1\r\nHost: x\r\nLast-Event-ID: 4\r\n\r\n',
  'POST /devices/d/ping HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}',
  'POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTrailer: a\r\n\r\n3\r\nabc\r\n0\r\na: b\r\n\r\n',
  'HEAD / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n',
  'GET /chat HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
];
const ANSWERS = [
  'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nid: 1\nevent: a.b\ndata: {}\n\n: heartbeat\n\nid: 2',
  'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}',
  'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\u0000\u0001',
];

const torn = (texts: readonly string[]): fc.Arbitrary<Buffer> =>
  fc
    .tuple(fc.constantFrom(...texts), fc.nat({ max: 200 }), fc.nat({ max: 200 }))
    .map(([text, from, to]) =>
      Buffer.from(text, 'latin1').subarray(from % 20 === 0 ? 0 : from, to % 5 === 0 ? to : 1e6),
    );

const bytesOf = (texts: readonly string[]): fc.Arbitrary<Uint8Array> =>
  fc
    .oneof(
      { weight: 4, arbitrary: fc.constantFrom(...texts).map((text) => Buffer.from(text, 'latin1')) },
      { weight: 2, arbitrary: torn(texts) },
      { weight: 1, arbitrary: fc.uint8Array({ minLength: 1, maxLength: 50 }).map((bytes) => Buffer.from(bytes)) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 400_000 }).map((size) => Buffer.alloc(size, 'x')) },
    )
    .filter((bytes) => bytes.length > 0);

const sending: fc.Arbitrary<Step> = fc.oneof(
  bytesOf(REQUESTS).map((bytes): Step => ({ who: 'client', what: 'send', bytes })),
  bytesOf(ANSWERS).map((bytes): Step => ({ who: 'server', what: 'send', bytes })),
);

const side = fc.constantFrom<Side>('client', 'server');
export const anyScript: fc.Arbitrary<readonly Step[]> = fc
  .record({
    sends: fc.array(sending, { maxLength: 8 }),
    ends: fc.array(fc.record({ who: side, at: fc.nat({ max: 8 }) }), { maxLength: 2 }),
    reset: fc.option(side),
  })
  .map(({ sends, ends, reset }) => {
    const over = new Set<Side>();
    const script: Step[] = [];
    for (const [at, step] of [...sends, undefined].entries()) {
      for (const end of ends) {
        if (end.at !== at || over.has(end.who)) continue;
        over.add(end.who);
        script.push({ who: end.who, what: 'end' });
      }
      if (step !== undefined && !over.has(step.who)) script.push(step);
    }
    if (reset !== null && over.size === 0) script.push({ who: reset, what: 'reset' });
    return script;
  });
