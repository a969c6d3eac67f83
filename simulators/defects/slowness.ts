/** Ways of being slow that devices and platforms share, all legal: the specification sets no time for an answer. */
import { Socket } from 'node:net';

/** Delay of every answer. */
export const SLOW_ANSWER_MS = 300;
/** Time after the first request without any answer. */
export const FIRST_ANSWER_MS = 20_000;

/** Milliseconds until the next answer, on a server that warms up from its first request. */
export function warmUp(milliseconds: number): () => number {
  let ready: number | undefined;
  return () => {
    const now = performance.now();
    ready ??= now + milliseconds;
    return Math.max(0, ready - now);
  };
}

/** Share of the waiting bytes written at once, a byte at least. */
const SHARE = 1 / 1024;
/** Encoding that a stream names for a buffer; Node's types know only those of texts. */
const OF_BUFFERS = 'buffer' as BufferEncoding;

/**
 * Writes each byte by itself from now on, in a turn of the event loop of its own, so that a client in this process
 * reads it by itself too. Begins with larger pieces above a kilobyte, and ends with single bytes, so that a megabyte
 * takes eight thousand turns.
 */
export function writesBytesAlone(socket: Socket): void {
  const write = Socket.prototype._write.bind(socket);
  // Removes `_writev`, so that piled-up pieces reach `_write` one by one.
  Object.assign(socket, { _writev: null });
  socket._write = (data: Buffer | string, encoding, done) => {
    const bytes = typeof data === 'string' ? Buffer.from(data, encoding) : data;
    let at = 0;
    const next = (error?: Error | null): void => {
      if (error || at === bytes.length) done(error);
      else setImmediate(turn);
    };
    const turn = (): void => {
      const from = at;
      at += Math.ceil((bytes.length - at) * SHARE);
      write(bytes.subarray(from, at), OF_BUFFERS, next);
    };
    next();
  };
}
