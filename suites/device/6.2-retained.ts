/** Section 6.2 without control: replays of retained events must agree. */
import fc from 'fast-check';
import { type EventStream, type OpenEvents, StreamEnded, StreamTimeout } from '../../harness/client/sse.ts';
import { EVENT_TYPES } from '../../harness/contract/enums.ts';
import { afterWins, header, types } from './4.1-events.ts';
import { complete, exclusive } from './6.2-replay.ts';
import { type Device, ignoring, RETAINED, RETAINED_REPLAY } from './support/check.ts';
import { CURSOR_REPEATED, HEADER_IGNORED, TYPES_IGNORED } from './support/deviations.ts';
import { distinct, eventsOf, expectSameEvents, expectSameIds, type SeenEvent, showIds } from './support/events.ts';
import { cursorIn, EXTENT, laterThan, sampleRetained } from './support/replays.ts';
import { isThrottled } from './support/requests.ts';
import { RETAINED_ONLY, section } from './support/section.ts';
import { describeAnswer, describeOpen, type Streams } from './support/streams.ts';
import { Subscription } from './support/subscription.ts';

export const { check, checks } = section({});

const COMPARED = 'compared replays';
const comparing = {
  ...RETAINED_ONLY,
  least: { [COMPARED]: 1 },
  orElse: 'a log that is not compacted meanwhile shows it',
} as const;

check(
  complete,
  { ...comparing, premises: RETAINED },
  // Drops the event at the cursor, which device.events.replay.exclusive judges.
  (t: Device, streams) =>
    expectReplayFromAnywhere(
      t,
      streams,
      (after) => ({ after }),
      (came, due, cursor, where) => expectSameEvents(t, laterThan(cursor, came), due, where),
    ),
);

check(header, { ...comparing, premises: RETAINED_REPLAY, deviation: HEADER_IGNORED }, (t, streams) =>
  expectReplayFromAnywhere(t, streams, (lastEventId) => ({ lastEventId })),
);

check(afterWins, { ...comparing, premises: ['device.events.header-cursor.retained'] }, (t, streams) =>
  expectReplayFromAnywhere(t, streams, (after, lastEventId) => ({ after, lastEventId })),
);

type Compare = (came: readonly SeenEvent[], due: readonly SeenEvent[], cursor: bigint, where: string) => void;

async function expectReplayFromAnywhere(
  t: Device,
  streams: Streams,
  openAt: (cursor: bigint, other: bigint) => OpenEvents,
  // Compares only ids, because device.events.replay.complete judges the content.
  expectSame: Compare = (came, due, _, where) => expectSameIds(t, came, due, where),
): Promise<void> {
  const events = await requireTwo(t, streams);
  const newest = events.at(-1)?.id ?? 0n;
  await expectServed(t, streams, newest, openAt(newest, newest)).then((stream) => stream?.close());
  // Includes the cursor 0 only if the device serves it, and the sample is the whole log.
  const zero = t.session.get(EXTENT)?.earliest === 0n && events.length < NEWEST ? [0n] : [];
  const others = fc.constantFrom(...zero, ...events.map(({ id }) => id));
  await t.property(
    fc.tuple(cursorIn(events, ...zero), others).filter(([cursor, other]) => cursor !== other),
    async ([cursor, other]) => {
      const opening = openAt(cursor, other);
      const came = await replayUpTo(t, streams, cursor, newest, opening);
      // Skips a replay after 0 that a compaction has shortened, because 0 may mean the earliest event.
      const isWhole = cursor > 0n || (await retainedEvents(t, streams))[0]?.id === events[0]?.id;
      if (came !== undefined && isWhole) expectSame(came, laterThan(cursor, events), cursor, describeOpen(opening));
    },
    {
      runs: 6 + zero.length,
      examples: zero.map((cursor): [[bigint, bigint]] => [[cursor, newest]]),
      describe: ([cursor, other]) => describeOpen(openAt(cursor, other)),
    },
  );
}

/** Number of newest events to replay; compaction removes them last. */
const NEWEST = 60;

async function retainedEvents(t: Device, streams: Streams): Promise<SeenEvent[]> {
  const sample = await sampleRetained(t, streams);
  return sample === undefined ? [] : distinct(eventsOf(t, sample.stream)).slice(-NEWEST);
}

async function requireTwo(t: Device, streams: Streams): Promise<SeenEvent[]> {
  const events = await retainedEvents(t, streams);
  if (events.length < 2) t.undecided('the device replays fewer than two events that it retained');
  return events;
}

