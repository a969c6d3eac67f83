/** A stream of events as checks read it. An event that does not come in time is a finding of the check. */
import { type EventStream, StreamEnded, StreamTimeout } from '../../../harness/client/sse.ts';
import type { SseFrame } from '../../../harness/client/sse-parser.ts';
import { type Device, recordTimeout, timeoutMs } from './check.ts';
import { carriesNoEvent, DECIMAL, eventsOf, readEvent, type SeenEvent, showIds } from './events.ts';

/** Opens the stream again after that event, or where it began; undefined when that is not served, or there is no cursor. */
export type Reopen = (last: bigint | undefined) => Promise<EventStream | undefined>;

export class Subscription {
  /** Events in the order in which `next` and the methods built on it gave them out. */
  readonly events: SeenEvent[] = [];
  readonly #t: Device;
  readonly #reopen: Reopen | undefined;
  #stream: EventStream;
  /** How many events had been given out when the stream was last resumed. */
  #resumedAt = -1;

  /** Without `reopen`, a stream that ends is not resumed. */
  constructor(t: Device, stream: EventStream, reopen?: Reopen) {
    this.#t = t;
    this.#stream = stream;
    this.#reopen = reopen;
  }

  /** The connection; another one after the subscription was resumed. */
  get stream(): EventStream {
    return this.#stream;
  }

  /** The next event; blocks that carry none are skipped. */
  async next(what: string, within = timeoutMs(this.#t)): Promise<SeenEvent> {
    const deadline = performance.now() + within;
    for (;;) {
      const frame = await this.#nextFrame(what, deadline);
      const event = readEvent(this.#t, frame);
      if (event === undefined || this.#isRepeated(event)) continue;
      this.events.push(event);
      return event;
    }
  }

  /** Events up to and including the first that fits. Others may lie between: a real agent emits its own. */
  async until(fits: (event: SeenEvent) => boolean, what: string, within = timeoutMs(this.#t)): Promise<SeenEvent[]> {
    const deadline = performance.now() + within;
    const taken: SeenEvent[] = [];
    for (;;) {
      const event = await this.next(what, deadline - performance.now());
      taken.push(event);
      if (fits(event)) return taken;
    }
  }

  /** Events up to and including the first whose id is `id` or above it. */
  reach(id: bigint, what = `event ${id}`, within = timeoutMs(this.#t)): Promise<SeenEvent[]> {
    return this.until((event) => event.id >= id, what, within);
  }

  /**
   * Reads until the event `last`, or one after it, has come, the stream ends or the time is up. Closes the stream and gives all that
   * came, without a finding.
   */
  async drain(last?: bigint): Promise<SeenEvent[]> {
    const { stream } = this;
    const deadline = performance.now() + timeoutMs(this.#t);
    let looked = 0;
    const arrived = (): boolean => {
      const fresh = stream.frames.slice(looked);
      looked = stream.frames.length;
      return (
        last !== undefined &&
        fresh.some((frame) => !carriesNoEvent(frame) && DECIMAL.test(frame.id ?? '') && BigInt(frame.id ?? '') >= last)
      );
    };
    while (!arrived() && stream.ended === undefined) {
      if (performance.now() >= deadline) {
        if (last !== undefined) recordTimeout(this.#t);
        break;
      }
      const seen = { frames: looked, comments: stream.comments.length };
      await stream
        .activity(seen, { within: deadline - performance.now(), for: 'the rest of the stream' })
        .catch(() => {});
    }
    await this.close();
    return eventsOf(this.#t, stream);
  }

  close(): Promise<void> {
    return this.stream.close();
  }

  /** After a stream was resumed the replay window may repeat events (section 6.2, rule 1). */
  #isRepeated({ id }: SeenEvent): boolean {
    return this.#resumedAt >= 0 && this.events.slice(0, this.#resumedAt).some((event) => event.id === id);
  }

  async #nextFrame(what: string, deadline: number): Promise<SseFrame> {
    try {
      return await this.stream.next({ within: deadline - performance.now(), for: what });
    } catch (error) {
      if (!(error instanceof StreamTimeout || error instanceof StreamEnded)) throw error;
      if (await this.#resume()) return this.#nextFrame(what, deadline);
      if (error instanceof StreamTimeout) recordTimeout(this.#t);
      this.#t.must(false, {
        expected: `${what}, on an open stream`,
        actual: `${error.message}${this.events.length === 0 ? '' : `; events before it: ${showIds(this.events)}`}`,
      });
      throw error;
    }
  }

  /**
   * A server may end a stream in order, and the client comes back with the last id it saw. It does so once without a new event: a
   * stream that always ends before it brings anything is of no use.
   */
  async #resume(): Promise<boolean> {
    const { by } = this.stream.ended ?? {};
    const last = this.events.at(-1)?.id;
    if (by !== 'server' || this.#reopen === undefined || this.events.length === this.#resumedAt) return false;
    const stream = await this.#reopen(last);
    if (stream === undefined) return false;
    this.#resumedAt = this.events.length;
    this.#stream = stream;
    this.#t.note('the device ended a stream that was still read; it was resumed from the last id');
    return true;
  }
}
