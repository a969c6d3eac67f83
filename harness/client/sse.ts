/** A subscription to the event stream (sections 6.1 and 6.2) that owns the bytes: every wait has a bound and a reason. */
import { Changes } from '../common/waiting.ts';
import { describe } from './errors.ts';
import type { HttpClient, OpenResponse } from './http.ts';
import { type SseComment, type SseFrame, type SseFraming, SseParser } from './sse-parser.ts';

/** How long to wait, and for what. */
export interface Wait {
  /** Milliseconds. */
  within: number;
  /** In words that complete "waited for …". */
  for: string;
}

/** What was waited for did not come in time. */
export class StreamTimeout extends Error {
  override name = 'StreamTimeout';
}

/** The stream ended before what was waited for came. */
export class StreamEnded extends Error {
  override name = 'StreamEnded';
}

/** What to subscribe to, and how to read it. */
export interface OpenEvents {
  /** Cursor in the query; sent as it is, so that malformed ones can be tried. */
  after?: string | number | bigint;
  /** Cursor in the header. */
  lastEventId?: string | number | bigint;
  /** Event types, comma-separated in the query. */
  types?: readonly string[];
  /** The whole query as it stands, instead of `after` and `types`. */
  query?: string;
  headers?: Record<string, string | undefined>;
  /** Bound on the head of the answer, milliseconds; the client's default otherwise. */
  within?: number;
  /** Reads nothing until `resume()`: a subscriber that has stopped reading. */
  paused?: boolean;
  /** Drops the connection as soon as this many bytes of the body have come; later bytes are ignored. */
  cutAfterBytes?: number;
}

/** Who ended a stream: the server, a broken connection, `close()`, or a cut after a number of bytes. */
export type StreamEnd = 'server' | 'error' | 'closed' | 'cut';

/** Unread frames above which reading stops until some are taken. */
const MAX_UNREAD = 200_000;
const MAX_OTHER_BODY = 64 * 1024;

/**
 * Requests `/events`. Resolves when the head of the answer is there, whatever its status.
 *
 * @throws Unreachable or NoAnswer
 */
export async function openEvents(http: HttpClient, options: OpenEvents = {}): Promise<EventStream> {
  const response = await http.open({
    path: '/events',
    query: options.query ?? eventsQuery(options),
    headers: {
      accept: 'text/event-stream',
      'last-event-id': options.lastEventId === undefined ? undefined : String(options.lastEventId),
      ...options.headers,
    },
    ...(options.within === undefined ? {} : { timeoutMs: options.within }),
  });
  return new EventStream(response, options, (text, ended) => http.recorder.body(text, { ended }));
}

/** Commas stay as they are: they separate the types, and an escaped one would be part of a type. */
function eventsQuery({ after, types }: OpenEvents): string {
  const pairs: string[] = [];
  if (after !== undefined) pairs.push(`after=${encodeURIComponent(String(after))}`);
  if (types !== undefined) pairs.push(`types=${types.map(encodeURIComponent).join(',')}`);
  return pairs.join('&');
}

/** An open event stream. Frames are given out one after the other by `next`, `take` and `until`. */
export class EventStream {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly frames: SseFrame[] = [];
  readonly comments: SseComment[] = [];
  /** When the head of the answer came, milliseconds of `performance.now()`. */
  readonly openedAt = performance.now();
  readonly framing: SseFraming;
  readonly #parser: SseParser;
  readonly #response: OpenResponse;
  readonly #redact: (text: string, ended: boolean) => string;
  readonly #changes = new Changes();
  readonly #done: Promise<void>;
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #bytes = 0;
  #read = 0;
  readonly #cutAt: number;
  #ended: { by: StreamEnd; reason: string; at: number } | undefined;
  #resume: (() => void) | undefined;
  #paused: boolean;

