/**
 * Detects an unclean end of TLS: a side that ends cleanly sends close_notify; otherwise it may have been cut off. Node
 * does not distinguish them. Uses undocumented state, once a connection; without it every end counts as clean.
 */
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

const torn = new WeakSet<Socket>();

/** Whether its peer ended without close_notify. For sockets passed to `watchTlsEnd`. */
export const isTorn = (socket: Socket): boolean => torn.has(socket);

export function watchTlsEnd(socket: TLSSocket): TLSSocket {
  const push = socket.push.bind(socket);
  // Checked here, because the event comes only after the read bytes are taken, when the socket below may have ended
  // too.
  socket.push = (piece, encoding) => {
    if (piece === null && hasEndedBelow(socket)) torn.add(socket);
    return push(piece, encoding);
  };
  return socket;
}

/** After close_notify the socket below reads on, or is paused. Restarting it fails, except at its end. */
function hasEndedBelow(socket: TLSSocket): boolean {
  const { _handle: handle } = socket as unknown as {
    _handle?: { reading?: boolean; _parent?: { readStart?(): number } };
  };
  return handle?.reading === true && handle._parent?.readStart?.() === 0;
}
