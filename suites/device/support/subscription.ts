/** Stream of events; an event that does not come in time is a finding. */
import { type EventStream, StreamEnded, StreamTimeout } from '../../../harness/client/sse.ts';
import type { SseFrame } from '../../../harness/client/sse-parser.ts';
import { Patience } from '../../../harness/common/waiting.ts';
import { type Device, recordSuccess, recordTimeout, timeoutMs, type WaitKind } from './check.ts';
import { carriesNoEvent, DECIMAL, eventsOf, readEvent, type SeenEvent, showIds } from './events.ts';
import { LOG_STATE } from './log-state.ts';

/** Reopens after event `last` or at the first cursor; undefined without a cursor or after a refusal. */
type Reopen = (last: bigint | undefined) => Promise<EventStream | undefined>;

/** Extra event on a silent stream, to see whether the stream still works. */
export interface Probe {
  send(): void;
  /** Resolves with the id of the extra event, or with undefined if control failed; not set before `send`. */
  published: Promise<bigint | undefined> | undefined;
  id: bigint | undefined;
  /** Milliseconds that the awaited event may still take after the extra event has come. */
  readonly graceMs: number;
}

/** Maximum milliseconds of a wait while other events keep coming. */
const LONGEST_MS = 60_000;
const LOOK_MS = 200;

/** Maximum bytes of events in memory, twice as many as checks cause; an endless stream sends more. */
const MOST_BYTES = 48 * 1024 * 1024;

const eventBytes = (text: string): number => 1000 + 2 * text.length;

interface EventWait {
  what: string;
  kind: WaitKind;
  within: number;
  patience: Patience;
  probe: Probe | undefined;
  hurry: Patience | undefined;
  taken: SeenEvent[];
}

function leftMs(t: Device, wait: EventWait): number {
  const { probe, taken } = wait;
  const id = probe?.id;
  if (id !== undefined && taken.some((event) => event.id >= id)) wait.hurry ??= new Patience(probe?.graceMs ?? 0);
  return Math.min(patienceLeftMs(t, wait), wait.hurry?.leftMs ?? Number.POSITIVE_INFINITY);
}

/** Milliseconds left of a wait, which timeouts of other checks shorten. */
const patienceLeftMs = (
  t: Device,
  { kind, within, patience }: Pick<EventWait, 'kind' | 'within' | 'patience'>,
): number => patience.leftMs - Math.max(0, within - timeoutMs(t, kind));

export class Subscription {
  readonly events: SeenEvent[] = [];
  readonly device: Device;
  readonly #reopen: Reopen | undefined;
  stream: EventStream;
  #resumedAt = -1;
  #bytes = 0;

  constructor(t: Device, stream: EventStream, reopen?: Reopen) {
    this.device = t;
    this.stream = stream;
    this.#reopen = reopen;
  }

  get holdsMuch(): boolean {
    return this.#bytes > MOST_BYTES / 2;
  }

  /** Skips blocks without an event, which do not extend the wait. */
  next(what: string, kind: WaitKind = 'event'): Promise<SeenEvent> {
    return this.#next(this.#wait(what, undefined, kind));
  }

  async until(
    fits: (event: SeenEvent) => boolean,
    what: string,
    probe?: Probe,
    kind: WaitKind = 'event',
  ): Promise<SeenEvent[]> {
    const wait = this.#wait(what, probe, kind);
    const { taken, patience } = wait;
    for (let newest: bigint | undefined; ; ) {
      const event = await this.#next(wait);
      taken.push(event);
      if (fits(event)) break;
      if (newest !== undefined && event.id <= newest) continue;
      newest = event.id;
      patience.renew();
    }
    // Waits for the extra event too: a stream that always holds back its newest event has sent only the awaited one.
    const extra = await probe?.published;
    if (extra !== undefined && taken.every(({ id }) => id < extra)) await this.reach(extra);
    return taken;
  }

  reach(id: bigint, what = `event ${id}`, probe?: Probe): Promise<SeenEvent[]> {
    return this.until((event) => event.id >= id, what, probe);
  }

  /** Reads until event `last`, the end of the stream or a silence, then closes it; the result may lack event `last`. */
  async drain(last?: bigint): Promise<SeenEvent[]> {
    const { stream } = this;
    const kind = 'replay';
    const within = timeoutMs(this.device, kind);
    const patience = new Patience(within, last === undefined ? within : undefined);
    const came: SseFrame[] = [];
    let bytes = 0;
    let looked = 0;
    for (let newest: bigint | undefined; newest === undefined || last === undefined || newest < last; ) {
      const fresh = stream.frames.slice(looked);
      looked = stream.frames.length;
      came.push(...fresh);
      bytes += fresh.reduce((sum, { data = '' }) => sum + eventBytes(data), 0);
      const risen: bigint | undefined = fresh
        .filter((frame) => !carriesNoEvent(frame) && DECIMAL.test(frame.id ?? ''))
        .map(({ id }) => BigInt(id ?? ''))
        .reduce<bigint | undefined>((most, id) => (most === undefined || id > most ? id : most), newest);
      if (risen !== newest) {
        if (last !== undefined && risen !== undefined && risen <= last)
          recordSuccess(this.device, kind, within - patience.leftMs);
        patience.renew();
      }
      newest = risen;
      if (fresh.length > 0) continue;
      if (stream.ended?.by === 'too large' || bytes > MOST_BYTES) {
        await this.close();
        this.device.blocked(`the stream holds more than Muster reads: ${stream.ended?.reason ?? `${bytes} bytes`}`);
      }
      if (stream.ended !== undefined) break;
      const left = patienceLeftMs(this.device, { kind, within, patience });
      if (left <= 0) {
        if (last !== undefined) recordTimeout(this.device, kind);
        break;
      }
      const { bytes: before } = stream;
      const seen = { frames: looked, comments: stream.comments.length };
      const look = Math.min(left, LOOK_MS);
      await stream.activity(seen, { within: look, atMost: look, for: 'the rest of the stream' }).catch(() => {});
      if (stream.unfinished && stream.bytes > before) patience.renew();
    }
    await this.close();
    return eventsOf(this.device, { frames: came });
  }

