/** Section 6.2: replays of nearly the whole log, which reveal a limit on the length of a replay. */
import type { OpenEvents } from '../../harness/client/sse.ts';
import { complete } from './6.2-replay.ts';
import { seam } from './6.2-seam.ts';
import { type Device, LIVE } from './support/check.ts';
import { eventBudget, publish } from './support/drive.ts';
import { expectReplay, expectStretchReplayed, extendStretch, fillLog } from './support/replays.ts';
import { section } from './support/section.ts';
import { describeOpen } from './support/streams.ts';

export const { check, checks } = section({});

const TOO_SOON = 'the log is compacted as soon as it is filled';

const completeWholeCheck = check(
  complete,
  { aspect: 'whole', needs: ['drive'], sharing: 'publishing', premises: LIVE },
  async (t: Device, streams) => {
    const stretch = await fillLog(t, streams);
    if (stretch === undefined) return t.undecided(TOO_SOON);
    t.note(`replays of up to ${stretch.events.length} events were compared`);
    await expectStretchReplayed(t, streams, stretch);
    await expectStretchReplayed(t, streams, stretch, (lastEventId) => ({ lastEventId }));
    // Replays from the last id with fewer digits too, because ids sorted as text are out of order there.
    const digits = String(stretch.events.at(-1)?.id).length;
    const below = stretch.events.findLastIndex(({ id }) => String(id).length < digits);
    const cursor = stretch.events[below]?.id;
    if (cursor !== undefined)
      await expectStretchReplayed(t, streams, { cursor, events: stretch.events.slice(below + 1) });
  },
);

check(
  seam,
  { aspect: 'whole', needs: ['drive'], sharing: 'publishing', premises: [completeWholeCheck.id] },
  async (t: Device, streams) => {
    const { retention = ASSUMED_RETENTION } = t.info;
    const stretch = await fillLog(t, streams, Math.min(SEAM_EVENTS, retention / 2));
    if (stretch === undefined) return t.undecided(TOO_SOON);
    const { cursor } = stretch;
    const portion = Math.ceil(eventBudget(t, SEAM_PUBLISHED) / SEAM_STREAMS);
    const rounds = Math.max(2, t.session.rounds(SEAM_STREAMS));
    for (let round = 0; round < rounds; round += 1) {
      const opening: OpenEvents = round % 2 === 0 ? { after: cursor } : { lastEventId: cursor };
      const publishing = publishOneByOne(t, portion);
      // The promise is awaited later; until then, a failure must not count as an unhandled rejection.
      publishing.catch(() => {});
      const stream = await streams.try(opening);
      await publishing;
      const what = `${describeOpen(opening)}, opened while events were published`;
      const compared =
        (await extendStretch(t, streams, stretch, 1)) &&
        (await expectReplay(t, streams, stretch, { cursor, stream, what }));
      if (!compared) return t.note(TOO_SOON);
    }
  },
);

/** Maximum number of events to replay; a shorter replay may end before the check publishes more events. */
const SEAM_EVENTS = 400;
const SEAM_STREAMS = 6;
const SEAM_PUBLISHED = 60;
const ASSUMED_RETENTION = 300;

async function publishOneByOne(t: Device, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) await publish(t, 1);
}
