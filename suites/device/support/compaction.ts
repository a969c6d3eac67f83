/** Getting events compacted away, so that there are cursors that are certainly expired. */
import type { Device } from './context.ts';
import { anchor, compact, follow, type Published, publish, room } from './drive.ts';
import type { Streams } from './streams.ts';

export interface Compacted {
  /** Ids of events that are gone and had gone events after them: cursors older than the earliest retained event, however that is read. */
  lost: bigint[];
  /** The earliest event that is retained: there is one. */
  earliest: bigint;
  latest: bigint;
}

/** Enough for any log that is bounded in earnest, where the limit is not known. */
const MOST_EVENTS = 50_000;
const TIMES_THE_LIMIT = 3;

/** An error there is one by a few. */
const NEAR_THE_BOUNDARY = [4n, 3n, 2n];

/** Ids right before the boundary that events certainly had: known when the ids of a batch leave no gap, and it reaches across. */
function justLost({ first, last, count }: Published, earliest: bigint): bigint[] {
  if (last - first + 1n !== BigInt(count) || earliest > last) return [];
  return NEAR_THE_BOUNDARY.map((distance) => earliest - distance).filter((id) => id >= first);
}

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
    const filling = await publish(context, batch);
    published += batch;
    const { earliest, latest } = await compact(context);
    const gone = seen.filter((id) => id < earliest);
    if (gone.length <= 1) continue;
    // The last that is gone may be the one just before the earliest: nothing was lost after it, so it may be served.
    const lost = [...gone.slice(0, -1), ...justLost(filling, earliest)];
    if (earliest <= latest) return { lost, earliest, latest };
    // A log may be compacted to nothing; then the next event is the earliest that it retains.
    const { last } = await publish(context, 1);
    return { lost, earliest: last, latest: last };
  }
  return context.blocked(`compaction removed none of the oldest events, though ${most} more were published`);
}
