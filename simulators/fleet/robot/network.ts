/**
 * TCP connections of a robot over a slow, unsteady or interrupted network. Bytes wait in this process between the robot
 * and a real socket, so every protocol, with TLS or without, meets the same delays. Chance is drawn from the robot's
 * own seed.
 */
import { connect, Socket } from 'node:net';
import type { Dial } from '../../common/platform-http.ts';
import type { Random } from '../../common/random.ts';

/** Behaviour of a network; delays are one-way. */
export interface Network {
  latencyMs: number;
  /** Standard deviation of the latency, normally distributed. */
  jitterMs: number;
  loss: number;
  /** Bits a second from the robot (`up`) and to it (`down`). */
  upBits: number;
  downBits: number;
  /** Periodic outages, e.g. tunnels or nights; each robot starts at its own offset. */
  outages?: { everyMs: number; forMs: number } | undefined;
}

/** Payload of an Ethernet packet, bytes. */
const PACKET_BYTES = 1448;
/** Bytes of Ethernet, IP and TCP headers with timestamps, which occupy the line too. */
const HEADER_BYTES = 66;
/** Minimum above a round trip before Linux resends a packet that nothing followed (TCP_RTO_MIN). */
const LEAST_RESEND_MS = 200;
/** Four mean deviations of a round trip of two normal delays (RFC 6298). */
const RESEND_JITTERS = 4 * Math.sqrt(2) * Math.sqrt(2 / Math.PI);
/** Milliseconds of line time a portion, so that the first bytes arrive before the last are sent. */
const PORTION_MS = 5;
/** Smallest number of bytes in flight in one direction before the sender waits. */
const LEAST_WINDOW = 256 * 1024;
const MOST_WINDOW = 8 * 1024 * 1024;

type Draw = Pick<Random, 'next'>;

/** Line shared by all connections of a robot in one direction: bits wait for earlier bits. */
export class Line {
  readonly bits: number;
  freeAt = 0;

  constructor(bits: number) {
    this.bits = bits;
  }
}

/**
 * One direction of a connection: arrival times of bytes sent now. All times are milliseconds on one clock, on which
 * outages begin at multiples of their interval.
 */
export class Lane {
  readonly #network: Network;
  readonly #line: Line;
  readonly #draw: Draw;
  /** Latest arrival so far: TCP keeps the order. */
  #lastAt = 0;

  constructor(network: Network, line: Line, draw: Draw) {
    this.#network = network;
    this.#line = line;
    this.#draw = draw;
  }

  /** Arrival time of these bytes. `more`: others follow at once, which reveal a lost packet to the receiver. */
  arrival(bytes: number, now: number, more = false): number {
    const { latencyMs, jitterMs, loss } = this.#network;
    const line = this.#line;
    const packets = Math.ceil(bytes / PACKET_BYTES);
    const bits = 8 * (bytes + packets * HEADER_BYTES);
    line.freeAt = this.#afterOutage(Math.max(now, line.freeAt)) + (bits * 1000) / line.bits;
    const draw = this.#draw;
    // Standard normal distribution (Box and Muller).
    const normal = () => Math.sqrt(-2 * Math.log(1 - draw.next())) * Math.cos(2 * Math.PI * draw.next());
    let at = line.freeAt + Math.max(0, latencyMs + (jitterMs === 0 ? 0 : jitterMs * normal()));
    const drawn = loss > 0 ? draw.next() : 1;
    if (drawn < 1 - (1 - loss) ** packets) {
      at += 2 * latencyMs;
      // Nothing follows the last packet, so only a timeout reveals its loss.
      if (!more && drawn < loss) at += Math.max(LEAST_RESEND_MS, RESEND_JITTERS * jitterMs);
    }
    this.#lastAt = Math.max(this.#lastAt, this.#afterOutage(at));
    return this.#lastAt;
  }

