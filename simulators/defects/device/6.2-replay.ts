import { type DeviceChanges, defect, rewritten } from '../define-device.ts';

const replaysAtMost = (count: number): DeviceChanges => ({
  stream: {
    session: () => {
      let left = count;
      return {
        replay: (events) => {
          const some = events.slice(0, left);
          left -= some.length;
          return some;
        },
      };
    },
  },
});

/** Chooses one of two cursors, where `after` and `Last-Event-ID` are both given. */
const cursorOfBoth = (choose: (...cursors: number[]) => number): DeviceChanges => ({
  stream: ({ chooseCursor }) => ({
    chooseCursor: ({ after, lastEventId }) => {
      const cursors = [chooseCursor({ after, lastEventId: undefined }), chooseCursor({ after: [], lastEventId })];
      const numbers = cursors.filter((cursor) => typeof cursor === 'number');
      return cursors.includes('malformed') ? 'malformed' : numbers.length === 0 ? 'none' : choose(...numbers);
    },
  }),
});

export const defects = [
  defect('replay-inclusive', 'Replays the event of the cursor as well.', ['device.events.replay.exclusive'], {
    stream: ({ resolveCursor }) => ({
      resolveCursor: (cursor, retained) => {
        const after = resolveCursor(cursor, retained);
        return typeof cursor === 'number' && typeof after === 'number' ? Math.max(0, after - 1) : after;
      },
    }),
  }),
  defect(
    'future-cursor-replays-all',
    'Takes a cursor beyond the newest event for an unknown one, and replays everything.',
    ['device.events.replay.exclusive'],
    {
      stream: ({ resolveCursor }) => ({
        resolveCursor: (cursor, retained) =>
          typeof cursor === 'number' && cursor > retained.latest
            ? retained.earliest - 1
            : resolveCursor(cursor, retained),
      }),
    },
  ),
  defect(
    'replay-skips-first',
    'Begins a replay one event too late.',
    ['device.events.replay.complete', 'device.events.replay.exclusive'],
    {
      stream: ({ resolveCursor }) => ({
        resolveCursor: (cursor, retained) => {
          const after = resolveCursor(cursor, retained);
          return typeof cursor === 'number' && typeof after === 'number' ? Math.min(after + 1, retained.latest) : after;
        },
      }),
    },
  ),
  defect('replay-skips-newest', 'Replays everything but the newest event.', ['device.events.replay.complete'], {
    stream: {
      session: ({ retained }) => ({ replay: (events) => events.filter(({ id }) => id !== retained.latest) }),
    },
  }),
  defect('replay-limited', 'Replays at most ten events.', ['device.events.replay.complete'], replaysAtMost(10)),
  defect('replay-newest-first', 'Replays newest first.', ['device.events.replay.complete', 'device.events.monotonic'], {
    stream: { session: () => ({ replay: (events) => events.toReversed() }) },
  }),
  defect('replay-with-new-time', 'Gives replayed events the time of the replay.', ['device.events.replay.complete'], {
    stream: {
      session: () => {
        const now = new Date().toISOString();
        return {
          replay: (events) =>
            events.map((event) => rewritten(event, (envelope) => ({ ...envelope, occurred_at: now }))),
        };
      },
    },
  }),
  defect(
    'zero-is-no-cursor',
    'Treats after=0 as no cursor, and sends live events only.',
    ['device.events.replay.complete'],
    {
      stream: ({ chooseCursor }) => ({
        chooseCursor: (request) => {
          const cursor = chooseCursor(request);
          return cursor === 0 ? 'none' : cursor;
        },
      }),
    },
  ),
  defect(
    'replay-capped',
    'Replays a thousand events at most, then continues live.',
    ['device.events.replay.complete'],
    replaysAtMost(1000),
  ),
  defect(
    'replay-never-ends-live',
    'Replays, and never sends a live event on that connection.',
    ['device.events.replay.live'],
    {
      stream: {
        session: ({ after, retained }) => (after < retained.latest ? { live: () => [] } : undefined),
      },
    },
  ),
  defect('header-ignored', 'Ignores Last-Event-ID.', ['device.events.header-cursor', 'device.events.client'], {
    stream: ({ chooseCursor }) => ({
      chooseCursor: ({ after }) => chooseCursor({ after, lastEventId: undefined }),
    }),
  }),
  defect('header-inclusive', 'Repeats the event that Last-Event-ID names.', ['device.events.header-cursor'], {
    stream: ({ chooseCursor }) => ({
      chooseCursor: (request) => {
        const cursor = chooseCursor(request);
        return typeof cursor === 'number' && request.after.length === 0 ? Math.max(0, cursor - 1) : cursor;
      },
    }),
  }),
  defect('header-wins', 'Lets Last-Event-ID win over after.', ['device.events.after-wins'], {
    stream: ({ chooseCursor }) => ({
      chooseCursor: ({ after, lastEventId }) =>
        chooseCursor({ after: lastEventId === undefined ? after : [], lastEventId }),
    }),
  }),
  defect(
    'larger-cursor-wins',
    'Takes the larger of after and Last-Event-ID.',
    ['device.events.after-wins'],
    cursorOfBoth(Math.max),
  ),
  defect(
    'smaller-cursor-wins',
    'Takes the smaller of after and Last-Event-ID.',
    ['device.events.after-wins'],
    cursorOfBoth(Math.min),
  ),
  defect(
    'zero-loses-to-header',
    'Ignores after=0 when there is a Last-Event-ID header.',
    ['device.events.after-wins'],
    {
      // Once events are gone, after=0 is refused anyway.
      log: { keepFrom: ({ earliest }) => earliest },
      stream: ({ chooseCursor }) => ({
        chooseCursor: ({ after, lastEventId }) =>
          chooseCursor({
            after: lastEventId === undefined ? after : after.filter((id) => id !== '0'),
            lastEventId,
          }),
      }),
    },
  ),
];
