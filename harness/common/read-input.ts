/** Reads a file that was named on the command line: a regular file whole, and what comes through a pipe until its end. */
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync } from 'node:fs';

const PIECE = 65_536;
/** Nothing that is read from a pipe is nearly as large; /dev/zero has no end. */
const MOST = 67_108_864;
const PAUSE_MS = 5;

/** Throws an error in words, and never waits for somebody to open the other end of a pipe. */
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
export const readInputText = (path: string): string => readInput(path).toString('utf8');

/** Why something could not be read, for a message that names it already. */
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

/** Bytes read, 0 at the end; waits while somebody holds the other end open and says nothing. */
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
