/** Lines of a log that hold no event: noticed when a reader meets them, and counted on request. */
import { setImmediate as turn } from 'node:timers/promises';
import type { ControlLog } from '../../../harness/contract/control.ts';
import type { Generation } from './generation.ts';
import { type DiskIo, ifPresent } from './io.ts';
import { scanEvents } from './scan.ts';

/** Lines that are named one by one in the robot's own log, and in the answer of `GET /log`. */
const NAMED = 10;
const PORTION_BYTES = 1_048_576;

/** The damaged lines that readers have met in the current file. */
export class Damage {
  #generation: Generation | undefined;
  readonly #met = new Set<number>();

  /** What to say of a damaged line at `offset`; undefined when it was said before. */
  notice(generation: Generation, offset: number, bytes: number): string | undefined {
    if (generation !== this.#generation) this.#met.clear();
    this.#generation = generation;
    if (this.#met.has(offset) || this.#met.size >= NAMED) return undefined;
    this.#met.add(offset);
    const more = this.#met.size === NAMED ? '; further ones are not named' : '';
    return `the line of ${bytes} bytes at offset ${offset} is damaged, and skipped${more}`;
  }
}

/** A log as it is inspected. */
interface Inspected {
  readonly path: string;
  readonly generation: Generation;
  readonly earliest: number;
  readonly latest: number;
  readonly repairs: readonly string[];
}

/** Reads all of the log, and tells what is in it. Others get their turn meanwhile. */
export async function inspect(log: Inspected, io: DiskIo): Promise<ControlLog> {
  const { generation, path, earliest, latest, repairs } = log;
  const found = { events: 0, lines: 0, bytes: 0, skipped: [] as { offset: number; bytes: number }[] };
  const bad = (offset: number, bytes: number): void => {
    found.lines += 1;
    found.bytes += bytes;
    if (found.skipped.length < NAMED) found.skipped.push({ offset, bytes });
  };
  const fd = ifPresent(path, () => io.open(path, 'r'));
  try {
    let after = 0;
    for (let from = 0; fd !== undefined && from < generation.bytes; await turn()) {
      const until = from + PORTION_BYTES;
      const scan = { io, fd, from, to: generation.bytes, after, onDamage: bad, onDisorder: bad };
      const next = scanEvents(scan, ({ id }, offset) => {
        found.events += 1;
        after = id;
        return offset < until;
      });
      if (next === from) break;
      from = next;
    }
  } finally {
    if (fd !== undefined) io.close(fd);
  }
  return {
    bytes: generation.bytes,
    events: found.events,
    earliest_id: earliest,
    latest_id: latest,
    skipped_lines: found.lines,
    skipped_bytes: found.bytes,
    skipped: found.skipped,
    unused_ids: [...generation.gaps],
    repairs: [...repairs],
  };
}
