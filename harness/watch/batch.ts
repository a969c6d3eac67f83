/** Packs observed traffic into one buffer, which moves between threads without a copy. */
import type { Ending, Side } from './relay.ts';

export type Observation =
  | { what: 'opened'; connection: number; at: number }
  | { what: 'bytes'; connection: number; at: number; from: Side; piece: Buffer }
  | { what: 'ended'; connection: number; at: number; from: Side; how: Ending }
  | { what: 'refused'; connection: number; at: number; why: string }
  | { what: 'dropped'; connection: number; at: number };

const KINDS = ['opened', 'bytes', 'ended', 'refused', 'dropped'] as const;
const SIDES = ['client', 'server'] as const;
const ENDINGS = ['end', 'cut'] as const;
/** Bytes of a record's head: kind, side, ending and a spare byte; connection; length; time. */
const HEAD = 20;
const FIRST_CAPACITY = 16 * 1024;

const NOTHING = Buffer.alloc(0);

export class Batch {
  #memory = new ArrayBuffer(FIRST_CAPACITY);
  #bytes = Buffer.from(this.#memory);
  length = 0;

  add(glimpse: Observation): void {
    const bytes =
      glimpse.what === 'bytes' ? glimpse.piece : glimpse.what === 'refused' ? Buffer.from(glimpse.why) : NOTHING;
    const at = this.length;
    const end = at + HEAD + bytes.length;
    if (end > this.#bytes.length) {
      this.#memory = this.#memory.transfer(Math.max(end, 2 * this.#bytes.length));
      this.#bytes = Buffer.from(this.#memory);
    }
    this.#bytes[at] = KINDS.indexOf(glimpse.what);
    this.#bytes[at + 1] = 'from' in glimpse ? SIDES.indexOf(glimpse.from) : 0;
    this.#bytes[at + 2] = 'how' in glimpse ? ENDINGS.indexOf(glimpse.how) : 0;
    this.#bytes.writeUInt32LE(glimpse.connection, at + 4);
    this.#bytes.writeUInt32LE(bytes.length, at + 8);
    this.#bytes.writeDoubleLE(glimpse.at, at + 12);
    this.#bytes.set(bytes, at + HEAD);
    this.length = end;
  }

  take(): { memory: ArrayBuffer; used: number } {
    const taken = { memory: this.#memory, used: this.length };
    this.#memory = new ArrayBuffer(FIRST_CAPACITY);
    this.#bytes = Buffer.from(this.#memory);
    this.length = 0;
    return taken;
  }
}

export function* observationsIn(memory: ArrayBuffer, used: number): Generator<Observation> {
  const bytes = Buffer.from(memory, 0, used);
  for (let start = 0; start < used; ) {
    const connection = bytes.readUInt32LE(start + 4);
    const end = start + HEAD + bytes.readUInt32LE(start + 8);
    const at = bytes.readDoubleLE(start + 12);
    const rest = bytes.subarray(start + HEAD, end);
    const what = KINDS[bytes[start] ?? 0] ?? 'dropped';
    const from = SIDES[bytes[start + 1] ?? 0] ?? 'client';
    if (what === 'bytes') yield { what, connection, at, from, piece: rest };
    else if (what === 'ended') yield { what, connection, at, from, how: ENDINGS[bytes[start + 2] ?? 0] ?? 'cut' };
    else if (what === 'refused') yield { what, connection, at, why: rest.toString() };
    else yield { what, connection, at };
    start = end;
  }
}
