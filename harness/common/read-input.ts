/** Reads a file that was named on the command line: a regular file, or a pipe until its end. */
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync } from 'node:fs';

const PIECE = 65_536;
/** Far more bytes than any input has; /dev/zero has no end. */
const MOST = 67_108_864;
const PAUSE_MS = 5;

/** All bytes of a file. Throws Error with the reason, and never waits for someone to open the other end of a pipe. */
export function readInput(path: string): Buffer {
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const kind = fstatSync(file);
    if (kind.isDirectory()) throw new Error('it is a folder');
    if (kind.isFile()) return readFileSync(file);
    const content = readPipe(file);
    if (content.length === 0 && kind.isFIFO()) throw new Error('it is a pipe into which nobody writes');
    return content;
  } finally {
    closeSync(file);
  }
}

/** The file as UTF-8 text. Throws what `readInput` throws. */
/** The file as UTF-8 text. Throws likewise. */
export const readInputText = (path: string): string => readInput(path).toString('utf8');

/** Why a file could not be read or written, for a message that names it already. */
export function whyNot(error: unknown): string {
  return error instanceof Error ? error.message.replace(/, \w+ '.*'$/, '') : String(error);
}

function readPipe(file: number): Buffer {
  const parts: Buffer[] = [];
  let size = 0;
  for (;;) {
    const piece = Buffer.alloc(PIECE);
    const read = some(file, piece);
    if (read === 0) return Buffer.concat(parts);
    parts.push(piece.subarray(0, read));
    size += read;
    if (size > MOST) throw new Error(`it has more than ${MOST} bytes`);
  }
}

/** Number of bytes read, 0 at the end. Waits while the other end is open and writes nothing. */
function some(file: number, piece: Buffer): number {
  for (;;) {
    try {
      return readSync(file, piece);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  }
}
