import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { LAST_CHUNK } from '../../device/stream/frame.ts';
import type { DeviceVariant } from './types.ts';

const MOST_BYTES = 65_536;

export const endsLongStreams: DeviceVariant = {
  name: 'ends-long-streams',
  side: 'device',
  summary: 'Ends a stream in order once it has carried 64 KiB: the client resumes, and delivery is at least once.',
  behaviour: (right) => ({
    ...right,
    http: {
      ...right.http,
      intercept: (request, response) => {
        if (request.url?.includes('/events') === true && request.httpVersion !== '1.0') endsAfter(request, MOST_BYTES);
        return right.http.intercept(request, response);
      },
    },
  }),
};

/** Frames are written whole, so that the end falls between two. */
function endsAfter({ socket }: IncomingMessage, most: number): void {
  let bytes = 0;
  const write: (bytes: Uint8Array | string) => boolean = socket.write.bind(socket);
  socket.write = ((piece: Uint8Array | string) => {
    if (bytes > most) return true;
    bytes += piece.length;
    const free = write(piece);
    if (bytes <= most) return free;
    write(LAST_CHUNK);
    socket.destroySoon();
    return true;
  }) as Socket['write'];
}
