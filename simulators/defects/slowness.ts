/**
 * Ways of being slow that devices and platforms share. All are legal: the specification gives no time for an answer.
 */
import { Socket } from 'node:net';

/** Every answer is this late. */
export const SLOW_ANSWER_MS = 300;
/** Nothing is answered for this long after the first request. */
export const FIRST_ANSWER_MS = 20_000;

/** Milliseconds by which the next answer is late, on a server that needs so long before it can answer at all. */
export function warmUp(milliseconds: number): () => number {
  let ready: number | undefined;
  return () => {
    const now = performance.now();
    ready ??= now + milliseconds;
    return Math.max(0, ready - now);
  };
}

/** Of what is waiting, this share is written at once, but never less than a byte. */
const SHARE = 1 / 1024;
/** What a stream calls the encoding of a buffer; Node's types know only those of texts. */
const OF_BUFFERS = 'buffer' as BufferEncoding;

/**
 * Writes each byte by itself from now on, in a turn of the event loop of its own, so that a client in the same process
 * also reads it by itself. What is longer than a kilobyte begins with larger pieces and ends with single bytes: a
 * megabyte takes eight thousand turns.
 */
export function writesBytesAlone(socket: Socket): void {
  const write = Socket.prototype._write.bind(socket);
  // Without it, pieces that have piled up are given to `_write` one by one.
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
