/** Sections 4.1 and 6.2: replays, and the change from replay to live events. */
import type { OpenEvents } from '../../harness/client/sse.ts';
import { parseObject } from '../../harness/common/lenient.ts';
import { instantOf } from '../../harness/contract/shape.ts';
import type { Judge, Sighting } from '../../harness/runner/rules.ts';
import { byOracle } from './oracle/explore.ts';
import { type Device, EVENTS, LIVE, REPLAY } from './support/check.ts';
import { CURSOR_REPEATED } from './support/deviations.ts';
import { countWithin, eventBudget, publish, publishUnread, readUpTo, subscribeAtKnownCursor } from './support/drive.ts';
import {
  DECIMAL,
  expectSameEvents,
  frameText,
  LONGEST_REMEMBERED,
  otherThanBefore,
  Recollection,
  sameEnvelope,
  showIds,
} from './support/events.ts';
import {
  cursorIn,
  expectReplay,
  expectStretchReplayed,
  extendStretch,
  fillLog,
  firstLiveEvent,
  laterThan,
  type Recording,
  record,
} from './support/replays.ts';
import { OPEN_STREAMS, servesFew } from './support/requests.ts';
import { eventsAfter, mostEvents, requireRoomFor } from './support/retention.ts';
import { PUBLISHING, section } from './support/section.ts';
import { describeOpen, type Streams } from './support/streams.ts';
import type { Subscription } from './support/subscription.ts';

export const { requirement, check, rule, checks } = section({ level: 'MUST', section: '6.2', since: '2026-11-21' });

const CORE = { ...PUBLISHING, profile: 'core' } as const;

export const exclusive = requirement({
  id: 'device.events.replay.exclusive',
  clause: 'Replay after a cursor is exclusive of the cursor, then live events follow.',
  text: 'Replay after a cursor starts with the first retained event after it; the cursor itself is not repeated.',
});
check(
  exclusive,
  { ...CORE, premises: ['device.events.replay.complete'], deviation: CURSOR_REPEATED, least: { events: 2, inputs: 1 } },
  async (t: Device, streams) => {
    const recording = await record(t, streams, 12);
    await t.property(
      cursorIn(recording.all, recording.cursor),
      async (cursor) => {
        const replay = await streams.open({ after: cursor });
        const first = await replay.next(`the first event after ${cursor}`);
        const [due] = laterThan(cursor, recording.all);
        t.must(first.id === due?.id, {
          expected: `event ${due?.id}, the first retained after ${cursor}`,
          actual: `event ${first.id}`,
        });
        await replay.close();
      },
      { runs: 12, describe: (cursor) => `after=${cursor}` },
    );
  },
);

export const complete = requirement({
  id: 'device.events.replay.complete',
  section: '4.1',
  clause: 'replay starts with retained events after this id (exclusive), then live events follow',
  text:
    'Replay holds every retained event after the cursor, in order, none missing, none invented, ' +
    'each as it was sent before.',
});
check(complete, { ...CORE, premises: EVENTS, least: { events: 3 } }, async (t: Device, streams) => {
  const recording = await record(t, streams, 60);
  expectAllPublished(t, recording);
  await t.property(
    cursorIn(recording.all, recording.cursor),
    async (cursor) => {
      const replay = await streams.open({ after: cursor });
      const came = laterThan(cursor, await readUpTo(replay, recording.published));
      expectSameEvents(t, came, laterThan(cursor, recording.all), describeOpen({ after: cursor }));
      await replay.close();
    },
    { runs: 12, describe: (cursor) => `after=${cursor}` },
  );
});

