/** Checks what a subscriber sees over all its connections: every event in order, none missing, none renumbered (section 6.2). */
import type { Violation } from '../result/result.ts';

export type StreamFault = Pick<Violation, 'kind' | 'message'>;

/** Events kept to distinguish a repeated event, which is allowed, from a renumbered one, which is not. */
const KEPT = 8;

export class StreamCheck {
  /** Id of the newest event seen: the cursor of the next connection. */
  last: number;
  #recent: { id: number; text: string }[] = [];
  #firstOfConnection = true;
  #unused: { from: number; to: number } | undefined;

  /** `cursor`: the newest event that existed before the first connection. */
  constructor(cursor: number) {
    this.last = cursor;
  }

  /** Call before each connection. */
  connecting(): void {
    this.#firstOfConnection = true;
  }

  /** The log no longer reaches back to the cursor (410, section 7). The check continues with the next event. */
  expired({ earliest, latest }: { earliest: number; latest: number }): StreamFault | undefined {
    const cursor = this.last;
    this.last = latest;
    this.#recent = [];
    if (cursor < earliest) return undefined;
    return {
      kind: 'loss',
      message: `the cursor at id ${cursor} was answered 410 although ids ${earliest} to ${latest} are retained`,
    };
  }

  /** A crash may have left these ids without an event, so missing them is no fault. */
  mayBeUnused(from: number, to: number): void {
    this.#unused = { from, to };
  }

  /** Checks the next event of the stream; `text` is its envelope as received. `fresh` is false for an event seen before. */
  see(id: number, text: string): { fresh: boolean; fault?: StreamFault } {
    const first = this.#firstOfConnection;
    this.#firstOfConnection = false;
    if (id <= this.last) {
      const known = this.#recent.find((event) => event.id === id);
      if (known !== undefined && known.text !== text) {
        return { fresh: false, fault: { kind: 'renumbered', message: `id ${id} came again with different content` } };
      }
      if (first || known !== undefined) return { fresh: false };
      return { fresh: false, fault: { kind: 'reorder', message: `id ${id} came after id ${this.last}` } };
    }
    const expected = this.last + 1;
    this.last = id;
    this.#recent.push({ id, text });
    if (this.#recent.length > KEPT) this.#recent.shift();
    if (id === expected || this.#excused(expected, id - 1)) return { fresh: true };
    const missing = expected === id - 1 ? `id ${expected}` : `ids ${expected} to ${id - 1}`;
    return {
      fresh: true,
      fault: first
        ? { kind: 'loss', message: `${missing} lost across a reconnect: after id ${expected - 1} came id ${id}` }
        : { kind: 'gap', message: `${missing} missing within a connection: after id ${expected - 1} came id ${id}` },
    };
  }

  /** At the end of a run, everything that the robot published must have been read. */
  finish(newest: number): StreamFault | undefined {
    if (newest <= this.last || this.#excused(this.last + 1, newest)) return undefined;
    return { kind: 'loss', message: `ids ${this.last + 1} to ${newest} were published and never read` };
  }

  #excused(from: number, to: number): boolean {
    return this.#unused !== undefined && from >= this.#unused.from && to <= this.#unused.to;
  }
}
