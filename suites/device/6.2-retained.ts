/** Section 6.2 for a black box: replays of the events that the device has retained, compared with each other. */
import fc from 'fast-check';
import { type EventStream, type OpenEvents, StreamEnded, StreamTimeout } from '../../harness/client/sse.ts';
import { afterWins, header } from './4.1-header.ts';
import { types } from './4.1-types.ts';
import { complete, exclusive, expectNothingReplayed, QUIET_MS } from './6.2-replay.ts';
import { type Device, RETAINED, RETAINED_REPLAY } from './support/check.ts';
import { CURSOR_REPEATED, HEADER_IGNORED, TYPES_IGNORED } from './support/deviations.ts';
import { distinct, eventsOf, expectSameEvents, expectSameIds, type SeenEvent } from './support/events.ts';
import { laterThan } from './support/replays.ts';
import { sampleRetained } from './support/sample.ts';
import { section } from './support/section.ts';
import { describeAnswer, describeOpen, type Streams, withStreams } from './support/streams.ts';
import { Subscription } from './support/subscription.ts';

export const { check, checks } = section({});

const COMPARED = 'compared replays';
/** A replay of what is compacted away meanwhile is compared with nothing. */
const comparing = {
  aspect: 'retained',
  turn: 'last',
  profile: 'core',
  least: { [COMPARED]: 1 },
  orElse: 'a log that is not compacted meanwhile shows it',
} as const;

check(
  complete,
  { ...comparing, premises: RETAINED },
  // Whether the cursor is repeated is a requirement of its own.
  (t: Device) =>
    expectReplayFromAnywhere(
      t,
      (after) => ({ after }),
      (came, due, cursor, where) => expectSameEvents(t, laterThan(cursor, came), due, where),
    ),
);

check(header, { ...comparing, premises: RETAINED_REPLAY, deviation: HEADER_IGNORED }, (t) =>
  expectReplayFromAnywhere(t, (lastEventId) => ({ lastEventId })),
);

check(afterWins, { ...comparing, premises: ['device.events.header-cursor.retained'] }, (t: Device) =>
  expectReplayFromAnywhere(t, (after, lastEventId) => ({ after, lastEventId })),
);

type Compare = (came: readonly SeenEvent[], due: readonly SeenEvent[], cursor: bigint, where: string) => void;

/** A replay from any retained event holds all later ones. `openAt` may use the id of another retained event. */
function expectReplayFromAnywhere(
  t: Device,
  openAt: (cursor: bigint, other: bigint) => OpenEvents,
  // Whether events are as they were sent is a requirement of its own too.
  expectSame: Compare = (came, due, _, where) => expectSameIds(t, came, due, where),
): Promise<void> {
  return withStreams(t, async (streams) => {
    const events = await requireTwo(t, streams);
    const newest = events.at(-1)?.id ?? 0n;
    await t.property(
      fc.tuple(cursorIn(events), cursorIn(events)),
      async ([cursor, other]) => {
        const opening = openAt(cursor, other);
        const came = await replayUpTo(t, streams, cursor, newest, opening);
        if (came !== undefined) expectSame(came, laterThan(cursor, events), cursor, describeOpen(opening));
      },
      { runs: 6, describe: ([cursor, other]) => describeOpen(openAt(cursor, other)) },
    );
  });
}

/** Of a long log the newest events are enough, and compaction is least likely to remove them meanwhile. */
const NEWEST = 60;

async function retainedEvents(t: Device, streams: Streams): Promise<SeenEvent[]> {
  const sample = await sampleRetained(t, streams);
  // A device may serve few streams at once, and the next ones are of this check.
  await sample?.close();
  return sample === undefined ? [] : distinct(eventsOf(t, sample.stream)).slice(-NEWEST);
}

async function requireTwo(t: Device, streams: Streams): Promise<SeenEvent[]> {
  const events = await retainedEvents(t, streams);
  if (events.length < 2) t.undecided('the device replays fewer than two events that it retained');
  return events;
}

/** The id of an event with at least one after it. */
const cursorIn = (events: readonly SeenEvent[]): fc.Arbitrary<bigint> =>
  fc.constantFrom(...events.slice(0, -1).map(({ id }) => id));

/**
 * The replay up to `last`. Undefined when the log was compacted past the cursor meanwhile, so that nothing can be
 * compared.
 */
async function replayUpTo(
  t: Device,
  streams: Streams,
  cursor: bigint,
  last: bigint,
  opening: OpenEvents,
): Promise<SeenEvent[] | undefined> {
  const replay = await openReplay(t, streams, cursor, opening);
  if (replay === undefined) return undefined;
  const came = await replay.drain(last);
  // A device may end a stream whose cursor has expired: the client comes back and gets 410.
  const { by } = replay.stream.ended ?? {};
  const brokeOff = !came.some(({ id }) => id >= last) && (by === 'server' || by === 'error');
  if (brokeOff && !(await retainedEvents(t, streams)).some(({ id }) => id <= cursor)) return undefined;
  t.saw(COMPARED);
  return came.filter(({ id }) => id <= last);
}

/** Undefined when the event at the cursor has been compacted away meanwhile. */
async function openReplay(
  t: Device,
  streams: Streams,
  cursor: bigint,
  opening: OpenEvents,
): Promise<Subscription | undefined> {
  const stream = await streams.try(opening);
  if (stream.status === 200) return new Subscription(t, stream);
  const now = stream.status === 410 ? await retainedEvents(t, streams) : [];
  t.must(stream.status === 410 && !now.some(({ id }) => id <= cursor), {
    expected: `200 with an event stream for ${describeOpen(opening)}, whose cursor is a retained event`,
    actual: await describeAnswer(t, stream),
  });
  return undefined;
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
  await firstFrame(stream);
  await stream.idle(QUIET_MS, { within: t.patienceMs, for: 'the end of a replay' });
  expectNothingReplayed(t, stream, newest, after);
});

/** A busy device takes a moment to begin a replay. */
const BEGINS_MS = 500;

async function firstFrame(stream: EventStream): Promise<void> {
  const none = { frames: 0, comments: Number.POSITIVE_INFINITY };
  await stream.activity(none, { within: BEGINS_MS, atMost: BEGINS_MS, for: 'a replay' }).catch((error: unknown) => {
    if (!(error instanceof StreamTimeout || error instanceof StreamEnded)) throw error;
  });
}

const ofTypes = { ...comparing, premises: RETAINED_REPLAY, deviation: TYPES_IGNORED } as const;
check(types, ofTypes, async (t: Device, streams) => {
  const [first, ...later] = await requireTwo(t, streams);
  const after = first?.id ?? 0n;
  await t.property(
    fc.subarray([...new Set(later.map(({ type }) => type))], { minLength: 1 }),
    async (listed) => {
      const opening = { after, types: listed };
      const due = later.filter(({ type }) => listed.includes(type));
      const came = await replayUpTo(t, streams, after, due.at(-1)?.id ?? after, opening);
      if (came !== undefined) expectSameIds(t, came, due, describeOpen(opening));
    },
    { runs: 6, describe: (listed) => describeOpen({ after, types: listed }) },
  );
});
