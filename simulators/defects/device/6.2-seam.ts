import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { StoredEvent } from '../../device/log/line.ts';
import { LAST_CHUNK } from '../../device/stream/protocol.ts';
import { defect, onRequest, variant } from '../define-device.ts';

/** Counts the body bytes in HTTP chunks, without the chunks' framing; 0 for a response head. */
function bytesInChunks(text: string): number {
  let bytes = 0;
  for (let at = 0; ; ) {
    const size = Number.parseInt(text.slice(at), 16);
    if (!(size > 0)) return bytes;
    bytes += size;
    at = text.indexOf('\r\n', at) + size + 4;
  }
}

/** Ends a stream after `most` bytes of its body, between two frames, because each write is a whole frame. */
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
  defect(
    'seam-gap',
    'Loses what is published between the end of a replay and the first live event.',
    ['device.events.replay.seam'],
    { stream: { join: (enter) => void setTimeout(enter, 40) } },
  ),
  defect('first-live-event-lost', 'Loses the first event after a replay.', ['device.events.replay.seam'], {
    stream: {
      session: ({ after, retained }) => {
        let lost = after >= retained.latest;
        return {
          live: (events) => {
            if (lost) return events;
            lost = true;
            return events.slice(1);
          },
        };
      },
    },
  }),
  defect(
    'seam-gap-after-long-replay',
    'Loses the first live events after a replay of more than a hundred events.',
    ['device.events.replay.seam'],
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
      const remember = (events: readonly StoredEvent[]): readonly StoredEvent[] => {
        sent = Math.max(sent, events.at(-1)?.id ?? 0);
        return events;
      };
      return {
        stream: {
          session: () => ({
            replay: (events) => remember(events.filter(({ id }) => id > sent)),
            live: remember,
          }),
        },
      };
    },
  ),
];

export const variants = [
  variant(
    'ends-long-streams',
    'Ends a stream cleanly once it has carried 64 KiB: the client resumes, and delivery is at least once.',
    onRequest((request) => {
      if (request.url?.includes('/events') === true && request.httpVersion !== '1.0') endAfter(65_536, request);
    }),
  ),
];