  get portion(): number {
    return PACKET_BYTES * Math.max(1, Math.floor((this.#line.bits * PORTION_MS) / 8000 / PACKET_BYTES));
  }

  /** Bytes allowed in flight: the capacity of the line until the first acknowledgement returns. */
  get window(): number {
    const { bits } = this.#line;
    if (!Number.isFinite(bits)) return MOST_WINDOW;
    return Math.min(MOST_WINDOW, Math.max(LEAST_WINDOW, (2 * this.#network.latencyMs * bits) / 8000));
  }

  #afterOutage(at: number): number {
    const { outages } = this.#network;
    if (outages === undefined) return at;
    const since = at % outages.everyMs;
    return since < outages.forMs ? at - since + outages.forMs : at;
  }
}

/** Runs actions at their times, which never decrease. */
class Arrivals {
  #waiting: { at: number; arrive(): void }[] = [];
  #timer: NodeJS.Timeout | undefined;
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  add(at: number, arrive: () => void): void {
    this.#waiting.push({ at, arrive });
    this.#timer ??= this.#wait(at);
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#waiting = [];
  }

  #wait(at: number): NodeJS.Timeout {
    return setTimeout(() => this.#due(), Math.max(1, at - this.#now()));
  }

  #due(): void {
    // Half a millisecond of tolerance, because Node truncates timers to whole milliseconds.
    const until = this.#now() + 0.5;
    while ((this.#waiting[0]?.at ?? Number.POSITIVE_INFINITY) <= until) this.#waiting.shift()?.arrive();
    const [next] = this.#waiting;
    this.#timer = next && this.#wait(next.at);
  }
}

export class RobotNetwork {
  readonly #network: Network;
  readonly #random: Random;
  readonly #offsetMs: number;
  readonly #began = performance.now();
  readonly #up: Line;
  readonly #down: Line;
  #connections = 0;

  constructor(network: Network, random: Random) {
    this.#network = network;
    this.#random = random;
    this.#offsetMs = random.next() * (network.outages?.everyMs ?? 0);
    this.#up = new Line(network.upBits);
    this.#down = new Line(network.downBits);
  }

  /** Opens a connection; `connect` is emitted once the handshake has crossed the network. */
  readonly dial: Dial = (to) => {
    this.#connections += 1;
    const own = this.#random.fork(this.#connections);
    const lane = (name: string, line: Line) => new Lane(this.#network, line, own.fork(name));
    return new ShapedSocket(to, {
      up: lane('up', this.#up),
      down: lane('down', this.#down),
      now: () => performance.now() - this.#began + this.#offsetMs,
    });
  };
}

interface Link {
  up: Lane;
  down: Lane;
  now(): number;
}

const bytesOf = (chunk: Buffer | string, encoding: BufferEncoding): Buffer =>
  typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk;

/** Robot's end of a connection; the real socket is behind it. */
class ShapedSocket extends Socket {
  readonly #inner: Socket;
  readonly #link: Link;
  readonly #out: Arrivals;
  readonly #in: Arrivals;
  #isUp = false;
  #outBytes = 0;
  #inBytes = 0;
  #writer: (() => void) | undefined;

  constructor(to: Parameters<Dial>[0], link: Link) {
    super();
    this.#link = link;
    this.#out = new Arrivals(link.now);
    this.#in = new Arrivals(link.now);
    this.#inner = connect({ ...to, noDelay: true });
    this.#inner.once('connect', () => {
      const asked = link.up.arrival(0, link.now());
      this.#in.add(link.down.arrival(0, asked), () => {
        this.#isUp = true;
        this.emit('connect');
      });
    });
    this.#inner.on('data', (bytes) => {
      this.#inPortions(bytes as Buffer, link.down, (portion, at) => {
        this.#inBytes += portion.length;
        this.#in.add(at, () => {
          this.#inBytes -= portion.length;
          if (!this.push(portion)) this.#inner.pause();
          else if (this.#inBytes < link.down.window) this.#inner.resume();
        });
      });
      if (this.#inBytes >= link.down.window) this.#inner.pause();
    });
    this.#inner.once('end', () => this.#in.add(link.down.arrival(0, link.now()), () => this.push(null)));
    // An error crosses the network behind the bytes already on it.
    this.#inner.once('error', (error) => this.#in.add(link.down.arrival(0, link.now()), () => this.destroy(error)));
  }

  // Without a handle of its own, this socket would wait for a `connect` that has already happened.
  override ref(): this {
    this.#inner.ref();
    return this;
  }

  override unref(): this {
    this.#inner.unref();
    return this;
  }

  override _read(): void {
    if (this.#inBytes < this.#link.down.window) this.#inner.resume();
  }

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (!this.#isUp) {
      this.once('connect', () => this._write(chunk, encoding, done));
      return;
    }
    this.#inPortions(bytesOf(chunk, encoding), this.#link.up, (portion, at) => {
      this.#outBytes += portion.length;
      this.#out.add(at, () => {
        this.#inner.write(portion);
        this.#outBytes -= portion.length;
        if (this.#outBytes < this.#link.up.window) this.#writer?.();
      });
    });
    if (this.#outBytes < this.#link.up.window) done();
    else {
      this.#writer = () => {
        this.#writer = undefined;
        done();
      };
    }
  }

  override _writev(
    chunks: { chunk: Buffer | string; encoding: BufferEncoding }[],
    done: (error?: Error | null) => void,
  ): void {
    this._write(Buffer.concat(chunks.map(({ chunk, encoding }) => bytesOf(chunk, encoding))), 'utf8', done);
  }

  override _final(done: (error?: Error | null) => void): void {
    if (!this.#isUp) {
      this.once('connect', () => this._final(done));
      return;
    }
    // Ends only now, because an ended socket is destroyed together with its unsent bytes.
    this.#out.add(this.#link.up.arrival(0, this.#link.now()), () => {
      this.#inner.end();
      done();
    });
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#out.clear();
    this.#in.clear();
    this.#inner.destroy();
    super._destroy(error, done);
  }

  #inPortions(bytes: Buffer, lane: Lane, send: (portion: Buffer, at: number) => void): void {
    const now = this.#link.now();
    const { portion } = lane;
    for (let from = 0; from < bytes.length; from += portion) {
      const part = bytes.subarray(from, from + portion);
      send(part, lane.arrival(part.length, now, from + portion < bytes.length));
    }
  }
}
