/** Legal ways of being slow for devices and platforms: the specification sets no time for a response. */
import { Socket } from 'node:net';

/** Milliseconds before every response. */
export const SLOW_ANSWER_MS = 300;
/** Milliseconds after the first request without any response. */
export const FIRST_ANSWER_MS = 20_000;

/** Milliseconds until the next response, of a server that warms up from its first request. */
export function warmUp(milliseconds: number): () => number {
  let ready: number | undefined;
  return () => {
    const now = performance.now();
    ready ??= now + milliseconds;
    return Math.max(0, ready - now);
  };
}

/** Share of the waiting bytes per write, at least one byte. */
const SHARE = 1 / 1024;
/** Node's types lack the encoding that streams name for a buffer. */
const OF_BUFFERS = 'buffer' as BufferEncoding;

/**
 * Writes each byte in a separate turn of the event loop. Above a kilobyte, larger pieces keep a megabyte to about eight
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
      at += Math.ceil((bytes.length - at) * SHARE);
      write(bytes.subarray(from, at), OF_BUFFERS, next);
    };
    next();
  };
}
