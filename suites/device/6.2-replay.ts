/** Section 6.2, rule 2, and section 4.1: replay after a cursor. */
import fc from 'fast-check';
import type { EventStream, OpenEvents } from '../../harness/client/sse.ts';
import { requirement } from '../../harness/runner/define.ts';
import { check, type Device } from './support/context.ts';
import { anchor, follow, type Published, publish, room, stir } from './support/drive.ts';
import { distinct, readEvent, type SeenEvent, sameEvents, showIds } from './support/events.ts';
import { describeOpen, type Streams, withStreams } from './support/streams.ts';

export const exclusive = requirement({
  id: 'device.events.replay.exclusive',
  level: 'MUST',
  section: '6.2',
  since: '2026-11-21',
  text: 'Replay after a cursor starts with the first retained event after it; the cursor itself is not repeated.',
});

export const complete = requirement({
  id: 'device.events.replay.complete',
  level: 'MUST',
  section: '4.1',
  since: '2026-11-21',
  text: 'Replay holds every retained event after the cursor, in order, none missing, none invented, each as it was sent before.',
});

const live = requirement({
  id: 'device.events.replay.live',
  level: 'MUST',
  section: '6.2',
  since: '2026-11-21',
  text: 'Live events follow the replay on the same connection.',
});

export const header = requirement({
  id: 'device.events.header-cursor',
  level: 'MUST',
  section: '4.1',
  since: '2026-11-21',
  text: 'The header Last-Event-ID carries a cursor with the same semantics as after.',
});

export const afterWins = requirement({
  id: 'device.events.after-wins',
  level: 'MUST',
  section: '4.1',
  since: '2026-11-21',
  text: 'With both cursors after decides, whichever is larger.',
});

interface Recording {
  /** Everything from the anchor on, the anchor excluded. */
  all: SeenEvent[];
  cursor: bigint;
  published: Published;
}

/** A stretch of the log that a live subscriber has seen, to compare replays with. */
async function record(context: Device, streams: Streams, count: number): Promise<Recording> {
  const { cursor, live: subscription } = await anchor(context, streams);
  // Deployments that have changed since: a replay tells what was sent, not what is.
  await stir(context);
  const published = await publish(context, room(context, count));
  await follow(subscription, published);
  return { all: distinct(subscription.events), cursor, published };
}

/**
 * A cursor anywhere in the stretch, up to the last event but one. Ids need not be contiguous, and whether a number between two of
 * them is a cursor is not stated, so only ids of events are taken.
 */
const cursorIn = ({ all, cursor }: Recording): fc.Arbitrary<bigint> =>
  fc.constantFrom(cursor, ...all.slice(0, -1).map(({ id }) => id));

/** A replay begins at once. Silence proves nothing, so that nothing is concluded from it. */
export const QUIET_MS = 150;

/** Ends the check when the stream, which was opened with a cursor beyond it, gave an event that was there before. */
export function nothingUpTo(context: Device, stream: EventStream, newest: bigint, after: bigint): void {
  if (stream.status !== 200) return;
  const old = stream.frames.flatMap((frame) => readEvent(context, frame) ?? []).filter(({ id }) => id <= newest);
  context.must(old.length === 0, {
    expected: `no event of the past for after=${after}, which lies beyond the newest event ${newest}: replay holds events after the cursor`,
    actual: `the replay of ${showIds(old)}`,
  });
}

