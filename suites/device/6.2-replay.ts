/** Section 6.2, rule 2, and section 4.1: replay after a cursor. */
import fc from 'fast-check';
import type { EventStream, OpenEvents } from '../../harness/client/sse.ts';
import { requirement } from '../../harness/runner/define.ts';
import { expectSameEvents } from './support/assertions.ts';
import { check, type Device } from './support/check.ts';
import {
  eventBudget,
  type Published,
  publish,
  publishEveryEventKind,
  readUpTo,
  subscribeAtKnownCursor,
} from './support/drive.ts';
import { distinct, eventsOf, type SeenEvent, showIds } from './support/events.ts';
import { describeOpen, type Streams, withStreams } from './support/streams.ts';

interface Recording {
  /** Everything after the cursor. */
  all: SeenEvent[];
  cursor: bigint;
  published: Published;
}

/** A stretch of the log that a live subscriber has seen, to compare replays with. */
async function record(t: Device, streams: Streams, count: number): Promise<Recording> {
  const { cursor, live } = await subscribeAtKnownCursor(t, streams);
  // Deployments change while their events stay as they were sent.
  await publishEveryEventKind(t);
  const published = await publish(t, eventBudget(t, count));
  await readUpTo(live, published);
  return { all: distinct(live.events), cursor, published };
}

/**
 * Any id in the stretch, up to the last but one. Ids need not be contiguous, and whether a number between two of them is a valid
 * cursor is not stated.
 */
const cursorIn = ({ all, cursor }: Recording): fc.Arbitrary<bigint> =>
  fc.constantFrom(cursor, ...all.slice(0, -1).map(({ id }) => id));

const after = ({ all }: Recording, cursor: bigint): SeenEvent[] => all.filter(({ id }) => id > cursor);

export const exclusive = requirement({
  id: 'device.events.replay.exclusive',
  level: 'MUST',
  section: '6.2',
  since: '2026-11-21',
  clause: 'Replay after a cursor is exclusive of the cursor, then live events follow.',
  text: 'Replay after a cursor starts with the first retained event after it; the cursor itself is not repeated.',
});

const exclusiveCheck = check(exclusive, { needs: ['drive'], sharing: 'exclusive', profile: 'core' }, (t: Device) =>
  withStreams(t, async (streams) => {
    const recording = await record(t, streams, 12);
    await t.property(
      cursorIn(recording),
      async (cursor) => {
        const replay = await streams.open({ after: cursor });
        const first = await replay.next(`the first event after ${cursor}`);
        const [due] = after(recording, cursor);
        t.must(first.id === due?.id, {
          expected: `event ${due?.id}, the first retained after ${cursor}`,
          actual: `event ${first.id}`,
        });
        await replay.close();
      },
      { runs: 12 },
    );
  }),
);

const exclusiveFutureCheck = check(
  exclusive,
  { aspect: 'future', needs: ['drive'], sharing: 'exclusive' },
  (t: Device) =>
    withStreams(t, async (streams) => {
      const { all, cursor } = await record(t, streams, 5);
      const newest = all.at(-1)?.id ?? cursor;
      const replayFrom = async (beyond: bigint): Promise<void> => {
        const stream = await streams.try({ after: beyond });
        await stream.idle(QUIET_MS, { within: 1000, for: 'the end of a replay' });
        if (stream.status !== 200) t.note(`a cursor beyond the newest event gets ${stream.status}`);
        expectNothingReplayed(t, stream, newest, beyond);
      };
      await Promise.all([replayFrom(newest + 1n), replayFrom(newest + 1_000_000n)]);
    }),
);

/** A replay begins at once. Silence proves nothing: only events that came are looked at. */
export const QUIET_MS = 150;

/** A stream that was opened with a cursor beyond the newest event gives no event that was there before. */
export function expectNothingReplayed(t: Device, stream: EventStream, newest: bigint, beyond: bigint): void {
  if (stream.status !== 200) return;
  const old = eventsOf(t, stream).filter(({ id }) => id <= newest);
  t.must(old.length === 0, {
    expected: `no event of the past for after=${beyond}, which lies beyond the newest event ${newest}: replay holds events after the cursor`,
    actual: `the replay of ${showIds(old)}`,
  });
}

export const complete = requirement({
  id: 'device.events.replay.complete',
  level: 'MUST',
  section: '4.1',
  since: '2026-11-21',
  clause: 'replay starts with retained events after this id (exclusive), then live events follow',
  text: 'Replay holds every retained event after the cursor, in order, none missing, none invented, each as it was sent before.',
});

const completeCheck = check(complete, { needs: ['drive'], sharing: 'exclusive', profile: 'core' }, (t: Device) =>
  withStreams(t, async (streams) => {
    const recording = await record(t, streams, 60);
    const { all, published } = recording;
    t.must(all.length >= published.count, {
      expected: `the ${published.count} events published after ${recording.cursor}`,
      actual: `${all.length} on a live stream: ${showIds(all)}`,
    });
    await t.property(
      cursorIn(recording),
      async (cursor) => {
        const replay = await streams.open({ after: cursor });
        await readUpTo(replay, published);
        expectSameEvents(t, replay.events, after(recording, cursor), describeOpen({ after: cursor }));
        await replay.close();
      },
      { runs: 12 },
    );
  }),
);

