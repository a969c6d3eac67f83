/**
 * A subscription to the event stream (sections 6.1 and 6.2) that owns the bytes: every wait has a bound and a reason.
 */

import { defined } from '../common/defined.ts';
import { Changes, runningMs } from '../common/waiting.ts';
import { BothEnds } from './body.ts';
import { describe, Unfinished } from './errors.ts';
import type { HttpClient, OpenResponse } from './http.ts';
import type { Recorder } from './recorder.ts';
import { eventsQuery } from './request-forms.ts';
import {
  BlockTooLarge,
  commentBytes,
  frameBytes,
  type SseComment,
  type SseFrame,
  type SseFraming,
  SseParser,
} from './sse-parser.ts';
import { type StreamWait, untilReady } from './stream-wait.ts';
import type { StreamMarks } from './timeline.ts';

const KEPT_WHEN_DROPPING = 0.75;

/**
 * The items of a sequence within a bound on what they cost, such as bytes. Indices count from the first that ever came.
 * An item is only dropped once it was marked as read, the oldest first.
 */
export class Recent<T> implements Iterable<T> {
  readonly #limit: number;
  readonly #costOf: (item: T) => number;
  readonly #items: T[] = [];
  /** Index of the first item that is kept. */
  #first = 0;
  /** Index of the first item that was not read. */
  #unread = 0;
  #readCost = 0;
  #unreadCost = 0;

  /** `limit` bounds the cost of the items that were read. */
  constructor(limit: number, costOf: (item: T) => number) {
    this.#limit = limit;
    this.#costOf = costOf;
  }

  /** How many have come, those that were dropped among them. */
  get length(): number {
    return this.#first + this.#items.length;
  }

  /** How many were dropped. */
  get dropped(): number {
    return this.#first;
  }

  /** What the items cost that were not read. */
  get unreadCost(): number {
    return this.#unreadCost;
  }

  push(item: T): void {
    this.#items.push(item);
    this.#unreadCost += this.#costOf(item);
  }

  /** Marks the items before that index as read. */
  read(index: number): void {
    for (; this.#unread < Math.min(index, this.length); this.#unread += 1) {
      const cost = this.#cost(this.#unread);
      this.#unreadCost -= cost;
      this.#readCost += cost;
    }
    if (this.#readCost > this.#limit) this.#drop();
  }

  /** Drops a quarter at once: to drop one at a time would move all others each time. */
  #drop(): void {
    let dropped = 0;
    for (; this.#readCost > this.#limit * KEPT_WHEN_DROPPING && this.#first + dropped < this.#unread; dropped += 1) {
      this.#readCost -= this.#cost(this.#first + dropped);
    }
    this.#items.splice(0, dropped);
    this.#first += dropped;
  }

  /** The item of that index, from the end when it is negative; undefined when there is none or it was dropped. */
  at(index: number): T | undefined {
    return this.#items[index < 0 ? this.#items.length + index : index - this.#first];
  }

  /** The items from that index on, as far as they are kept. */
  slice(from: number): T[] {
    return this.#items.slice(Math.max(0, from - this.#first));
  }

  filter(fits: (item: T) => boolean): T[] {
    return this.#items.filter(fits);
  }

  findLast(fits: (item: T) => boolean): T | undefined {
    return this.#items.findLast(fits);
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#items[Symbol.iterator]();
  }

  #cost(index: number): number {
    const item = this.at(index);
    return item === undefined ? 0 : this.#costOf(item);
  }
}

export { StreamEnded, StreamTimeout, type StreamWait } from './stream-wait.ts';

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
  /** What the reader makes of each frame; undefined leaves it out. Default: what came. */
  read?: (frame: SseFrame) => SseFrame | undefined;
  /** Drops the connection as soon as this many bytes of the body have come; later bytes are ignored. */
  cutAfterBytes?: number;
}

/**
 * Who ended a stream: the server, a broken connection, `close()`, a cut after a number of bytes, or a block too large
 * to be read.
 */
export type StreamEnd = 'server' | 'error' | 'closed' | 'cut' | 'too large';

const MIB = 1024 * 1024;
/** Reading stops while frames that take more than this were neither given out nor looked at. */
const MOST_UNREAD = 2 * MIB;
/** What frames may take that were. A check that needs more of them collects them as they come. */
const MOST_READ = 2 * MIB;
const MOST_COMMENTS = MIB / 4;
const MAX_OTHER_BODY = 64 * 1024;
/** Of what came last, for the record. */
const TAIL = 16 * 1024;

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
    ...defined({ timeoutMs: options.within }),
  });
  http.recorder.ended(response.recorded);
  return new EventStream(response, options, http.recorder);
}

/** An open event stream. Frames are given out one after the other by `next`. Memory is bounded whatever comes. */
export class EventStream {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The newest frames (2 MiB), and all that were neither given out nor looked at with `activity`. */
  readonly frames = new Recent<SseFrame>(MOST_READ, frameBytes);
  /** The newest comments. */
  readonly comments = new Recent<SseComment>(MOST_COMMENTS, commentBytes);
  /** When the head of the answer came, milliseconds of `performance.now()`. */
  readonly openedAt = performance.now();
  readonly framing: SseFraming;
  readonly #parser: SseParser;
  readonly #response: OpenResponse;
  readonly #recorder: Recorder;
  readonly #marks: StreamMarks | undefined;
  readonly #changes = new Changes();
  readonly #done: Promise<void>;
  /** What came first and last: a finding is about one of them. */
  readonly #ends = new BothEnds(MAX_OTHER_BODY, TAIL);
  #bytes = 0;
  #read = 0;
  readonly #cutAt: number;
  #ended: { by: StreamEnd; reason: string; at: number } | undefined;
  #resume: (() => void) | undefined;
  #paused: boolean;

