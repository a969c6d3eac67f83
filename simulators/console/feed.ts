/**
 * Document that pages follow over server-sent events. Each message has an id; a reconnecting page sends its last one
 * and receives the missed messages, or the whole document if they are no longer kept.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Change, changed, type Message } from './page/document.ts';

/** Milliseconds within which changes are joined. */
const TOGETHER_MS = 50;
/** Bytes of messages kept for reconnecting pages. */
const KEPT_BYTES = 4_000_000;
/** Bytes that may wait for a slow page before it is cut off; it reconnects and gets the whole document. */
const WAITING_BYTES = 8_000_000;
/** Milliseconds between comments that prove the connection alive. */
const BEAT_MS = 10_000;

interface Kept {
  number: number;
  frame: string;
}

export class Feed<D extends object> implements Disposable {
  #document: D;
  /** Unique to this process, so that an id of an earlier process is never mistaken for one of ours. */
  readonly #epoch = randomBytes(6).toString('hex');
  #number = 0;
  #kept: Kept[] = [];
  #keptBytes = 0;
  #pending: Change[] = [];
  #timer: NodeJS.Timeout | undefined;
  readonly #pages = new Set<ServerResponse>();
  readonly #refresh: () => void;

  /** `refresh` is called before a page gets the document, for members updated only while a page follows. */
  constructor(document: D, refresh: () => void = () => {}) {
    this.#document = document;
    this.#refresh = refresh;
  }

  get document(): Readonly<D> {
    return this.#document;
  }

  get pages(): number {
    return this.#pages.size;
  }

  /** Changes the document at once; pages see it within 50 ms. */
  change(...changes: readonly Change[]): void {
    this.#document = changed(this.#document, changes);
    this.#pending.push(...changes);
    this.#timer ??= setTimeout(() => this.#flush(), TOGETHER_MS).unref();
  }

  /** Sets members of the document whose value differs. */
  set(members: Partial<D>): void {
    const known = this.#document as Record<string, unknown>;
    const changes = Object.entries(members).flatMap(([name, to]) =>
      JSON.stringify(known[name]) === JSON.stringify(to) ? [] : [{ set: name, to }],
    );
    if (changes.length > 0) this.change(...changes);
  }

  /** Streams events to a page until it leaves. */
  follow(request: IncomingMessage, response: ServerResponse): void {
    this.#refresh();
    this.#flush();
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' });
    response.write('retry: 500\n\n');
    const missed = this.#since(request.headers['last-event-id']);
    if (missed === undefined) response.write(this.#frame({ whole: this.#document }));
    else for (const { frame } of missed) response.write(frame);
    this.#pages.add(response);
    const beat = setInterval(() => response.write(':\n\n'), BEAT_MS).unref();
    response.once('close', () => {
      clearInterval(beat);
      this.#pages.delete(response);
    });
  }

  /** Sends pending changes and ends all streams. */
  [Symbol.dispose](): void {
    this.#flush();
    for (const page of this.#pages) page.end('event: end\ndata: {}\n\n');
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#pending.length === 0) return;
    this.#number += 1;
    const frame = this.#frame({ changes: this.#pending.splice(0) });
    this.#kept.push({ number: this.#number, frame });
    this.#keptBytes += frame.length;
    while (this.#keptBytes > KEPT_BYTES) this.#keptBytes -= this.#kept.shift()?.frame.length ?? 0;
    for (const page of this.#pages) {
      if (page.writableLength > WAITING_BYTES) page.destroy();
      else page.write(frame);
    }
  }

  #frame(message: Message): string {
    return `id: ${this.#epoch}.${this.#number}\ndata: ${JSON.stringify(message)}\n\n`;
  }

  /** Messages after `id`; undefined if some are no longer kept. */
  #since(id: string | string[] | undefined): readonly Kept[] | undefined {
    const [epoch, digits] = String(id).split('.');
    const last = Number(digits);
    if (epoch !== this.#epoch || !Number.isInteger(last) || last > this.#number) return undefined;
    const missed = this.#kept.filter(({ number }) => number > last);
    return missed.length === this.#number - last ? missed : undefined;
  }
}
