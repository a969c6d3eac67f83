import type { Socket } from 'node:net';

/** Resets a TCP connection, and destroys other sockets, e.g. of TLS, because Node resets only TCP. */
export function reset(socket: Socket): void {
  if (socket.destroyed) return;
  try {
    socket.resetAndDestroy();
  } catch {
    socket.destroy();
  }
}
