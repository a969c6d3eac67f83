import type { IncomingMessage } from 'node:http';
import { type DeviceChanges, defect, onRequest, rewritten, whenOver } from '../define-device.ts';

const REPLAY_COMPLETE = ['device.events.replay.complete'];

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
  defect('huge-cursor-wraps', 'Lets cursors wrap around at 64 bits.', ['device.events.replay.exclusive'], {
    stream: ({ chooseCursor }) => ({
      chooseCursor: (request) => {
        const text = request.after[0] ?? request.lastEventId ?? '';
        return /^\d+$/.test(text) ? Number(BigInt.asIntN(64, BigInt(text))) : chooseCursor(request);
      },
    }),
  }),
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
  defect('replay-skips-newest', 'Replays everything but the newest event.', REPLAY_COMPLETE, {
    stream: {
      session: ({ retained }) => ({ replay: (events) => events.filter(({ id }) => id !== retained.latest) }),
    },
  }),
  defect('replay-compares-text', 'Compares ids as text in a replay.', REPLAY_COMPLETE, {
    stream: {
      session: ({ after }) => ({ replay: (events) => events.filter(({ id }) => String(id) > String(after)) }),
    },
  }),
  defect('replay-limited', 'Replays at most ten events.', REPLAY_COMPLETE, replaysAtMost(10)),
  defect('replay-newest-first', 'Replays newest first.', ['device.events.replay.complete', 'device.events.monotonic'], {
    stream: { session: () => ({ replay: (events) => events.toReversed() }) },
  }),
  defect('replay-with-new-time', 'Gives replayed events the time of the replay.', REPLAY_COMPLETE, {
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
  defect('replay-with-another-time', 'Gives replayed events the time at which the log began.', REPLAY_COMPLETE, {
    stream: {
      session: () => ({
        replay: (events) =>
          events.map((event) => rewritten(event, (envelope) => ({ ...envelope, occurred_at: '2026-01-01T00:00:00Z' }))),
      }),
    },
  }),
  defect('zero-is-no-cursor', 'Treats after=0 as no cursor, and sends live events only.', REPLAY_COMPLETE, {
    stream: ({ chooseCursor }) => ({
      chooseCursor: (request) => {
        const cursor = chooseCursor(request);
        return cursor === 0 ? 'none' : cursor;
      },
    }),
  }),
  defect(
    'replay-capped',
    'Replays a thousand events at most, then continues live.',
    REPLAY_COMPLETE,
    replaysAtMost(1000),
  ),
  defect(
    'replay-never-ends-live',
    'Replays, and never sends a live event on that connection.',
    ['device.events.replay.live'],
    {
      stream: {
        session: ({ after, retained: { latest } }) =>
          // Filters the replay too, because the replay also reads events that were published during the replay.
          after < latest ? { replay: (events) => events.filter(({ id }) => id <= latest), live: () => [] } : undefined,
      },
    },
  ),
  defect(
    'used-connection-repeats-cursor',
    'Repeats the event of the cursor on a connection that was used before.',
    ['device.events.replay.exclusive'],
    () => {
      const asked = new WeakSet<object>();
      let isUsed = false;
      return {
        ...onRequest(({ socket }) => {
          isUsed = asked.has(socket);
          asked.add(socket);
        }),
        stream: ({ resolveCursor }) => ({
          resolveCursor: (cursor, retained) => {
            const after = resolveCursor(cursor, retained);
            return isUsed && typeof after === 'number' && after >= retained.earliest ? after - 1 : after;
          },
        }),
      };
    },
  ),
  defect(
    'removed-not-stored',
    'Sends deployment.removed on live streams alone: it is not stored, and never replayed.',
    REPLAY_COMPLETE,
    { log: ({ lines }) => ({ lines: (events) => lines(events.filter(({ type }) => type !== 'deployment.removed')) }) },
    { tells: /published after them, and not|missing/ },
  ),
  defect(
    'stored-only-with-listeners',
    'Stores events only while a stream is open, and loses all others.',
    ['device.events.replay.complete.unheard'],
    () => {
      const listeners = new Set<IncomingMessage>();
      return {
        ...onRequest((request, response) => {
          if (request.method !== 'GET' || request.url?.includes('/events') !== true) return;
          listeners.add(request);
          whenOver(request, response, () => listeners.delete(request));
        }),
        log: ({ lines }) => ({ lines: (events) => (listeners.size > 0 ? lines(events) : '') }),
      };
    },
    { tells: /which was published after them, and not/ },
  ),
];
