/** Parses an event stream by blocks, and keeps the bytes of the unfinished one. */

import { type SseFrame, SseParser } from '../client/sse-parser.ts';
import { Bytes } from '../common/bytes.ts';
import type { Pairs } from '../common/http-parser.ts';

/** Bytes kept of an incomplete block. */
const LONGEST_TORN = 4096;

export class StreamReader {
  readonly #parser: SseParser;
  readonly #tail = new Bytes(LONGEST_TORN);
  /** Offset after the last whole block or comment. */
  #end = 0;

  /** Throws BlockTooLarge from `push`. */
  constructor(frame: (fields: Pairs, at: number, frame: SseFrame) => void) {
    this.#parser = new SseParser({
      frame: (each) => {
        this.#end = each.end;
        frame(
          each.fields.map(({ name, value }) => [name, value]),
          each.at,
          each,
        );
      },
      comment: ({ end }) => {
        this.#end = end;
      },
    });
  }

  push(piece: Buffer, at: number): void {
    const before = this.#parser.bytes;
    const from = this.#end;
    this.#parser.push(piece, at);
    if (this.#end > from) this.#tail.drop(this.#tail.length);
    this.#tail.append(piece.subarray(Math.max(0, this.#end - before)));
  }

  get held(): number {
    return this.#parser.held + this.#tail.capacity;
  }

  /** Bytes of an unfinished block; undefined if there are none. */
  get torn(): string | undefined {
    return this.#parser.unfinished && this.#tail.length > 0 ? this.#tail.view().toString('utf8') : undefined;
  }
}
