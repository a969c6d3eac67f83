/**
 * A stretch of the log about as long as what is retained, for what shows only there: caps on a replay, on what is loaded at a start.
 * A device may compact its log whenever it likes, and may end a stream that it has served for long; then the reader comes back.
 */
import { type EventStream, type OpenEvents, StreamEnded, StreamTimeout } from '../../../harness/client/sse.ts';
import type { Device } from './context.ts';
import { anchor, publish, room } from './drive.ts';
import { readEvent, type SeenEvent, sameEvents } from './events.ts';
import { patience, waitedInVain } from './patience.ts';
import { describeOpen, type Streams } from './streams.ts';

/** Known to follow each other without a gap: each was read by itself, soon after it was published. */
export interface Stock {
  /** The event before the first of them. */
  cursor: bigint;
  events: SeenEvent[];
}

const MOST = 1500;
const WHERE_UNKNOWN = 500;
const PORTION = 50;
/** A slow device is given fewer. */
const SECONDS = 6;
const ATTEMPTS = 4;

interface Reading {
  events: SeenEvent[];
  /** Why it does not reach to the end. */
  lacks: string | undefined;
  /** Its cursor, or that of a client that came back, is expired by now. */
  expired: boolean;
}

/** Reads on until `arrived`, for as long as something comes. Decides nothing. */
async function readOn(
  context: Device,
  streams: Streams,
  opened: EventStream,
  arrived: (event: SeenEvent) => boolean,
): Promise<Reading> {
  const events: SeenEvent[] = [];
  const lacking = (lacks: string, expired = false): Reading => ({ events, lacks, expired });
  for (let next = opened; ; ) {
    const stream = next;
    if (stream.status !== 200) return lacking(`GET /events is answered with ${stream.status}`, stream.status === 410);
    const before = events.length;
    try {
      for (;;) {
        const frame = await stream.next({ within: patience(context), for: 'the next event of a replay' });
        const event = readEvent(context, frame);
        if (event === undefined) continue;
        events.push(event);
        if (arrived(event)) return { events, lacks: undefined, expired: false };
      }
    } catch (error) {
      if (!(error instanceof StreamTimeout || error instanceof StreamEnded)) throw error;
      const newest = events.at(-1)?.id;
      if (error instanceof StreamTimeout) waitedInVain(context);
      if (error instanceof StreamTimeout || newest === undefined || events.length === before)
        return lacking(error.message);
      next = await streams.try({ after: newest });
    } finally {
      await stream.close();
    }
  }
}

/**
 * Publishes `wanted` events, or as many as the log certainly keeps; fewer on a slow device. Undefined when they were compacted
 * away at once.
 */
export async function stockUp(context: Device, streams: Streams, wanted = MOST): Promise<Stock | undefined> {
  const { cursor, live } = await anchor(context, streams);
  await live.close();
  const { retention } = context.info;
  const most = retention === undefined ? WHERE_UNKNOWN : Math.floor(retention * 0.9);
  const count = Math.min(wanted, most);
  const stock: Stock = { cursor, events: [] };
  const started = performance.now();
  while (stock.events.length < count && performance.now() - started < SECONDS * 1000) {
    const portion = Math.min(room(context, PORTION), count - stock.events.length);
    if (!(await extend(context, streams, stock, portion))) return undefined;
  }
  return stock;
}

/** Publishes more, and reads it, and whatever else has come since. False when that was compacted away at once. */
export async function extend(context: Device, streams: Streams, stock: Stock, count: number): Promise<boolean> {
  const after = stock.events.at(-1)?.id ?? stock.cursor;
  const stream = await streams.try({ after });
  const { last } = await publish(context, count);
  const { events, lacks, expired } = await readOn(context, streams, stream, ({ id }) => id >= last);
  if (expired) return false;
  context.must(lacks === undefined, { expected: `the events published up to ${last}, after ${after}`, actual: lacks });
  stock.events.push(...events);
  return true;
}

/** Whether a cursor is still served. */
async function served(streams: Streams, after: bigint): Promise<boolean> {
  const stream = await streams.try({ after, cutAfterBytes: 1 });
  await stream.close();
  return stream.status !== 410;
}

/** The earliest event of the stock that is served as a cursor; undefined when only the newest is, or none. */
export async function earliest(streams: Streams, { cursor, events }: Stock): Promise<bigint | undefined> {
  if (await served(streams, cursor)) return cursor;
  let expired = -1;
  let good = events.length - 1;
  while (good - expired > 1) {
    const middle = Math.floor((good + expired) / 2);
    if (await served(streams, events[middle]?.id ?? 0n)) good = middle;
    else expired = middle;
  }
  return good < events.length - 1 ? events[good]?.id : undefined;
}

/**
 * Judges the replay of a stock from as early as it is served. Nothing is judged when the log is compacted past the cursor
 * meanwhile, time and again. `when` ends the words that say what was opened.
 */
export async function judgeStock(
  context: Device,
  streams: Streams,
  stock: Stock,
  options: (cursor: bigint) => OpenEvents = (after) => ({ after }),
  when = '',
): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const cursor = await earliest(streams, stock);
    if (cursor === undefined) break;
    const opening = options(cursor);
    const stream = await streams.try(opening);
    if (await judgeReplay(context, streams, stock, { cursor, stream, what: `${describeOpen(opening)}${when}` })) return;
  }
  context.note('the log was compacted too soon for the replay of a long stretch of it to be judged');
}

/** The same for a stream that was opened with that cursor. False: it has expired since, and nothing was judged. */
export async function judgeReplay(
  context: Device,
  streams: Streams,
  stock: Stock,
  { cursor, stream, what }: { cursor: bigint; stream: EventStream; what: string },
): Promise<boolean> {
  const last = stock.events.at(-1)?.id ?? stock.cursor;
  const { events, lacks, expired } = await readOn(context, streams, stream, ({ id }) => id >= last);
  if (expired || !(await served(streams, cursor))) return false;
  const due = stock.events.filter(({ id }) => id > cursor);
  context.must(lacks === undefined || events.length > 0, {
    expected: `the replay of ${due.length} events for ${what}`,
    actual: lacks,
  });
  const came = events.filter(({ id }) => id <= last);
  sameEvents(context, came, due, what);
  return true;
}
