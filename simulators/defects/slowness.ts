/** Slow but legal behaviour of devices and platforms: the specification sets no time limit for a response. */
import { Socket } from 'node:net';

/** Milliseconds that a slow server waits before every response. */
export const SLOW_ANSWER_MS = 300;
/** Milliseconds for which a server sends no response after its first request. */
export const FIRST_ANSWER_MS = 20_000;

/** Returns a function that gives the remaining milliseconds of a server's warm-up after its first request. */
export function warmUp(milliseconds: number): () => number {
  let ready: number | undefined;
  return () => {
    const now = performance.now();
    ready ??= now + milliseconds;
    return Math.max(0, ready - now);
  };
}

/** Encoding that Node's streams name for a buffer, and that Node's types lack. */
const OF_BUFFERS = 'buffer' as BufferEncoding;

/**
 * Makes a socket write each byte in a separate turn of the event loop; above a kilobyte, larger pieces keep a megabyte
 * to about eight thousand turns.
 */
export function writesBytesAlone(socket: Socket): void {
  const write = Socket.prototype._write.bind(socket);
  // Removes `_writev`, so that the stream passes waiting pieces to `_write` one by one.
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
      at += Math.ceil((bytes.length - at) / 1024);
      write(bytes.subarray(from, at), OF_BUFFERS, next);
    };
    next();
  };
}
