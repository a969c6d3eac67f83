import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { LAST_CHUNK, type StreamBehaviour } from '../../device/behaviour.ts';
import type { StoredEvent } from '../../device/log/line.ts';
import {
  asksForEvents,
  choosing,
  defect,
  losingFirstLive,
  onRequest,
  resolving,
  rewritten,
  variant,
  whenOver,
} from '../define-device.ts';

const REPLAY_COMPLETE = ['device.events.replay.complete'];
const SEAM = ['device.events.replay.seam'];

const replaysAtMost = (count: number): Partial<StreamBehaviour> => ({
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
});

const replaysAsOf = (time: () => string): Partial<StreamBehaviour> => ({
  session: () => {
    const occurred_at = time();
    return { replay: (events) => events.map((event) => rewritten(event, (each) => ({ ...each, occurred_at }))) };
  },
});

/** Counts bytes without the chunks' framing; 0 for a response head. */
function bytesInChunks(text: string): number {
  let bytes = 0;
  for (let at = 0; ; ) {
    const size = Number.parseInt(text.slice(at), 16);
    if (!(size > 0)) return bytes;
    bytes += size;
    at = text.indexOf('\r\n', at) + size + 4;
  }
}

/** Ends the stream after the write that exceeds `most` bytes; each write consists of whole frames. */
function endAfter(most: number, { socket }: IncomingMessage): void {
  let bytes = 0;
  const write = socket.write.bind(socket) as (...written: unknown[]) => boolean;
  // Passes on the callback in `rest`, without which the response to a refused stream would not end.
  socket.write = ((piece: Uint8Array | string, ...rest: unknown[]) => {
    if (bytes > most) return true;
    bytes += bytesInChunks(Buffer.from(piece).toString('latin1'));
    const free = write(piece, ...rest);
    if (bytes <= most) return free;
    write(LAST_CHUNK);
    socket.destroySoon();
    return true;
  }) as Socket['write'];
}