export default [
  check(exclusive, { needs: ['drive'], sharing: 'exclusive', profile: 'core' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const recording = await record(context, streams, 12);
      await context.property(
        cursorIn(recording),
        async (after) => {
          const replay = await streams.open({ after });
          const first = await replay.next(`the first event after ${after}`);
          const due = recording.all.find(({ id }) => id > after);
          context.must(first.id === due?.id, {
            expected: `event ${due?.id}, the first retained after ${after}`,
            actual: `event ${first.id}`,
          });
          await replay.close();
        },
        { runs: 12 },
      );
    }),
  ),

  check(exclusive, { aspect: 'future', needs: ['drive'], sharing: 'exclusive' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { all, cursor } = await record(context, streams, 5);
      const newest = all.at(-1)?.id ?? cursor;
      const look = async (after: bigint): Promise<void> => {
        const stream = await streams.try({ after });
        await stream.idle(QUIET_MS, { within: 1000, for: 'the end of a replay' });
        if (stream.status !== 200) context.note(`a cursor beyond the newest event gets ${stream.status}`);
        nothingUpTo(context, stream, newest, after);
      };
      await Promise.all([look(newest + 1n), look(newest + 1_000_000n)]);
    }),
  ),

  check(complete, { needs: ['drive'], sharing: 'exclusive', profile: 'core' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const recording = await record(context, streams, 60);
      context.must(recording.all.length >= recording.published.count, {
        expected: `the ${recording.published.count} events published after ${recording.cursor}`,
        actual: `${recording.all.length} on a live stream: ${showIds(recording.all)}`,
      });
      await context.property(
        cursorIn(recording),
        async (after) => {
          const replay = await streams.open({ after });
          await follow(replay, recording.published);
          sameEvents(
            context,
            replay.events,
            recording.all.filter(({ id }) => id > after),
            describeOpen({ after }),
          );
          await replay.close();
        },
        { runs: 12 },
      );
    }),
  ),

  check(complete, { aspect: 'zero', needs: ['drive'], sharing: 'exclusive' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { all } = await record(context, streams, 3);
      const asked = await streams.try({ after: 0n });
      await asked.close();
      if (asked.status === 410) {
        context.note('after=0 gets 410: it is older than the earliest retained event');
        return;
      }
      const replay = await streams.open({ after: 0n });
      // One more, so that a stream without replay also has something to begin with.
      await publish(context, 1);
      const first = await replay.next('the first event after 0');
      const known = all[0]?.id ?? 0n;
      context.must(first.id <= known, {
        expected: `410, or a replay that begins with the earliest retained event (${known} is retained)`,
        actual: `the stream begins with event ${first.id}`,
      });
    }),
  ),

  check(live, { needs: ['drive'], sharing: 'exclusive', profile: 'core' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const recording = await record(context, streams, 5);
      const replay = await streams.open({ after: recording.cursor });
      await follow(replay, recording.published);
      for (let round = 0; round < 3; round += 1) await follow(replay, await publish(context, 1));
    }),
  ),

  check(header, { needs: ['drive'], sharing: 'exclusive', profile: 'core' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const recording = await record(context, streams, 12);
      await context.property(
        cursorIn(recording),
        async (cursor) => {
          const byQuery = await streams.open({ after: cursor });
          const byHeader = await streams.open({ lastEventId: cursor });
          await follow(byQuery, recording.published);
          await follow(byHeader, recording.published);
          sameEvents(context, byHeader.events, byQuery.events, `Last-Event-ID: ${cursor}, as for after=${cursor}`);
          await byQuery.close();
          await byHeader.close();
        },
        { runs: 10 },
      );
    }),
  ),

  check(afterWins, { needs: ['drive'], sharing: 'exclusive', profile: 'core' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const recording = await record(context, streams, 12);
      await context.property(
        fc.tuple(cursorIn(recording), cursorIn(recording)),
        async ([after, lastEventId]) => {
          const both = await streams.open({ after, lastEventId });
          await follow(both, recording.published);
          sameEvents(
            context,
            both.events,
            recording.all.filter(({ id }) => id > after),
            describeOpen({ after, lastEventId }),
          );
          await both.close();
        },
        {
          runs: 10,
          examples: [
            [[recording.cursor, recording.all.at(-2)?.id ?? recording.cursor]],
            [[recording.all.at(-2)?.id ?? recording.cursor, recording.cursor]],
          ],
        },
      );
    }),
  ),

  check(afterWins, { aspect: 'zero', needs: ['drive'], sharing: 'exclusive' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { all, cursor } = await record(context, streams, 5);
      const newest = all.at(-1)?.id ?? cursor;
      const firstFor = async (options: OpenEvents): Promise<bigint | undefined> => {
        const stream = await streams.try(options);
        if (stream.status === 410) return undefined;
        // So that a stream without replay also has something to begin with.
        await publish(context, 1);
        const replay = streams.follow(stream);
        const { id } = await replay.next(`the first event for ${describeOpen(options)}`);
        await replay.close();
        return id;
      };
      const before = await firstFor({ after: 0n });
      const both = await firstFor({ after: 0n, lastEventId: newest });
      // What after=0 gets once events are gone is not stated, and a compaction may have come in between.
      const undecided = before === undefined || before > newest || (await firstFor({ after: 0n })) !== before;
      if (undecided) return context.notApplicable('the log does not begin with its first event any more');
      context.must(both === before, {
        expected: `event ${before} first for ${describeOpen({ after: 0n, lastEventId: newest })}, as for after=0 alone`,
        actual: both === undefined ? '410' : `event ${both}`,
      });
    }),
  ),
];
