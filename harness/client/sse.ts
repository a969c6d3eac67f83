/** Subscription to the event stream (sections 6.1 and 6.2 of the specification), with bounded waits and memory. */
import { defined } from '../common/defined.ts';
import { NamedError } from '../common/usage.ts';
import { Changes, Patience, runningMs, socketsRead } from '../common/waiting.ts';
import { BothEnds, decoded } from './body.ts';
import { describe, Unfinished } from './errors.ts';
import type { HttpClient, OpenResponse } from './http.ts';
import type { Recorder } from './recorder.ts';
import { eventsQuery } from './request-forms.ts';
import { BlockTooLarge, commentBytes, frameBytes, type SseComment, type SseFrame, SseParser } from './sse-parser.ts';
import type { StreamMarks } from './timeline.ts';

export interface StreamWait {
  /** Milliseconds without progress; pauses of this process do not count. Comments are no progress towards a frame. */
  within: number;
  /** Milliseconds in total. Default: the check's time limit. */
  atMost?: number;
  /** Completes the message "waited for …". */
  for: string;
}

export class StreamTimeout extends NamedError {}

export class StreamEnded extends NamedError {}

interface Awaited {
  progress(): number;
  changes: Changes;
  ended(): string | undefined;
  describe(reason: string): string;
}

export async function untilReady<T>(ready: () => T | undefined, wait: StreamWait, stream: Awaited): Promise<T> {
  const patience = new Patience(wait.within, wait.atMost);
  for (let seen = stream.progress(), late = false; ; ) {
    const found = ready();
    if (found !== undefined) return found;
    const ended = stream.ended();
    if (ended !== undefined) throw new StreamEnded(stream.describe(ended));
    if (stream.progress() > seen) patience.renew();
    seen = stream.progress();
    if (patience.leftMs > 0) {
      late = false;
      await stream.changes.next(patience.leftMs);
    } else if (!late) {
      // Reads sockets once more, because received bytes may wait behind the timer.
      late = true;
      await socketsRead();
    } else {
      const waited = patience.bound === 'silent' ? wait.within : (wait.atMost ?? 0);
      throw new StreamTimeout(stream.describe(`nothing of the kind within ${Math.round(waited)} ms`));
    }
  }
}

/** Keeps all unread items, and read items up to a total cost, e.g. in bytes. Indices stay valid after drops. */
export class Recent<T> implements Iterable<T> {
  readonly #limit: number;
  readonly #costOf: (item: T) => number;
  readonly #items: T[] = [];
  dropped = 0;
  #unread = 0;
  #readCost = 0;
  unreadCost = 0;

  constructor(limit: number, costOf: (item: T) => number) {
    this.#limit = limit;
    this.#costOf = costOf;
  }

  get length(): number {
    return this.dropped + this.#items.length;
  }

  push(item: T): void {
    this.#items.push(item);
    this.unreadCost += this.#costOf(item);
  }

