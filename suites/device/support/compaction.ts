/** Getting events compacted away, so that there are cursors that are certainly expired. */
import type { Device } from './context.ts';
import { anchor, follow, publish, room } from './drive.ts';
import type { Streams } from './streams.ts';

export interface Compacted {
  /** Ids of events that are gone and had gone events after them: cursors older than the earliest retained event, however that is read. */
  lost: bigint[];
  earliest: bigint;
  latest: bigint;
}

/** Enough for any log that is bounded in earnest, where the limit is not known. */
const MOST_EVENTS = 50_000;
const TIMES_THE_LIMIT = 3;

/** Publishes and compacts until events that were seen are no longer retained. Blocked when that can't be had. */
export async function compactAway(context: Device, streams: Streams): Promise<Compacted> {
  const { cursor, live } = await anchor(context, streams);
  await follow(live, await publish(context, Math.max(3, room(context, 20))));
  const seen = [cursor, ...live.events.map(({ id }) => id)];
  await live.close();
  const { retention } = context.info;
  const most = retention === undefined ? MOST_EVENTS : TIMES_THE_LIMIT * retention;
  let batch = (retention ?? 100) + 1;
  for (let published = 0; published < most; batch *= 2) {
    await publish(context, batch);
    published += batch;
    const { earliest_id, latest_id } = await context.control.compact();
    const earliest = BigInt(earliest_id);
    const gone = seen.filter((id) => id < earliest);
    // The last that is gone may be the one just before the earliest: nothing was lost after it, so it may be served.
    if (gone.length > 1) return { lost: gone.slice(0, -1), earliest, latest: BigInt(latest_id) };
  }
  return context.blocked(`compaction removed none of the oldest events, though ${most} more were published`);
}