export const defects = [
  defect('replay-inclusive', 'Replays the event of the cursor as well.', ['device.events.replay.exclusive'], {
    stream: resolving((after, cursor) =>
      typeof cursor === 'number' && typeof after === 'number' ? Math.max(0, after - 1) : after,
    ),
  }),
  defect(
    'future-cursor-replays-all',
    'Takes a cursor beyond the newest event for an unknown one, and replays everything.',
    ['device.events.replay.exclusive'],
    {
      stream: resolving((after, cursor, { earliest, latest }) =>
        typeof cursor === 'number' && cursor > latest ? earliest - 1 : after,
      ),
    },
  ),
  defect('huge-cursor-wraps', 'Lets cursors wrap around at 64 bits.', ['device.events.replay.exclusive'], {
    stream: choosing((cursor, { after, lastEventId }) => {
      const text = after[0] ?? lastEventId ?? '';
      return /^\d+$/.test(text) ? Number(BigInt.asIntN(64, BigInt(text))) : cursor;
    }),
  }),
  defect(
    'replay-skips-first',
    'Begins a replay one event too late.',
    ['device.events.replay.complete', 'device.events.replay.exclusive'],
    {
      stream: resolving((after, cursor, { latest }) =>
        typeof cursor === 'number' && typeof after === 'number' ? Math.min(after + 1, latest) : after,
      ),
    },
  ),
  defect('replay-skips-newest', 'Replays everything but the newest event.', REPLAY_COMPLETE, {
    stream: { session: ({ retained }) => ({ replay: (events) => events.filter(({ id }) => id !== retained.latest) }) },
  }),
  defect('replay-compares-text', 'Compares ids as text in a replay.', REPLAY_COMPLETE, {
    stream: { session: ({ after }) => ({ replay: (events) => events.filter(({ id }) => String(id) > String(after)) }) },
  }),
  defect('replay-limited', 'Replays at most ten events.', REPLAY_COMPLETE, { stream: replaysAtMost(10) }),
  defect('replay-newest-first', 'Replays newest first.', ['device.events.replay.complete', 'device.events.monotonic'], {
    stream: { session: () => ({ replay: (events) => events.toReversed() }) },
  }),
  defect('replay-with-new-time', 'Gives replayed events the time of the replay.', REPLAY_COMPLETE, {
    stream: replaysAsOf(() => new Date().toISOString()),
  }),
  defect('replay-with-another-time', 'Gives replayed events the time at which the log began.', REPLAY_COMPLETE, {
    stream: replaysAsOf(() => '2026-01-01T00:00:00Z'),
  }),
  defect('zero-is-no-cursor', 'Treats after=0 as no cursor, and sends live events only.', REPLAY_COMPLETE, {
    stream: choosing((cursor) => (cursor === 0 ? 'none' : cursor)),
  }),
  defect('replay-capped', 'Replays a thousand events at most, then continues live.', REPLAY_COMPLETE, {
    stream: replaysAtMost(1000),
  }),
  defect(
    'replay-never-ends-live',
    'Replays, and never sends a live event on that connection.',
    ['device.events.replay.live'],
    {
      stream: {
        session: ({ after, retained: { latest } }) =>
          // Drops events after `latest`, because the replay also reads what is published meanwhile.
          after < latest ? { replay: (events) => events.filter(({ id }) => id <= latest), live: () => [] } : undefined,
      },
    },
  ),
  defect(
    'replay-ends-stream',
    'Ends each stream after a replay, so that live events come only to a client that resumes.',
    ['device.events.replay.live.same-stream'],
    () => {
      let socket: Socket | undefined;
      return {
        http: onRequest((request) => ({ socket } = request)),
        stream: {
          session: ({ after, retained: { latest } }) => {
            const own = socket;
            const end = (): void => {
              own?.end(LAST_CHUNK);
              if (own !== undefined) own.write = () => true;
            };
            const replay = (events: readonly StoredEvent[]): readonly StoredEvent[] => {
              // Ends the stream in a microtask, because the frames of these events are written first.
              if ((events.at(-1)?.id ?? 0) >= latest) queueMicrotask(end);
              return events;
            };
            return after < latest ? { replay } : undefined;
          },
        },
      };
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
        http: onRequest(({ socket }) => {
          isUsed = asked.has(socket);
          asked.add(socket);
        }),
        stream: resolving((after, _cursor, { earliest }) =>
          isUsed && typeof after === 'number' && after >= earliest ? after - 1 : after,
        ),
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
        http: onRequest((request, response) => {
          if (request.method !== 'GET' || !asksForEvents(request)) return;
          listeners.add(request);
          whenOver(request, response, () => listeners.delete(request));
        }),
        log: ({ lines }) => ({ lines: (events) => (listeners.size > 0 ? lines(events) : '') }),
      };
    },
    { tells: /which was published after them, and not/ },
  ),
  defect('seam-gap', 'Loses what is published between the end of a replay and the first live event.', SEAM, {
    stream: { join: (enter) => void setTimeout(enter, 40) },
  }),
  defect('first-live-event-lost', 'Loses the first event after a replay.', SEAM, {
    stream: { session: ({ after, retained }) => (after < retained.latest ? losingFirstLive() : undefined) },
  }),
  defect(
    'seam-gap-after-long-replay',
    'Loses the first live events after a replay of more than a hundred events.',
    SEAM,
    {
      stream: {
        session: () => {
          let replayed = 0;
          return {
            replay: (events) => {
              replayed += events.length;
              return events;
            },
            live: (events) => {
              const lost = replayed > 100;
              replayed = 0;
              return lost ? [] : events;
            },
          };
        },
      },
    },
  ),
  defect(
    'sent-is-delivered',
    'Treats sent events as delivered: those in flight when a connection broke are not sent again.',
    ['device.events.at-least-once', 'device.events.replay.complete'],
    () => {
      let sent = 0;
      const noted = (events: readonly StoredEvent[]): readonly StoredEvent[] => {
        sent = Math.max(sent, events.at(-1)?.id ?? 0);
        return events;
      };
      return {
        stream: { session: () => ({ replay: (events) => noted(events.filter(({ id }) => id > sent)), live: noted }) },
      };
    },
  ),
];

export const variants = [
  variant(
    'ends-long-streams',
    'Ends a stream cleanly once it has carried 64 KiB: the client resumes, and delivery is at least once.',
    {
      http: onRequest((request) => {
        if (asksForEvents(request) && request.httpVersion !== '1.0') endAfter(65_536, request);
      }),
    },
  ),
];
