/** A client on the robot: reads its event stream, resumes after lost connections, and checks what it sees. */
import { connect, type Socket } from 'node:net';
import { backoffMs } from '../../../harness/common/backoff.ts';
import { DEVICE_API_PREFIX } from '../../../harness/contract/versions.ts';
import { SseReader } from './sse-reader.ts';
import { StreamCheck, type StreamFault } from './stream-check.ts';

export interface SubscriberOptions {
  socketPath: string;
  /** Id of the newest event before this subscriber; it reads all after it. */
  cursor: number;
  /** Called once per event, in order; `text` is the JSON envelope. */
  onEvent(id: number, type: string, text: string): void;
  onFault(fault: StreamFault): void;
  onCount(name: 'connected' | 'lost' | 'refused' | 'expired'): void;
  /** The events that the robot still has; asked after a 410. */
  retained(): { earliest: number; latest: number };
}

const RECONNECT = { firstMs: 50, longestMs: 2000 };
/** Comes back without any delay. */
const AT_ONCE = -1;

export class Subscriber {
  readonly #options: SubscriberOptions;
  readonly check: StreamCheck;
  #socket: Socket | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Attempts to connect that failed in a row, or AT_ONCE. */
  #failures = 0;
  #stopped = false;
  /** An answer with status 200 is open. */
  streaming = false;

  constructor(options: SubscriberOptions) {
    this.#options = options;
    this.check = new StreamCheck(options.cursor);
  }

  /** Connects, and reconnects after each loss until `stop`. */
  start(): void {
    this.#stopped = false;
    this.#connect();
  }

  /** Drops the connection abruptly and reconnects at once, as in a reconnect storm. */
  drop(): void {
    if (this.#stopped) return;
    this.#failures = AT_ONCE;
    if (this.#socket === undefined) {
      clearTimeout(this.#timer);
      this.#connect();
    } else {
      this.#socket.destroy();
    }
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#socket?.destroy();
  }

  #connect(): void {
    const { onCount, onFault, retained } = this.#options;
    const socket = connect({ path: this.#options.socketPath });
    this.#socket = socket;
    this.check.connecting();
    const reader = new SseReader({
      head: (status) => {
        if (status === 200) {
          this.streaming = true;
          this.#failures = 0;
          onCount('connected');
          return;
        }
        if (status === 410) {
          const fault = this.check.expired(retained());
          if (fault !== undefined) onFault(fault);
        }
        onCount(status === 410 ? 'expired' : 'refused');
        socket.destroy();
      },
      frame: ({ id, event, data }) => this.#frame(id, event, data),
    });
    socket.on('connect', () => {
      socket.write(
        `GET ${DEVICE_API_PREFIX}/events?after=${this.check.last} HTTP/1.1\r\nHost: robot\r\nAccept: text/event-stream\r\n\r\n`,
      );
    });
    socket.on('data', (bytes: Buffer) => {
      try {
        reader.push(bytes);
      } catch {
        socket.destroy();
      }
      if (reader.ended) socket.destroy();
    });
    socket.on('error', () => {});
    socket.on('end', () => socket.destroy());
    socket.on('close', () => this.#closed());
  }

  #frame(id: string | undefined, event: string | undefined, text: string): void {
    const number = Number(id);
    if (id === undefined || !Number.isInteger(number)) {
      this.#options.onFault({ kind: 'gap', message: `an event came without an integer id (${id ?? 'none'})` });
      return;
    }
    const { fresh, fault } = this.check.see(number, text);
    if (fault !== undefined) this.#options.onFault(fault);
    if (fresh) this.#options.onEvent(number, event ?? '', text);
  }

  #closed(): void {
    if (this.streaming && !this.#stopped) this.#options.onCount('lost');
    this.streaming = false;
    this.#socket = undefined;
    if (this.#stopped) return;
    const delay = this.#failures === AT_ONCE ? 0 : backoffMs(RECONNECT, this.#failures);
    this.#timer = setTimeout(() => this.#connect(), delay);
    this.#failures += 1;
  }
}
