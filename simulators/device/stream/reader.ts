/** Reads stored events after a cursor, from the file, in portions; survives any number of compactions on the way. */
import type { EventLog } from '../log/event-log.ts';
import type { Generation } from '../log/generation.ts';
import type { DiskIo } from '../log/io.ts';
import { parseLine, type StoredEvent } from '../log/line.ts';
import { scanLines } from '../log/scan.ts';

const PORTION_BYTES = 65_536;

export class LogReader {
  readonly #log: EventLog;
  readonly #io: DiskIo;
  #generation: Generation;
  #fd: number | undefined;
  #offset: number;
  /** Id of the last event read, or the cursor. */
  position: number;

  constructor(log: EventLog, io: DiskIo, after: number) {
    this.#log = log;
    this.#io = io;
    this.position = after;
    this.#generation = log.generation;
    this.#offset = this.#start();
  }

  /**
   * The next portion of events. Empty: everything stored at this moment has been read. `overtaken`: events after the
   * position were compacted away while the reader was behind.
   */
  read(): StoredEvent[] | 'overtaken' {
    for (;;) {
      // A file that was never opened cannot be any more once its name leads to another.
      const lost = this.#fd === undefined && this.outdated;
      const events = lost ? [] : this.#portion();
      if (events.length > 0) return events;
      if (!lost && this.#offset < this.#generation.bytes) continue;
      if (!this.outdated) return events;
      this.close();
      this.#generation = this.#log.generation;
      if (this.#log.earliest > this.position + 1) return 'overtaken';
      this.#offset = this.#start();
    }
  }

  /** Whether the file that is being read has been superseded. */
  get outdated(): boolean {
    return this.#generation !== this.#log.generation;
  }

  /** Bytes between the position and the end of the file. */
  get behind(): number {
    return this.#generation.bytes - this.#offset;
  }

  close(): void {
    if (this.#fd !== undefined) this.#io.close(this.#fd);
    this.#fd = undefined;
  }

  #start(): number {
    const { bytes, index, latest } = this.#generation;
    return this.position >= latest ? bytes : index.offsetBefore(this.position);
  }

  #portion(): StoredEvent[] {
    const events: StoredEvent[] = [];
    const to = this.#generation.bytes;
    if (this.#offset >= to) return events;
    this.#fd ??= this.#io.open(this.#log.path, 'r');
    const until = this.#offset + PORTION_BYTES;
    const next = scanLines(this.#io, this.#fd, this.#offset, to, (line, offset) => {
      const event = parseLine(line);
      if (event && event.id > this.position) {
        events.push(event);
        this.position = event.id;
      }
      return offset < until;
    });
    // What cannot be read as lines (the file was cut from outside) is over.
    this.#offset = next > this.#offset ? next : to;
    return events;
  }
}
