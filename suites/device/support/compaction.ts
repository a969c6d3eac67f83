/** Compacts the log, and events that were seen away. */
import { TELLING_BATCH } from '../../../harness/runner/session.ts';
import { type Device, relocate } from './check.ts';
import { eventBudget, type Published, publish, publishUnread, readUpTo, subscribeAtKnownCursor } from './drive.ts';
import { eventsOf } from './events.ts';
import { sampleRetained } from './sample.ts';
import type { Streams } from './streams.ts';

/**
 * Compacts the log. `earliest` is the first id that is retained, `latest` the newest; no event is retained if it is
 * above that.
 */
export async function compact(t: Device): Promise<{ earliest: bigint; latest: bigint }> {
  const { earliest_id, latest_id } = await t.control.compact();
  if (t.info.compact_restarts === true) await relocate(t);
  return { earliest: BigInt(earliest_id), latest: BigInt(latest_id) };
}

export interface Compacted {
  /**
   * Ids of events that are gone, each with a later one that is gone too: older than the earliest retained event in
   * every reading.
   */
  lost: bigint[];
  /** The earliest event that is retained: there is one. */
  earliest: bigint;
}

/** More than any log keeps whose size is bounded, where the limit is not known. */
const MOST_EVENTS = 50_000;
const TIMES_THE_LIMIT = 3;
/** Milliseconds in which a batch is published that is to make the oldest events go. */
const FILLING_MS = 120_000;
/** In which a few are published, to learn what each takes. */
const TELLING_MS = 20_000;
/** A log that keeps more, or nobody knows how many, is not filled: its oldest events are the first to go. */
const LONG_LOG = 2000;
const FIRST_BATCH_OF_LONG_LOG = 100;
/** Some of the oldest events. */
const OLDEST_BYTES = 10_000;

/**
 * Publishes and compacts until events that were seen are no longer retained. Blocked when compaction does not remove
 * them. Where events are published slowly, compaction comes first: it may remove enough.
 */
export async function compactAway(t: Device, streams: Streams): Promise<Compacted> {
  const { cursor, live } = await subscribeAtKnownCursor(t, streams);
  await readUpTo(live, await publish(t, Math.max(3, eventBudget(t, 20))));
  await live.close();
  const { retention = Number.POSITIVE_INFINITY } = t.info;
  const isLong = retention > LONG_LOG;
  const oldest = isLong ? await sampleRetained(t, streams, OLDEST_BYTES) : undefined;
  const old = oldest === undefined ? [] : eventsOf(t, oldest.stream).map(({ id }) => id);
  const seen = [...old, cursor, ...live.events.map(({ id }) => id)];
  const most = Number.isFinite(retention) ? TIMES_THE_LIMIT * retention : MOST_EVENTS;
  const enough = (isLong ? FIRST_BATCH_OF_LONG_LOG : retention) + 1;
  let batch = t.session.isSlow('publish') ? 0 : enough;
  for (let published = 0; published < most; batch = Math.max(enough, 2 * batch)) {
    let takesMs = batch * t.session.typicalMs('publish');
    // Single events may have had to wait: some at once tell what each of many takes.
    const isTold = t.session.knowsBatches || TELLING_BATCH * t.session.typicalMs('publish') > TELLING_MS;
    if (takesMs > FILLING_MS && !isTold) {
      await publishUnread(t, TELLING_BATCH);
      published += TELLING_BATCH;
      takesMs = batch * t.session.typicalMs('publish');
    }
    if (takesMs > FILLING_MS) {
      const asked = `${batch} more, which take ${Math.round(takesMs / 1000)} s,`;
      return t.blocked(`compaction removed none of the oldest events, and ${asked} were not published`);
    }
    const filling = batch === 0 ? undefined : await publishUnread(t, batch);
    published += batch;
    const { earliest, latest } = await compact(t);
    if (t.info.compact_restarts === true) streams.use(t.http);
    const gone = seen.filter((id) => id < earliest);
    if (gone.length <= 1) continue;
    // The last one may lie just before the earliest: a device may serve it as a cursor, since no event after it is
    // lost.
    const lost = [...gone.slice(0, -1), ...(filling === undefined ? [] : lostNearBoundary(filling, earliest))];
    // A log may be compacted to nothing; then the next event is the earliest that it retains.
    return { lost, earliest: earliest <= latest ? earliest : (await publish(t, 1)).last };
  }
  return t.blocked(`compaction removed none of the oldest events, though ${most} more were published`);
}

/** An implementation that is off by a few is wrong here. */
const NEAR_THE_BOUNDARY = [4n, 3n, 2n];

/** Ids just before the boundary that were certainly events, because the ids of the batch across it leave no gap. */
function lostNearBoundary({ first, last, count }: Published, earliest: bigint): bigint[] {
  if (last - first + 1n !== BigInt(count) || earliest > last) return [];
  return NEAR_THE_BOUNDARY.map((distance) => earliest - distance).filter((id) => id >= first);
}