const completeZeroCheck = check(complete, { aspect: 'zero', needs: ['drive'], sharing: 'exclusive' }, (t: Device) =>
  withStreams(t, async (streams) => {
    const { all } = await record(t, streams, 3);
    const asked = await streams.try({ after: 0n });
    await asked.close();
    if (asked.status === 410) return t.note('after=0 gets 410: it is older than the earliest retained event');
    const replay = await streams.open({ after: 0n });
    // A stream without replay begins with this event.
    await publish(t, 1);
    const first = await replay.next('the first event after 0');
    const known = all[0]?.id ?? 0n;
    t.must(first.id <= known, {
      expected: `410, or a replay that begins with the earliest retained event (${known} is retained)`,
      actual: `the stream begins with event ${first.id}`,
    });
  }),
);

const live = requirement({
  id: 'device.events.replay.live',
  level: 'MUST',
  section: '6.2',
  since: '2026-11-21',
  clause: 'Replay after a cursor is exclusive of the cursor, then live events follow.',
  text: 'Live events follow the replay on the same connection.',
});

const liveCheck = check(live, { needs: ['drive'], sharing: 'exclusive', profile: 'core' }, (t: Device) =>
  withStreams(t, async (streams) => {
    const { cursor, published } = await record(t, streams, 5);
    const replay = await streams.open({ after: cursor });
    await readUpTo(replay, published);
    for (let round = 0; round < 3; round += 1) await readUpTo(replay, await publish(t, 1));
  }),
);

export const header = requirement({
  id: 'device.events.header-cursor',
  level: 'MUST',
  section: '4.1',
  since: '2026-11-21',
  clause: '`Last-Event-ID: <id>` (optional) carries the cursor, with the same semantics as `after`.',
  text: 'The header Last-Event-ID carries a cursor with the same semantics as after.',
});

const headerCheck = check(header, { needs: ['drive'], sharing: 'exclusive', profile: 'core' }, (t: Device) =>
  withStreams(t, async (streams) => {
    const recording = await record(t, streams, 12);
    await t.property(
      cursorIn(recording),
      async (cursor) => {
        const byQuery = await streams.open({ after: cursor });
        const byHeader = await streams.open({ lastEventId: cursor });
        await readUpTo(byQuery, recording.published);
        await readUpTo(byHeader, recording.published);
        expectSameEvents(t, byHeader.events, byQuery.events, `Last-Event-ID: ${cursor}, as for after=${cursor}`);
        await byQuery.close();
        await byHeader.close();
      },
      { runs: 10 },
    );
  }),
);

export const afterWins = requirement({
  id: 'device.events.after-wins',
  level: 'MUST',
  section: '4.1',
  since: '2026-11-21',
  clause: 'Takes precedence over the header.',
  text: 'With both cursors after decides, whichever is larger.',
});

const afterWinsCheck = check(afterWins, { needs: ['drive'], sharing: 'exclusive', profile: 'core' }, (t: Device) =>
  withStreams(t, async (streams) => {
    const recording = await record(t, streams, 12);
    const late = recording.all.at(-2)?.id ?? recording.cursor;
    await t.property(
      fc.tuple(cursorIn(recording), cursorIn(recording)),
      async ([cursor, lastEventId]) => {
        const opening = { after: cursor, lastEventId };
        const both = await streams.open(opening);
        await readUpTo(both, recording.published);
        expectSameEvents(t, both.events, after(recording, cursor), describeOpen(opening));
        await both.close();
      },
      { runs: 10, examples: [[[recording.cursor, late]], [[late, recording.cursor]]] },
    );
  }),
);

const afterWinsZeroCheck = check(afterWins, { aspect: 'zero', needs: ['drive'], sharing: 'exclusive' }, (t: Device) =>
  withStreams(t, async (streams) => {
    const { all, cursor } = await record(t, streams, 5);
    const newest = all.at(-1)?.id ?? cursor;
    const before = await firstEventFor(t, streams, { after: 0n });
    const both = await firstEventFor(t, streams, { after: 0n, lastEventId: newest });
    // What after=0 gets once events are gone is not stated, and the log may have been compacted in between.
    const unknown =
      before === undefined || before > newest || (await firstEventFor(t, streams, { after: 0n })) !== before;
    if (unknown) return t.notApplicable('the log does not begin with its first event any more');
    t.must(both === before, {
      expected: `event ${before} first for ${describeOpen({ after: 0n, lastEventId: newest })}, as for after=0 alone`,
      actual: both === undefined ? '410' : `event ${both}`,
    });
  }),
);

/** The id of the first event on a stream; undefined when the cursor is expired. */
async function firstEventFor(t: Device, streams: Streams, options: OpenEvents): Promise<bigint | undefined> {
  const stream = await streams.try(options);
  if (stream.status === 410) return undefined;
  // A stream without replay begins with this event.
  await publish(t, 1);
  const replay = streams.follow(stream);
  const { id } = await replay.next(`the first event for ${describeOpen(options)}`);
  await replay.close();
  return id;
}

export default [
  exclusiveCheck,
  exclusiveFutureCheck,
  completeCheck,
  completeZeroCheck,
  liveCheck,
  headerCheck,
  afterWinsCheck,
  afterWinsZeroCheck,
];
