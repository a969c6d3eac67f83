/**
 * The high-water mark: a small file beside the log, so that no id is assigned twice, even when the log was deleted, emptied or
 * torn. Ids are reserved in blocks; a clean stop writes the exact highest id.
 */
import { readFileSync } from 'node:fs';
import { type Gap, NO_GAPS } from './generation.ts';
import { type DiskIo, ifPresent, replaceFile } from './io.ts';

export interface Mark {
  /** No id above this one has been assigned. */
  highest: number;
  /** Ids up to this one had been assigned when the mark was written. */
  from: number;
  /** Whether `highest` is exact (written by a clean stop) or the end of a reserved block. */
  clean: boolean;
  /** Ids between those of the events in the log that were given up. */
  gaps: readonly Gap[];
}

export const MARK_FILE = 'events.mark';

const FIRST_BLOCK = 1_024;
const LARGEST_BLOCK = 16_384;

/** The mark in `directory`; undefined when there is none, or an unreadable one. */
export function readMark(directory: string): Mark | undefined {
  const path = `${directory}/${MARK_FILE}`;
  const text = ifPresent(path, () => readFileSync(path, 'utf8'));
  if (text === undefined) return undefined;
  try {
    const { highest, from, clean, gaps } = JSON.parse(text) as Record<string, unknown>;
    if (!isId(highest)) return undefined;
    return {
      highest,
      from: isId(from) ? from : 0,
      clean: clean === true,
      gaps: Array.isArray(gaps) ? gaps.filter(isGap) : NO_GAPS,
    };
  } catch {
    return undefined;
  }
}

/** Replaces the mark in one step. */
export async function writeMark(io: DiskIo, directory: string, mark: Mark, durable: boolean): Promise<void> {
  await replaceFile(io, directory, MARK_FILE, `${JSON.stringify(mark)}\n`, durable);
}

/** Ids to reserve after a block of `previous` ids. The size doubles, so that a busy log seldom writes its mark. */
export function nextBlock(previous: number): number {
  return previous === 0 ? FIRST_BLOCK : Math.min(previous * 2, LARGEST_BLOCK);
}

/**
 * The highest id that counts as assigned when the log ends with `last`. After a clean stop the mark is exact. After a crash, an
 * undamaged log that reaches into the reserved block is complete, because an event is stored before any client sees it. Otherwise
 * events that clients saw may be missing, and the whole block is given up.
 */
export function highestGivenOut(last: number, mark: Mark | undefined, damaged: boolean): number {
  if (!mark || mark.highest <= last) return last;
  const complete = !mark.clean && last > 0 && last >= mark.from && !damaged;
  return complete ? last : mark.highest;
}

const isGap = (value: unknown): value is Gap => {
  const { after, through } = (value ?? {}) as Record<string, unknown>;
  return isId(after) && isId(through) && after < through;
};

const isId = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