  constructor(response: OpenResponse, options: OpenEvents, recorder: Recorder) {
    this.status = response.status;
    this.headers = response.headers;
    this.#response = response;
    this.#recorder = recorder;
    this.#marks = response.status === 200 ? recorder.stream(response.recorded) : undefined;
    this.#cutAt = options.cutAfterBytes ?? Number.POSITIVE_INFINITY;
    this.#paused = options.paused ?? false;
    this.#parser = new SseParser({
      frame: (frame) => {
        recorder.happened({ kind: 'frame', asked: response.recorded, stream: this, frame });
        const read = options.read === undefined ? frame : options.read(frame);
        if (read !== undefined) this.frames.push(read);
        this.#marks?.came('frame', `${frame.id ?? 'no id'} ${frame.event ?? ''}`.trimEnd());
      },
      comment: (comment) => {
        this.comments.push(comment);
        this.#marks?.came('heartbeat', comment.text === '' ? 'a comment without text' : `: ${comment.text}`);
        this.comments.read(this.comments.length);
      },
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
  async next(wait: StreamWait): Promise<SseFrame> {
    const frame = await this.#until(() => this.frames.at(this.#read), wait, this.#fieldBytes);
    this.#read += 1;
    this.#looked(this.#read);
    return frame;
  }

  /** Waits for a comment or a frame beyond those already counted, which the caller has looked at. */
  activity(seen: { frames: number; comments: number }, wait: StreamWait): Promise<true> {
    this.#looked(seen.frames);
    return this.#until(
      () => (this.frames.length > seen.frames || this.comments.length > seen.comments ? true : undefined),
      wait,
      () => this.#parser.lineBytes,
    );
  }

  /**
   * Resolves when no frame has come for `quietMs`, the stream ended, or `within` is over. Silence proves nothing about
   * what may still come: this is for taking a sample, never for deciding. The function is asked again after each frame.
   */
  async idle(quietMs: number | (() => number), wait: StreamWait): Promise<void> {
    const deadline = runningMs() + wait.within;
    while (this.#ended === undefined && runningMs() < deadline) {
      const seen = this.frames.length;
      const quiet = typeof quietMs === 'number' ? quietMs : quietMs();
      const sample = { within: quiet, atMost: deadline - runningMs(), for: wait.for };
      const isOver = await this.#until(
        () => (this.frames.length > seen ? false : undefined),
        sample,
        this.#fieldBytes,
      ).catch(() => true);
      if (isOver) return;
    }
  }

  /** Resolves when the stream has ended, with the beginning of the body. For answers that are not a stream. */
  async rest(wait: StreamWait): Promise<string> {
    await this.#until(
      () => (this.#ended === undefined ? undefined : true),
      wait,
      () => this.#bytes,
    );
    return this.head();
  }

  /** The first 64 KiB of the body that have come. */
  head(): string {
    return this.#ends.head.toString('utf8');
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
        // One that had come when the stream was closed would be read from the middle of a line.
        if (this.#ended !== undefined) break;
        this.#take(chunk as Buffer, performance.now());
        if (this.#ended !== undefined) break;
        await this.#held();
        if (this.#ended !== undefined) break;
      }
      this.#end('server', 'the server ended the stream');
    } catch (error) {
      this.#end(error instanceof BlockTooLarge ? 'too large' : 'error', describe(error));
    }
  }

  #take(chunk: Buffer, at: number): void {
    const kept = chunk.subarray(0, Math.max(0, this.#cutAt - this.bytes));
    this.#bytes += kept.length;
    this.#ends.append(kept);
    if (this.status === 200) this.#parser.push(kept, at);
    if (this.bytes >= this.#cutAt) this.#end('cut', `cut after ${this.bytes} bytes`);
    this.#changes.announce();
  }

  /** Resolves at once, or when reading may go on. */
  async #held(): Promise<void> {
    while (this.#ended === undefined && (this.#paused || this.frames.unreadCost >= MOST_UNREAD)) {
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
    this.#marks?.ended(by === 'closed' || by === 'cut' || by === 'too large' ? 'cut' : 'end', reason);
    const { body, size } = this.#ends.known();
    if (body.length > 0) this.#recorder.received(this.#response.recorded, body, { ended: by === 'server', size });
    this.#parser.end();
    this.#response.abort();
    this.#changes.announce();
  }

  /** Frames before that index may be dropped, so that others can be read. */
  #looked(frames: number): void {
    this.frames.read(frames);
    if (this.frames.unreadCost < MOST_UNREAD && !this.#paused) this.#wake();
  }

  readonly #fieldBytes = (): number => this.#parser.fieldBytes;

  /** `progress` is a number that grows as what is waited for comes nearer. */
  #until<T>(ready: () => T | undefined, wait: StreamWait, progress: () => number): Promise<T> {
    return untilReady(ready, wait, {
      progress,
      changes: this.#changes,
      ended: () => {
        const { by, reason } = this.#ended ?? {};
        // The server did not end it: this client stopped reading.
        if (by === 'too large') throw new Unfinished(this.#describe(wait, `${reason}, which Muster does not read`));
        return reason;
      },
      describe: (reason) => this.#describe(wait, reason),
    });
  }

  #describe(wait: StreamWait, reason: string): string {
    return (
      `waited for ${wait.for}: ${reason} (${this.frames.length} frames, ${this.comments.length} comments, ` +
      `${this.bytes} bytes came)`
    );
  }
}
