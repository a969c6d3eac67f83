/** Detects TLS connections that ended without close_notify, through undocumented state of Node. */
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

const torn = new WeakSet<Socket>();

export const isTorn = (socket: Socket): boolean => torn.has(socket);

export function watchTlsEnd(socket: TLSSocket): TLSSocket {
  const push = socket.push.bind(socket);
  // Checks before the later 'end' event, at which the TCP socket may have ended even after close_notify.
  socket.push = (piece, encoding) => {
    if (piece === null && hasEndedBelow(socket)) torn.add(socket);
    return push(piece, encoding);
  };
  return socket;
}

/**
 * True if the TCP socket has ended, because only then `readStart` returns 0; after close_notify the TCP socket is open.
 */
function hasEndedBelow(socket: TLSSocket): boolean {
  const { _handle: handle } = socket as unknown as {
    _handle?: { reading?: boolean; _parent?: { readStart?(): number } };
  };
  return handle?.reading === true && handle._parent?.readStart?.() === 0;
}
