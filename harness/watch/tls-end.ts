/**
 * How TLS ended. A side that ends says so in TLS (close_notify); one that has not may have been cut off in the middle.
 * Node tells both alike. What it does not document is asked once for each connection, and where it is not so, every end
 * counts as said.
 */
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

const torn = new WeakSet<Socket>();

/** Whether its other side ended and did not say so. For what `minded` was called with. */
export const isTorn = (socket: Socket): boolean => torn.has(socket);

export function minded(socket: TLSSocket): TLSSocket {
  const push = socket.push.bind(socket);
  // The event comes later, when what was read before has been taken: by then, the socket below may have ended as well.
  socket.push = (piece, encoding) => {
    if (piece === null && hasEndedBelow(socket)) torn.add(socket);
    return push(piece, encoding);
  };
  return socket;
}

/** After a word of TLS the socket below reads on, or is paused. To start again is refused, except at its end. */
function hasEndedBelow(socket: TLSSocket): boolean {
  const { _handle: handle } = socket as unknown as {
    _handle?: { reading?: boolean; _parent?: { readStart?(): number } };
  };
  return handle?.reading === true && handle._parent?.readStart?.() === 0;
}
