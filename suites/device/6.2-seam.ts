/** Section 6.2, rules 1 and 2: no event is lost between replay and live, or between one connection and the next. */
import { byOracle } from './oracle/checks.ts';
import type { Device } from './support/check.ts';
import { countWithin, eventBudget, publish, readUpTo, subscribeAtKnownCursor } from './support/drive.ts';
import { expectSameEvents } from './support/events.ts';
import { laterThan } from './support/replays.ts';
import { eventsAfter, mostEvents, requireRoomFor } from './support/retention.ts';
import { section } from './support/section.ts';
import { describeOpen, type Streams } from './support/streams.ts';
import type { Subscription } from './support/subscription.ts';

export const { requirement, check, checks } = section({ level: 'MUST', section: '6.2', since: '2026-11-21' });

export const seam = requirement({
  id: 'device.events.replay.seam',
  clause: 'Replay after a cursor is exclusive of the cursor, then live events follow.',
  text: 'No event is lost between replay and live while events are being published.',
});
check(
  seam,
  {
    needs: ['drive'],
    sharing: 'publishing',
    profile: 'core',
    premises: ['device.events.replay.live'],
    least: { events: 5 },
  },
  async (t: Device, streams) => {
    requireRoomFor(t, 1);
    const { cursor, live } = await subscribeAtKnownCursor(t, streams);
    // Keeps half of a small log free for events published while streams open.
    const before = Math.floor(Math.min(eventBudget(t, 10), mostEvents(t) / 2));
    if (before > 0) await readUpTo(live, await publish(t, before));
    const opened = await openWhilePublishing(t, streams, cursor);
    const end = await publish(t, 1);
    await readUpTo(live, end);
    for (const subscription of opened) {
      await readUpTo(subscription, end);
      const what = `${describeOpen({ after: cursor })}, opened while events were published`;
      expectSameEvents(t, subscription.events, laterThan(cursor, live.events), what);
    }
  },
);

const OPENING_MS = 3000;
const MOST_STREAMS = 24;
const STREAMS_MS = 6000;

/** Opens streams while events are published, so each switches from replay to live at a different moment. */
async function openWhilePublishing(t: Device, streams: Streams, cursor: bigint): Promise<Subscription[]> {
  const opened: Subscription[] = [];
  let goesOn = true;
  let rest = Math.max(1, Math.min(eventBudget(t, 300), mostEvents(t) - eventsAfter(t, cursor)));
  const publisher = (async () => {
    while (goesOn && rest > 0) {
      const portion = Math.min(rest, 3);
      await publish(t, portion);
      rest -= portion;
    }
  })();
  // The promise is awaited later; until then, a failure must not count as an unhandled rejection.
  publisher.catch(() => {});
  try {
    const started = performance.now();
    const most = countWithin(MOST_STREAMS, t.session.typicalMs('event') * rest, STREAMS_MS);
    for (let round = 0; round < most && rest > 0 && performance.now() - started < OPENING_MS; round += 1) {
      const one = await streams.openAnother(round % 2 === 0 ? { after: cursor } : { lastEventId: cursor });
      if (one === undefined) break;
      opened.push(one);
    }
  } finally {
    goesOn = false;
  }
  await publisher;
  return opened;
}

const atLeastOnce = requirement({
  id: 'device.events.at-least-once',
  clause: 'Delivery is at-least-once; after a reconnection the replay window may repeat events already seen.',
  text: 'A client that is cut off at any byte and reconnects from the last whole frame gets every event at least once.',
});
check(atLeastOnce, ...byOracle(atLeastOnce, { isAlone: true, profile: 'core', least: 'clients that were cut off' }));

check(seam, ...byOracle(seam, { least: 'replays into bursts' }));
