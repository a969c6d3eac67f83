/** Section 6.2 for a black box: replays of what the device has retained anyway, compared with each other. */
import fc from 'fast-check';
import type { OpenEvents } from '../../harness/client/sse.ts';
import { types } from './4.1-types.ts';
import { afterWins, complete, exclusive, header, nothingUpTo, QUIET_MS } from './6.2-replay.ts';
import { check, type Device } from './support/context.ts';
import { distinct, readEvent, type SeenEvent, sameEvents } from './support/events.ts';
import { retained } from './support/retained.ts';
import { describeAnswer, describeOpen, type Streams, Subscription, withStreams } from './support/streams.ts';

/** Of a long log the newest events are enough, and compaction is least likely to take them meanwhile. */
const NEWEST = 60;

async function past(context: Device, streams: Streams): Promise<SeenEvent[]> {
  const found = await retained(context, streams);
  const events = (found?.sample.stream.frames ?? []).flatMap((frame) => readEvent(context, frame) ?? []);
  return distinct(events).slice(-NEWEST);
}

/** Opens a replay from a retained event. Undefined when that has been compacted away in the meantime. */
async function replayFrom(
  context: Device,
  streams: Streams,
  cursor: bigint,
  options: OpenEvents,
): Promise<Subscription | undefined> {
  const stream = await streams.try(options);
  if (stream.status === 200) return new Subscription(context, stream);
  const now = stream.status === 410 ? await past(context, streams) : [];
  context.must(stream.status === 410 && !now.some(({ id }) => id <= cursor), {
    expected: `200 with an event stream for ${describeOpen(options)}, whose cursor is a retained event`,
    actual: await describeAnswer(context, stream),
  });
  return undefined;
}

/**
 * What a replay gives up to `last`. Undefined when it broke off because the log was compacted past its cursor meanwhile: the
 * client comes back, and is told with 410.
 */
async function upTo(
  context: Device,
  streams: Streams,
  replay: Subscription,
  cursor: bigint,
  last: bigint,
): Promise<SeenEvent[] | undefined> {
  const came = await replay.drain(last);
  const { by } = replay.stream.ended ?? {};
  const brokeOff = !came.some(({ id }) => id >= last) && (by === 'server' || by === 'error');
  if (brokeOff && !(await past(context, streams)).some(({ id }) => id <= cursor)) return undefined;
  return came.filter(({ id }) => id <= last);
}

/** Two positions in the past, with at least one event after each. */
const positions = (events: readonly SeenEvent[]): fc.Arbitrary<[number, number]> =>
  fc.tuple(fc.nat({ max: events.length - 2 }), fc.nat({ max: events.length - 2 }));

/** One check over replays from retained events: `options` opens, `due` says what has to come, up to the newest known event. */
const compared =
  (options: (cursor: bigint, other: bigint) => OpenEvents): ((context: Device) => Promise<void>) =>
  (context) =>
    withStreams(context, async (streams) => {
      const events = await past(context, streams);
      if (events.length < 2) context.notApplicable('the device replays fewer than two events that it retained');
      const newest = events.at(-1)?.id ?? 0n;
      await context.property(
        positions(events),
        async ([at, elsewhere]) => {
          const cursor = events[at]?.id ?? 0n;
          const opening = options(cursor, events[elsewhere]?.id ?? 0n);
          const replay = await replayFrom(context, streams, cursor, opening);
          if (replay === undefined) return;
          const came = await upTo(context, streams, replay, cursor, newest);
          if (came === undefined) return;
          const due = events.slice(at + 1);
          sameEvents(context, came, due, describeOpen(opening));
        },
        { runs: 6 },
      );
    });

export default [
  check(
    complete,
    { aspect: 'retained', sharing: 'shared' },
    compared((after) => ({ after })),
  ),
  check(
    header,
    { aspect: 'retained', sharing: 'shared' },
    compared((lastEventId) => ({ lastEventId })),
  ),
  check(
    afterWins,
    { aspect: 'retained', sharing: 'shared' },
    compared((after, lastEventId) => ({ after, lastEventId })),
  ),

  check(exclusive, { aspect: 'retained', sharing: 'shared' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const events = await past(context, streams);
      if (events.length < 2) context.notApplicable('the device replays fewer than two events that it retained');
      await context.property(
        fc.nat({ max: events.length - 2 }),
        async (at) => {
          const after = events[at]?.id ?? 0n;
          const replay = await replayFrom(context, streams, after, { after });
          if (replay === undefined) return;
          const due = events[at + 1];
          const came = due === undefined ? undefined : await upTo(context, streams, replay, after, due.id);
          if (came === undefined) return;
          context.must(came[0]?.id === due?.id, {
            expected: `event ${due?.id}, the first retained after ${after}`,
            actual: came[0] === undefined ? 'nothing up to it' : `event ${came[0].id}`,
          });
        },
        { runs: 6 },
      );
    }),
  ),

  check(exclusive, { aspect: 'future.retained', sharing: 'shared' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const newest = (await past(context, streams)).at(-1)?.id;
      if (newest === undefined) return context.notApplicable('the device replays no event that it retained');
      const after = newest + 2n ** 40n;
      const stream = await streams.try({ after });
      await stream.idle(QUIET_MS, { within: context.patienceMs, for: 'the end of a replay' });
      nothingUpTo(context, stream, newest, after);
    }),
  ),

  check(types, { aspect: 'retained', sharing: 'shared' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const events = await past(context, streams);
      const [first, ...later] = events;
      if (first === undefined || later.length === 0)
        return context.notApplicable('the device replays fewer than two events that it retained');
      await context.property(
        fc.subarray([...new Set(later.map(({ type }) => type))], { minLength: 1 }),
        async (listed) => {
          const opening = { after: first.id, types: listed };
          const replay = await replayFrom(context, streams, first.id, opening);
          const due = later.filter(({ type }) => listed.includes(type));
          const last = due.at(-1)?.id;
          if (replay === undefined || last === undefined) return;
          const came = await upTo(context, streams, replay, first.id, last);
          if (came === undefined) return;
          sameEvents(context, came, due, describeOpen(opening));
        },
        { runs: 6 },
      );
    }),
  ),
];