rule(complete, { premises: [complete.id], traffic: 'an event that comes again on another stream' }, () => {
  const known = new Recollection<{ stream: object; type: string; text: string; sighting: Sighting }>();
  return (seen, judge: Judge) => {
    if (seen.kind !== 'frame') return;
    const { id = '', event: type = 'message', data: text } = seen.frame;
    if (!DECIMAL.test(id) || text === undefined || text.length > LONGEST_REMEMBERED) return;
    const kept = known.get(id);
    // Forgets all events if an id comes with another time: in watched traffic, a newly installed agent reuses ids.
    const isOther = kept !== undefined && kept.stream !== seen.stream && whenOf(kept.text) !== whenOf(text);
    const isAnew = seen.request !== undefined && isOther;
    if (isAnew) known.clear();
    const before = isAnew ? undefined : kept;
    if (before === undefined) {
      const sighting = judge.saw(() => `id: ${id}\nevent: ${type}\ndata: ${text.replaceAll('\n', '\ndata: ')}\n\n`);
      known.set(id, { type, text, stream: seen.stream, sighting });
      return;
    }
    judge.saw(() => frameText(seen.frame));
    const isSame = before.text === text || sameEnvelope(parseObject(before.text), parseObject(text));
    judge.agrees(before.type === type && isSame, before.sighting, otherThanBefore(before, { id, type, text }));
  };
});

function whenOf(text: string): unknown {
  const when = parseObject(text)?.['occurred_at'];
  return typeof when === 'string' ? instantOf(when) || when : when;
}

function expectAllPublished(t: Device, { all, cursor, published: { first, last, count } }: Recording): void {
  const came = all.filter(({ id }) => id >= first && id <= last);
  const inOrder = all.every(({ id }, index) => id > (all[index - 1]?.id ?? cursor));
  const asked = describeOpen({ after: cursor });
  t.must(came.length >= count && inOrder, {
    expected: `the ${count} events published from ${first} to ${last}, in order, for ${asked}`,
    actual: showIds(all),
  });
}

byOracle(check, complete, { aspect: 'zero', least: 'cursors of zero' });

const live = requirement({
  id: 'device.events.replay.live',
  clause: 'Replay after a cursor is exclusive of the cursor, then live events follow.',
  text: 'Live events follow the replay on the same connection.',
});
check(live, { ...CORE, premises: REPLAY, least: { events: 3 } }, async (t: Device, streams) => {
  const { cursor, published } = await record(t, streams, 5);
  const replay = await streams.open({ after: cursor });
  await readUpTo(replay, published);
  await firstLiveEvent(t, replay);
  for (let round = 0; round < t.session.rounds(3); round += 1) await readUpTo(replay, await publish(t, 1));
});

// Runs alone, because a device may end a stream in favour of another one.
check(
  live,
  { aspect: 'same-stream', needs: ['drive'], sharing: 'disruptive', premises: [live.id], least: { events: 2 } },
  async (t: Device, streams) => {
    requireRoomFor(t, 1);
    for (let opened = 0; opened < FRESH_STREAMS; opened += 1) {
      const { last: after } = await publishUnread(t, 1);
      const published = await publishUnread(t, 1);
      const replay = await streams.open({ after });
      const { stream } = replay;
      await readUpTo(replay, published);
      await firstLiveEvent(t, replay);
      await replay.close();
      const openMs = (stream.ended?.at ?? 0) - stream.openedAt;
      // Accepts a stream that stayed open past two heartbeats, because a slow control may publish after its end.
      if (replay.stream === stream || openMs > 2000 * t.heartbeatSeconds) return;
    }
    t.must(false, {
      expected: `a live event after a replay, on the same stream, at least once in ${FRESH_STREAMS} times`,
      actual: 'each stream ended after its replay, and the live event came on the next one',
    });
  },
);

/** Streams to try until a live event follows a replay on the same one, because a device may end any single one. */
const FRESH_STREAMS = 3;

// Publishes while no stream is open, because an agent may wrongly store only events that it sends.
check(
  complete,
  { aspect: 'unheard', needs: ['drive'], sharing: 'disruptive', premises: REPLAY },
  async (t: Device, streams) => expectAllPublished(t, await record(t, streams, 5)),
);

byOracle(check, exclusive, { aspect: 'future', least: 'streams by future' });
byOracle(check, complete, { aspect: 'sequences' });
byOracle(check, complete, { aspect: 'unchanged', profile: 'core' });
byOracle(check, complete, { aspect: 'histories', needs: ['compact', 'restart'], least: 'restarts survived' });