async function expectServed(
  t: Device,
  streams: Streams,
  cursor: bigint,
  opening: OpenEvents,
): Promise<EventStream | undefined> {
  const stream = await streams.try(opening);
  if (stream.status === 200) return stream;
  const now = stream.status === 410 ? await retainedEvents(t, streams) : [];
  t.must(stream.status === 410 && !now.some(({ id }) => id <= cursor), {
    expected: `200 with an event stream for ${describeOpen(opening)}, whose cursor is a retained event`,
    actual: await describeAnswer(t, stream),
  });
  return undefined;
}

async function replayUpTo(
  t: Device,
  streams: Streams,
  cursor: bigint,
  last: bigint,
  opening: OpenEvents,
): Promise<SeenEvent[] | undefined> {
  const stream = await expectServed(t, streams, cursor, opening);
  if (stream === undefined) return undefined;
  const replay = new Subscription(t, stream);
  const came = await replay.drain(last);
  const { by } = replay.stream.ended ?? {};
  const brokeOff = !came.some(({ id }) => id >= last) && (by === 'server' || by === 'error');
  if (brokeOff && !(await retainedEvents(t, streams)).some(({ id }) => id <= cursor)) return undefined;
  t.saw(COMPARED);
  return came.filter(({ id }) => id <= last);
}

check(
  exclusive,
  { ...comparing, premises: ['device.events.replay.complete.retained'], deviation: CURSOR_REPEATED },
  async (t: Device, streams) => {
    const events = await requireTwo(t, streams);
    await t.property(
      cursorIn(events),
      async (after) => {
        const due = events.find(({ id }) => id > after)?.id ?? after;
        const came = await replayUpTo(t, streams, after, due, { after });
        if (came === undefined) return;
        t.must(came[0]?.id === due, {
          expected: `event ${due}, the first retained after ${after}`,
          actual: came[0] === undefined ? 'nothing up to it' : `event ${came[0].id}`,
        });
      },
      { runs: 6, describe: (after) => `after=${after}` },
    );
  },
);

check(exclusive, { aspect: 'future.retained', turn: 'last', premises: RETAINED_REPLAY }, async (t: Device, streams) => {
  const newest = (await retainedEvents(t, streams)).at(-1)?.id;
  if (newest === undefined) return t.undecided('the device replays no event that it retained');
  const after = newest + 2n ** 40n;
  const stream = await streams.try({ after });
  const none = { frames: 0, comments: Number.POSITIVE_INFINITY };
  // Waits up to half a second, because a busy device starts a replay late.
  const wait = { within: 500, atMost: 500, for: 'a replay' };
  await stream.activity(none, wait).catch(ignoring(StreamTimeout, StreamEnded));
  await stream.idle(150, { within: t.patienceMs, for: 'the end of a replay' });
  if (stream.status !== 200) return;
  const old = eventsOf(t, stream).filter(({ id }) => id <= newest);
  t.must(old.length === 0, {
    expected:
      `no event of the past for after=${after}, which lies beyond the newest event ${newest}: replay holds ` +
      'events after the cursor',
    actual: `the replay of ${showIds(old)}`,
  });
});

check(
  types,
  { ...comparing, premises: ['device.events.header-cursor.retained'], deviation: TYPES_IGNORED },
  async (t: Device, streams) => {
    const [first, ...later] = await requireTwo(t, streams);
    const cursor = first?.id ?? 0n;
    const present = [...new Set(later.map(({ type }) => type))];
    const openBy = (way: string, listed: readonly string[]): OpenEvents => ({ [way]: cursor, types: listed });
    await t.property(
      fc.tuple(fc.subarray(present, { minLength: 1 }), fc.constantFrom('after', 'lastEventId')),
      async ([listed, way]) => {
        const opening = openBy(way, listed);
        const due = later.filter(({ type }) => listed.includes(type));
        const came = await replayUpTo(t, streams, cursor, due.at(-1)?.id ?? cursor, opening);
        if (came !== undefined) expectSameIds(t, came, due, describeOpen(opening));
      },
      { runs: 6, describe: ([listed, way]) => describeOpen(openBy(way, listed)) },
    );
    const absent = EVENT_TYPES.find((type) => !present.includes(type));
    if (absent === undefined) return;
    const opening = { after: cursor, types: [absent] };
    const stream = await streams.try(opening);
    t.must(stream.status < 500 || isThrottled(stream), {
      expected: `an event stream for ${describeOpen(opening)}`,
      actual: stream.status,
    });
    await stream.idle(250, { within: t.patienceMs, for: 'the end of a replay' });
    const unlisted = eventsOf(t, stream).filter(({ type }) => type !== absent);
    t.must(unlisted.length === 0, {
      expected: `no event of another type than ${absent}, the only one that is listed`,
      actual: `the events ${showIds(unlisted)}`,
    });
  },
);
