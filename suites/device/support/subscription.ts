/** A subscription as checks speak of it. What does not come in time, or is not to be had any more, becomes a finding of the check. */
import { type EventStream, StreamEnded, StreamTimeout } from '../../../harness/client/sse.ts';
import type { SseFrame } from '../../../harness/client/sse-parser.ts';
import type { Device } from './context.ts';
import { DECIMAL, isControl, readEvent, type SeenEvent, showIds } from './events.ts';
import { patience, waitedInVain } from './patience.ts';

/** Opens the stream anew after that event, or where it began; undefined when that is not served, or there is no cursor. */
export type ComeBack = (last: bigint | undefined) => Promise<EventStream | undefined>;

export class Subscription {
  /** Events in the order in which `next` and its kin gave them out. */
  readonly events: SeenEvent[] = [];
  readonly #context: Device;
  readonly #comeBack: ComeBack | undefined;
  #stream: EventStream;
  /** How many events had been given out when the stream was resumed last. */
  #resumedAt = -1;

  /** Without `comeBack` a stream that ends is over. */
  constructor(context: Device, stream: EventStream, comeBack?: ComeBack) {
    this.#context = context;
    this.#stream = stream;
    this.#comeBack = comeBack;
  }

  /** The connection; another one once the subscription had to be resumed. */
  get stream(): EventStream {
    return this.#stream;
  }

  /** The next event; blocks without id, event and data are passed over. */
  async next(what: string, within = patience(this.#context)): Promise<SeenEvent> {
    const deadline = performance.now() + within;
    for (;;) {
      const frame = await this.#judged(
        () => this.stream.next({ within: deadline - performance.now(), for: what }),
        what,
      );
      const event = readEvent(this.#context, frame);
      if (event === undefined || this.#again(event)) continue;
      this.events.push(event);
      return event;
    }
  }

  /** Events up to and including the first that fits. Foreign ones may lie between: a real agent emits its own. */
  async until(
    fits: (event: SeenEvent) => boolean,
    what: string,
    within = patience(this.#context),
  ): Promise<SeenEvent[]> {
    const deadline = performance.now() + within;
    const taken: SeenEvent[] = [];
    for (;;) {
      const event = await this.next(what, deadline - performance.now());
      taken.push(event);
      if (fits(event)) return taken;
    }
  }

  /** Events up to and including the first whose id is `id` or above it. */
  reach(id: bigint, what = `event ${id}`, within = patience(this.#context)): Promise<SeenEvent[]> {
    return this.until((event) => event.id >= id, what, within);
  }

  /** Reads until the stream ends, or patience does; gives back whatever came. Decides nothing. */
  rest(): Promise<SeenEvent[]> {
    return this.drain(undefined);
  }

  /** The same, and also ends when that event, or one after it, has come. */
  async drain(last: bigint | undefined): Promise<SeenEvent[]> {
    const { stream } = this;
    const deadline = performance.now() + patience(this.#context);
    let looked = 0;
    const arrived = (): boolean => {
      const fresh = stream.frames.slice(looked);
      looked = stream.frames.length;
      return (
        last !== undefined &&
        fresh.some((frame) => !isControl(frame) && DECIMAL.test(frame.id ?? '') && BigInt(frame.id ?? '') >= last)
      );
    };
    while (!arrived() && stream.ended === undefined) {
      if (performance.now() >= deadline) {
        if (last !== undefined) waitedInVain(this.#context);
        break;
      }
      const seen = { frames: looked, comments: stream.comments.length };
      await stream
        .activity(seen, { within: deadline - performance.now(), for: 'the rest of the stream' })
        .catch(() => {});
    }
    await this.close();
    return stream.frames.flatMap((frame) => readEvent(this.#context, frame) ?? []);
  }

  close(): Promise<void> {
    return this.stream.close();
  }

  /** What comes again once a stream has been resumed is no news: the replay window may repeat (section 6.2, rule 1). */
  #again({ id }: SeenEvent): boolean {
    return this.#resumedAt >= 0 && this.events.slice(0, this.#resumedAt).some((event) => event.id === id);
  }

  async #judged(read: () => Promise<SseFrame>, what: string): Promise<SseFrame> {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof StreamTimeout || error instanceof StreamEnded)) throw error;
      if (await this.#resumed()) return this.#judged(read, what);
      if (error instanceof StreamTimeout) waitedInVain(this.#context);
      this.#context.must(false, {
        expected: `${what}, on an open stream`,
        actual: `${error.message}${this.events.length === 0 ? '' : `; events before it: ${showIds(this.events)}`}`,
      });
      throw error;
    }
  }

  /**
   * A server may end a stream in order, and the client comes back with the last id it saw. Not so where one ends again without
   * having brought anything: nobody gets on that way. Without an id there is nothing to come back with.
   */
  async #resumed(): Promise<boolean> {
    const { by } = this.stream.ended ?? {};
    const last = this.events.at(-1)?.id;
    if (by !== 'server' || this.#comeBack === undefined || this.events.length === this.#resumedAt) return false;
    const stream = await this.#comeBack(last);
    if (stream === undefined) return false;
    this.#resumedAt = this.events.length;
    this.#stream = stream;
    this.#context.note('the device ended a stream that was still read; it was resumed from the last id');
    return true;
  }
}
