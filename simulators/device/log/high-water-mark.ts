/** Records the highest assigned id beside the log, so that the agent repeats no id after damage to the log. */

import { constants, readFileSync } from 'node:fs';
import { type Gap, NO_GAPS } from './generation.ts';
import { type DiskIo, ifPresent, opened, replaceFile } from './io.ts';
import { sealed, unseal } from './line.ts';

export interface Mark {
  highest: number;
  /** Highest assigned id when the mark was written. */
  from: number;
  /** True after a clean stop, when `highest` is exact; false while `highest` ends a block of reserved ids. */
  clean: boolean;
  /** True if events reach the disk before they reach clients. */
  durable: boolean;
  gaps: readonly Gap[];
  lost?: true;
}

export const MARK_FILE = 'events.mark';
export const LAST_FILE = 'events.last';

const LARGEST_BLOCK = 16_384;

export function readMark(directory: string): Mark | undefined {
  const path = `${directory}/${LAST_FILE}`;
  const [, digits] = /^(\d{16})\n$/.exec(ifPresent(path, () => readFileSync(path, 'utf8')) ?? '') ?? [];
  const last = digits !== undefined && isId(Number(digits)) ? Number(digits) : 0;
  const mark = markIn(`${directory}/${MARK_FILE}`);
  if (mark && !mark.lost) return { ...mark, highest: Math.max(mark.highest, last), from: Math.max(mark.from, last) };
  if (last === 0) return mark;
  return { highest: last + LARGEST_BLOCK, from: last, clean: false, durable: true, gaps: NO_GAPS };
}

const LOST: Mark = { highest: 0, from: 0, clean: false, durable: false, gaps: NO_GAPS, lost: true };

function markIn(path: string): Mark | undefined {
  const text = ifPresent(path, () => readFileSync(path, 'utf8'))?.trimEnd();
  if (text === undefined) return undefined;
  try {
    const stored: Record<string, unknown> = JSON.parse(unseal(text) ?? text);
    const { highest, from, clean, durable, gaps, ...others } = stored;
    if (!isId(highest) || Object.keys(others).length > 0) return LOST;
    return {
      highest,
      from: isId(from) ? from : 0,
      clean: clean === true,
      durable: durable === true,
      gaps: Array.isArray(gaps) ? gaps.filter(isGap) : NO_GAPS,
    };
  } catch {
    return LOST;
  }
}

export async function writeMark(io: DiskIo, directory: string, mark: Mark, durable: boolean): Promise<void> {
  await replaceFile(io, directory, MARK_FILE, sealed(`${JSON.stringify(mark)}\n`), durable);
}

const lastText = (id: number): Buffer => Buffer.from(`${String(id).padStart(16, '0')}\n`);

export async function beginLast(io: DiskIo, directory: string, id: number, durable: boolean): Promise<void> {
  if (durable) await replaceFile(io, directory, LAST_FILE, lastText(id), false);
  else io.remove(`${directory}/${LAST_FILE}`);
}

/** Overwrites the file in place, which succeeds even on a full disk. */
export function writeLast(io: DiskIo, directory: string, id: number): void {
  using file = opened(io, `${directory}/${LAST_FILE}`, constants.O_WRONLY | (constants.O_NOFOLLOW ?? 0));
  io.write(file.fd, lastText(id), 0);
}

/** Number of ids to reserve next, which doubles so that a busy log seldom rewrites its mark file. */
export const nextBlock = (previous: number): number => (previous === 0 ? 1_024 : Math.min(previous * 2, LARGEST_BLOCK));

/**
 * Highest id that counts as assigned; after a crash, reserved ids count too, unless the log is provably complete.
 * `last`: id of the last event in the log.
 */
export function highestGivenOut(last: number, mark: Mark | undefined, damaged: boolean): number {
  if (!mark || mark.lost) return last > 0 || mark ? last + LARGEST_BLOCK : 0;
  if (mark.highest <= last) return last;
  const complete = !mark.clean && mark.durable && last > 0 && last >= mark.from && !damaged;
  return complete ? last : mark.highest;
}

const isGap = (value: unknown): value is Gap => {
  const { after, through } = (value ?? {}) as Record<string, unknown>;
  return isId(after) && isId(through) && after < through;
};

const isId = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