const seam = requirement({
  id: 'device.events.replay.seam',
  clause: 'Replay after a cursor is exclusive of the cursor, then live events follow.',
  text: 'No event is lost between replay and live while events are being published.',
});
check(seam, { ...CORE, premises: ['device.events.replay.live'], least: { events: 5 } }, async (t: Device, streams) => {
  requireRoomFor(t, 1);
  const { cursor, live } = await subscribeAtKnownCursor(t, streams);
  // Half of a small log stays free for events published while streams open.
  const before = Math.floor(Math.min(eventBudget(t, 10), mostEvents(t) / 2));
  if (before > 0) await readUpTo(live, await publish(t, before));
  const opened = await openWhilePublishing(t, streams, cursor);
  const end = await publish(t, 1);
  await readUpTo(live, end);
  if (opened.length === 0) t.notApplicable(servesFew(t.session.get(OPEN_STREAMS).most));
  for (const subscription of opened) {
    await readUpTo(subscription, end);
    const what = `${describeOpen({ after: cursor })}, opened while events were published`;
    expectSameEvents(t, subscription.events, laterThan(cursor, live.events), what);
  }
});

/** Opens streams while events are published, so that each changes to live at another moment. */
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
  publisher.catch(() => {});
  try {
    const started = performance.now();
    const most = countWithin(24, t.session.typicalMs('event') * rest, 6000);
    for (let round = 0; round < most && rest > 0 && performance.now() - started < 3000; round += 1) {
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
byOracle(check, atLeastOnce, { profile: 'core', least: 'clients that were cut off' });
byOracle(check, seam, { aspect: 'oracle', least: 'replays into bursts' });

const TOO_SOON = 'the log is compacted as soon as it is filled';
const WHOLE = {
  ...PUBLISHING,
  aspect: 'whole',
  least: { 'compared replays': 1 },
  orElse: 'a log that is compacted less often shows whether a long replay is whole',
} as const;

check(complete, { ...WHOLE, premises: LIVE }, async (t: Device, streams) => {
  const stretch = await fillLog(t, streams);
  if (stretch === undefined) return t.undecided(TOO_SOON);
  t.note(`replays of up to ${stretch.events.length} events were compared`);
  await expectStretchReplayed(t, streams, stretch);
  await expectStretchReplayed(t, streams, stretch, (lastEventId) => ({ lastEventId }));
  // Starts at the last id with fewer digits too, because ids sorted as text are out of order there.
  const digits = String(stretch.events.at(-1)?.id).length;
  const below = stretch.events.findLastIndex(({ id }) => String(id).length < digits);
  const cursor = stretch.events[below]?.id;
  if (cursor !== undefined)
    await expectStretchReplayed(t, streams, { cursor, events: stretch.events.slice(below + 1) });
});

check(seam, { ...WHOLE, premises: ['device.events.replay.complete.whole'] }, async (t: Device, streams) => {
  const { retention = ASSUMED_RETENTION } = t.info;
  const stretch = await fillLog(t, streams, Math.min(SEAM_EVENTS, retention / 4));
  if (stretch === undefined) return t.undecided(TOO_SOON);
  const { cursor } = stretch;
  const portion = Math.ceil(eventBudget(t, SEAM_PUBLISHED) / SEAM_STREAMS);
  const rounds = Math.max(2, t.session.rounds(SEAM_STREAMS));
  for (let round = 0; round < rounds; round += 1) {
    const opening: OpenEvents = round % 2 === 0 ? { after: cursor } : { lastEventId: cursor };
    const publishing = (async () => {
      for (let at = 0; at < portion; at += 1) await publish(t, 1);
    })();
    publishing.catch(() => {});
    const stream = await streams.try(opening);
    await publishing;
    const what = `${describeOpen(opening)}, opened while events were published`;
    const compared =
      (await extendStretch(t, streams, stretch, 1)) &&
      (await expectReplay(t, streams, stretch, { cursor, stream, what }));
    if (!compared) return t.note(TOO_SOON);
  }
});

/** Maximum number of events to replay; many, because a short replay may end before the check publishes events. */
const SEAM_EVENTS = 400;
const SEAM_STREAMS = 6;
const SEAM_PUBLISHED = 60;
const ASSUMED_RETENTION = 600;