  read(index: number): void {
    for (; this.#unread < Math.min(index, this.length); this.#unread += 1) {
      const cost = this.#costOf(this.at(this.#unread) as T);
      this.unreadCost -= cost;
      this.#readCost += cost;
    }
    if (this.#readCost <= this.#limit) return;
    const before = this.dropped;
    for (; this.#readCost > this.#limit * 0.75 && this.dropped < this.#unread; this.dropped += 1)
      this.#readCost -= this.#costOf(this.#items[this.dropped - before] as T);
    this.#items.splice(0, this.dropped - before);
  }

  at(index: number): T | undefined {
    return this.#items[index < 0 ? this.#items.length + index : index - this.dropped];
  }

  slice(from: number): T[] {
    return this.#items.slice(Math.max(0, from - this.dropped));
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
}

export interface OpenEvents {
  after?: string | number | bigint;
  lastEventId?: string | number | bigint;
  types?: readonly string[];
  query?: string;
  headers?: Record<string, string | undefined>;
  /** Milliseconds until the head of the answer. Default: the client's time limit. */
  within?: number;
  paused?: boolean;
  read?: (frame: SseFrame) => SseFrame | undefined;
  cutAfterBytes?: number;
}

/**
 * `error`: broken connection; `closed`: call of `close`; `cut`: limit `cutAfterBytes`; `too large`: line or block above
 * 2 MiB.
 */
export type StreamEnd = 'server' | 'error' | 'closed' | 'cut' | 'too large';

const MIB = 1024 * 1024;
/** Bytes of unread frames at which reading pauses. */
const MOST_UNREAD = 2 * MIB;

/** Resolves with the head of an answer of any status. Throws Unreachable, LimitReached or NoAnswer. */
export async function openEvents(http: HttpClient, options: OpenEvents = {}): Promise<EventStream> {
  const response = await http.open({
    path: '/events',
    query: options.query ?? http.form?.query?.(eventsQuery(options)) ?? eventsQuery(options),
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

export class EventStream {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly frames = new Recent<SseFrame>(2 * MIB, frameBytes);
  readonly comments = new Recent<SseComment>(MIB / 4, commentBytes);
  readonly openedAt = performance.now();
  readonly #parser: SseParser;
  readonly #response: OpenResponse;
  readonly #recorder: Recorder;
  readonly #marks: StreamMarks | undefined;
  readonly #changes = new Changes();
  readonly #done: Promise<void>;
  readonly #ends = new BothEnds(64 * 1024, 16 * 1024);
  bytes = 0;
  #read = 0;
  readonly #cutAt: number;
  ended: { by: StreamEnd; reason: string; at: number } | undefined;
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
    this.#done = this.#pump();
  }

  get invalidLines(): number {
    return this.#parser.invalidLines;
  }

  get unfinished(): boolean {
    return this.#parser.unfinished;
  }

  get unread(): number {
    return this.frames.length - this.#read;
  }

  /** Throws StreamTimeout, StreamEnded, or Unfinished for a line or block above 2 MiB. */
  async next(wait: StreamWait): Promise<SseFrame> {
    const frame = await this.#until(() => this.frames.at(this.#read), wait, this.#fieldBytes);
    this.#read += 1;
    this.#looked(this.#read);
    return frame;
  }

  activity(seen: { frames: number; comments: number }, wait: StreamWait): Promise<true> {
    this.#looked(seen.frames);
    return this.#until(
      () => (this.frames.length > seen.frames || this.comments.length > seen.comments ? true : undefined),
      wait,
      () => this.#parser.lineBytes,
    );
  }

  /**
   * Resolves after `quietMs` without a frame, at the stream's end, or after `wait.within`. A function `quietMs` is
   * called again after each frame.
   */
  async idle(quietMs: number | (() => number), wait: StreamWait): Promise<void> {
    const deadline = runningMs() + wait.within;
    while (this.ended === undefined && runningMs() < deadline) {
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

  async rest(wait: StreamWait): Promise<string> {
    await this.#until(
      () => (this.ended === undefined ? undefined : true),
      wait,
      () => this.bytes,
    );
    return this.head();
  }

  head(): string {
    return this.#ends.head.toString('utf8');
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#wake();
  }

  async close(): Promise<void> {
    this.#end('closed', 'closed by this client');
    this.#wake();
    await this.#done;
  }

  async #pump(): Promise<void> {
    try {
      await this.#held();
      for await (const chunk of decoded(this.#response.body, this.headers['content-encoding'])) {
        if (this.ended !== undefined) break;
        const receivedAt = performance.now();
        const kept = (chunk as Buffer).subarray(0, Math.max(0, this.#cutAt - this.bytes));
        this.bytes += kept.length;
        this.#ends.append(kept);
        if (this.status === 200) this.#parser.push(kept, receivedAt);
        if (this.bytes >= this.#cutAt) this.#end('cut', `cut after ${this.bytes} bytes`);
        this.#changes.announce();
        if (this.ended !== undefined) break;
        await this.#held();
        if (this.ended !== undefined) break;
      }
      this.#end('server', 'the server ended the stream');
    } catch (error) {
      this.#end(error instanceof BlockTooLarge ? 'too large' : 'error', describe(error));
    }
  }

  async #held(): Promise<void> {
    while (this.ended === undefined && (this.#paused || this.frames.unreadCost >= MOST_UNREAD)) {
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
    if (this.ended !== undefined) return;
    this.ended = { by, reason, at: performance.now() };
    this.#marks?.ended(by === 'closed' || by === 'cut' || by === 'too large' ? 'cut' : 'end', reason);
    const { body, size } = this.#ends.known();
    if (body.length > 0) this.#recorder.received(this.#response.recorded, body, { ended: by === 'server', size });
    this.#parser.end();
    this.#response.abort();
    this.#changes.announce();
  }

  #looked(frames: number): void {
    this.frames.read(frames);
    if (this.frames.unreadCost < MOST_UNREAD && !this.#paused) this.#wake();
  }

  readonly #fieldBytes = (): number => this.#parser.fieldBytes;

  #until<T>(ready: () => T | undefined, wait: StreamWait, progress: () => number): Promise<T> {
    return untilReady(ready, wait, {
      progress,
      changes: this.#changes,
      ended: () => {
        const { by, reason } = this.ended ?? {};
        // Muster, not the server, ended the stream.
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