  close(): Promise<void> {
    return this.stream.close();
  }

  #wait(what: string, probe: Probe | undefined, kind: WaitKind): EventWait {
    const within = timeoutMs(this.device, kind);
    return { what, kind, within, patience: new Patience(within, LONGEST_MS), probe, hurry: undefined, taken: [] };
  }

  async #next(wait: EventWait): Promise<SeenEvent> {
    for (;;) {
      const event = readEvent(this.device, await this.#nextFrame(wait));
      if (event === undefined) continue;
      // A resumed stream may repeat events (section 6.2, rule 1).
      const before = this.events.slice(0, Math.max(0, this.#resumedAt));
      if (before.some(({ id }) => id === event.id)) continue;
      this.events.push(event);
      this.#bytes += eventBytes(event.text);
      // Undecided, because without a cursor a device may replay its whole log.
      const { newest = event.id } = this.device.session.get(LOG_STATE);
      if (this.#bytes > MOST_BYTES && event.id < newest)
        this.device.undecided(`${wait.what}: more than the ${this.events.length} events before it are replayed`);
      this.device.must(this.#bytes <= MOST_BYTES, {
        expected: wait.what,
        actual: `${this.events.length} other events: ${showIds(this.events)}`,
      });
      return event;
    }
  }

  async #nextFrame(wait: EventWait): Promise<SseFrame> {
    const { what, probe } = wait;
    const started = performance.now();
    const waits = this.device.session.waits.device;
    // Sends the probe, which costs one event, after twice the wait for the slowest event: at least 400 ms, or 50 ms
    // once an event failed to come.
    const silenceMs = Math.max(waits.inVain('event') > 0 ? 50 : 400, 2 * waits.slowestMs('event'));
    const silence = probe && setTimeout(() => probe.send(), silenceMs);
    try {
      const frame = await this.#nextInTime(wait);
      // Records no success once an extra event was published, because that event may have caused this one.
      if (probe?.published === undefined) recordSuccess(this.device, wait.kind, performance.now() - started);
      return frame;
    } catch (error) {
      if (!(error instanceof StreamTimeout || error instanceof StreamEnded)) throw error;
      if (await this.#resume()) return this.#nextFrame(wait);
      this.device.must(false, {
        expected: `${what}, on an open stream`,
        actual: `${error.message}${this.events.length === 0 ? '' : `; events before it: ${showIds(this.events)}`}`,
      });
      throw error;
    } finally {
      clearTimeout(silence);
    }
  }

  /** Waits in short steps, because timeouts of other checks shorten the wait and bytes extend it. */
  async #nextInTime(wait: EventWait): Promise<SseFrame> {
    const { stream } = this;
    const started = performance.now();
    for (let { bytes } = stream; ; ) {
      const left = leftMs(this.device, wait);
      try {
        return await stream.next({ within: Math.max(0, Math.min(left, LOOK_MS)), for: wait.what });
      } catch (error) {
        if (!(error instanceof StreamTimeout)) throw error;
        if (stream.unfinished && stream.bytes > bytes) wait.patience.renew();
        ({ bytes } = stream);
        if (left > LOOK_MS || leftMs(this.device, wait) > 0) continue;
        if (wait.hurry === undefined && wait.patience.bound === 'endless')
          this.device.blocked(`${wait.what}: other events kept coming for ${LONGEST_MS / 1000} s`);
        recordTimeout(this.device, wait.kind);
        const { frames, comments } = stream;
        const ms = Math.round(performance.now() - started);
        const came = `${frames.length} frames, ${comments.length} comments, ${bytes} bytes`;
        throw new StreamTimeout(`nothing of the kind within ${ms} ms (${came} came)`);
      }
    }
  }

  /** Reopens after the last event read; ends the check as undecided if the log has dropped that event. */
  async expectCursor(): Promise<void> {
    await this.#reopen?.(this.events.at(-1)?.id);
  }

  /** Resumes a stream that the server ended or broke off; gives up if the last resumption brought no event. */
  async #resume(): Promise<boolean> {
    const { by } = this.stream.ended ?? {};
    const last = this.events.at(-1)?.id;
    const hasLeft = by === 'server' || by === 'error';
    if (!hasLeft || this.#reopen === undefined || this.events.length === this.#resumedAt) return false;
    const stream = await this.#reopen(last);
    if (stream === undefined) return false;
    this.#resumedAt = this.events.length;
    this.stream = stream;
    this.device.note('the device ended a stream that was still read; it was resumed from the last id');
    return true;
  }
}