  constructor(
    response: OpenResponse,
    options: OpenEvents = {},
    redact: (text: string, ended: boolean) => string = (text) => text,
  ) {
    this.status = response.status;
    this.headers = response.headers;
    this.#response = response;
    this.#redact = redact;
    this.#cutAt = options.cutAfterBytes ?? Number.POSITIVE_INFINITY;
    this.#paused = options.paused ?? false;
    this.#parser = new SseParser({
      frame: (frame) => this.frames.push(frame),
      comment: (comment) => this.comments.push(comment),
    });
    this.framing = this.#parser.framing;
    this.#done = this.#pump();
  }

  /** Why and when there is no more; undefined while the stream is open. */
  get ended(): { by: StreamEnd; reason: string; at: number } | undefined {
    return this.#ended;
  }

  /** Bytes of the body that were parsed. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The stream stops, or stopped, inside a block. */
  get unfinished(): boolean {
    return this.#parser.unfinished;
  }

  /** What a client would send as `Last-Event-ID` now. */
  get lastEventId(): string {
    return this.#parser.lastEventId;
  }

  /** Number of frames that have not been given out. */
  get unread(): number {
    return this.frames.length - this.#read;
  }

  /** The next frame. Throws StreamTimeout or StreamEnded. */
  async next(wait: Wait): Promise<SseFrame> {
    const frame = await this.#until(() => this.frames[this.#read], wait);
    this.#read += 1;
    if (this.unread < MAX_UNREAD / 2 && !this.#paused) this.#wake();
    return frame;
  }

  /** The next `count` frames, within the time of one wait. */
  async take(count: number, wait: Wait): Promise<SseFrame[]> {
    const deadline = performance.now() + wait.within;
    const taken: SseFrame[] = [];
    while (taken.length < count) taken.push(await this.next({ ...wait, within: deadline - performance.now() }));
    return taken;
  }

  /** Every frame up to and including the first that fits. */
  async until(fits: (frame: SseFrame) => boolean, wait: Wait): Promise<SseFrame[]> {
    const deadline = performance.now() + wait.within;
    const taken: SseFrame[] = [];
    for (;;) {
      const frame = await this.next({ ...wait, within: deadline - performance.now() });
      taken.push(frame);
      if (fits(frame)) return taken;
    }
  }

  /** Waits for the comment of that index (0 is the first). */
  comment(index: number, wait: Wait): Promise<SseComment> {
    return this.#until(() => this.comments[index], wait);
  }

  /** Waits for a comment or a frame beyond those already counted. */
  activity(seen: { frames: number; comments: number }, wait: Wait): Promise<true> {
    return this.#until(
      () => (this.frames.length > seen.frames || this.comments.length > seen.comments ? true : undefined),
      wait,
    );
  }

  /**
   * Resolves when no frame has come for `quietMs`, or the stream ended. Silence proves nothing about what may still come: this is
   * for taking a sample, never for deciding.
   */
  async idle(quietMs: number, wait: Wait): Promise<void> {
    const deadline = performance.now() + wait.within;
    while (this.#ended === undefined && performance.now() < deadline) {
      const seen = this.frames.length;
      const quiet = await this.#until(() => (this.frames.length > seen ? false : undefined), {
        within: quietMs,
        for: wait.for,
      }).catch(() => true);
      if (quiet) return;
    }
  }

  /** Resolves when the stream has ended, with the beginning of the body. For answers that are not a stream. */
  async rest(wait: Wait): Promise<string> {
    await this.#until(() => (this.#ended === undefined ? undefined : true), wait);
    return this.head();
  }

  /** The first 64 KiB of the body that have come. */
  head(): string {
    return Buffer.concat(this.#head).toString('utf8');
  }

  /** Stops reading; what the kernel and the server's buffers hold stays there. */
  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#wake();
  }

  /** Drops the connection. Resolves when nothing is read any more. */
  async close(): Promise<void> {
    this.#end('closed', 'closed by this client');
    this.#wake();
    await this.#done;
  }

  async #pump(): Promise<void> {
    const { body } = this.#response;
    try {
      await this.#held();
      for await (const chunk of body) {
        this.#take(chunk as Buffer, performance.now());
        if (this.#ended !== undefined) break;
        await this.#held();
        if (this.#ended !== undefined) break;
      }
      this.#end('server', 'the server ended the stream');
    } catch (error) {
      this.#end('error', describe(error));
    }
  }

  #take(chunk: Buffer, at: number): void {
    const kept = chunk.subarray(0, Math.max(0, this.#cutAt - this.bytes));
    this.#bytes += kept.length;
    if (this.#headBytes < MAX_OTHER_BODY) {
      this.#head.push(kept.subarray(0, MAX_OTHER_BODY - this.#headBytes));
      this.#headBytes += kept.length;
    }
    if (this.status === 200) this.#parser.push(kept, at);
    if (this.bytes >= this.#cutAt) this.#end('cut', `cut after ${this.bytes} bytes`);
    this.#changes.announce();
  }

  /** Resolves at once, or when reading may go on. */
  async #held(): Promise<void> {
    while (this.#ended === undefined && (this.#paused || this.unread >= MAX_UNREAD)) {
      await new Promise<void>((resolve) => {
        this.#resume = resolve;
      });
    }
  }

  #wake(): void {
    this.#resume?.();
    this.#resume = undefined;
  }

  #end(by: StreamEnd, reason: string): void {
    if (this.#ended !== undefined) return;
    this.#ended = { by, reason, at: performance.now() };
    const text = this.#redact(this.head(), by === 'server' && this.#bytes <= MAX_OTHER_BODY);
    if (text !== '') this.#response.recorded.response_body = text;
    this.#response.abort();
    this.#changes.announce();
  }

  async #until<T>(ready: () => T | undefined, wait: Wait): Promise<T> {
    const deadline = performance.now() + wait.within;
    for (;;) {
      const found = ready();
      if (found !== undefined) return found;
      if (this.#ended !== undefined) throw new StreamEnded(this.#describe(wait, this.#ended.reason));
      if (performance.now() >= deadline) {
        // On a loaded machine the bytes may have come and wait behind the timer.
        await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
        const late = ready();
        if (late !== undefined) return late;
        throw new StreamTimeout(this.#describe(wait, `nothing of the kind within ${Math.round(wait.within)} ms`));
      }
      await this.#changes.next(deadline - performance.now());
    }
  }

  #describe(wait: Wait, reason: string): string {
    return `waited for ${wait.for}: ${reason} (${this.frames.length} frames, ${this.comments.length} comments, ${this.bytes} bytes came)`;
  }
}
