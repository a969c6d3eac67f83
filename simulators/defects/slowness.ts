/** Slow but legal behaviour: the specification sets no time limit for a response. */
import { Socket } from 'node:net';

export const SLOW_ANSWER_MS = 300;
/** Time after the first request in which a server sends no response. */
export const FIRST_ANSWER_MS = 20_000;

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
 * Writes each byte in a separate turn of the event loop; above a kilobyte, larger pieces keep a megabyte to about eight
 * thousand turns.
 */
export function writesBytesAlone(socket: Socket): void {
  const write = Socket.prototype._write.bind(socket);
  // Without `_writev`, the stream passes waiting pieces to `_write` one by one.
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
