/** A temporary directory for one test. For tests only. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { vi } from 'vitest';
import type { Random } from '../random.ts';

/** Removed with everything in it when it is disposed of. */
export interface Scratch extends Disposable {
  readonly path: string;
}

/** Makes a temporary directory, in `parent` where one is given. */
export function scratch(parent = tmpdir()): Scratch {
  const path = mkdtempSync(join(parent, 'muster-test-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Waits until `holds` does not throw. The timeout only ends what hangs: a busy machine may need most of it. */
export function eventually<T>(holds: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(holds, { timeout: 60_000, interval: 5 });
}

/**
 * Any code point, lone surrogates included, as the unit of `fc.string`. The built-in unit `binary` needs seconds of
 * every test process to set up.
 */
export const anyCharacter = fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code));

// What a crash leaves of a folder, from the steps that changed it: after a kill everything that was done, after a power
// loss only what was synced, with any of the rest dropped, torn or there.

export type Change = { kind: 'write'; at: number; bytes: Buffer } | { kind: 'truncate'; length: number };

/** `file` is a number of the file's own, whatever its name is. */
export type Step =
  | { kind: 'change'; file: number; change: Change; synced: boolean }
  | { kind: 'sync'; file: number }
  | { kind: 'name'; name: string; file: number }
  | { kind: 'rename'; from: string; to: string }
  | { kind: 'remove'; name: string }
  | { kind: 'sync folder' };

/** A power loss: what reaches the disk of what was not synced, and whether the last step was still under way. */
export interface PowerLoss {
  lottery: Random;
  underWay: boolean;
}

/** Writes to `folder` what the first `count` steps have left, after a kill or a power loss. */
export function leave(steps: readonly Step[], count: number, folder: string, loss?: PowerLoss): void {
  const lottery = loss?.lottery;
  const files: FileState[] = [];
  const state = (file: number): FileState => {
    files[file] ??= { synced: new Image(), pending: [] };
    return files[file];
  };
  let names = new Map<string, number>();
  let pending: Step[] = [];
  for (const [at, step] of steps.slice(0, count).entries()) {
    const isOver = loss?.underWay !== true || at < count - 1;
    if (step.kind === 'change') changed(state(step.file), step.change, step.synced && isOver);
    else if (step.kind === 'sync') settle(state(step.file), () => true);
    else if (step.kind === 'sync folder') {
      names = renamed(names, pending);
      pending = [];
    } else pending.push(step);
  }
  // A journal keeps the order of names: some of the last changes are missing.
  const kept = lottery ? lottery.integer(0, pending.length) : pending.length;
  for (const [name, file] of renamed(names, pending.slice(0, kept))) {
    const found = state(file);
    settle(found, () => !lottery || lottery.chance(0.5), lottery);
    writeFileSync(join(folder, name), found.synced.bytes);
  }
}

/** The bytes of a file, changed in place: a database is written thousands of times. */
class Image {
  #room = Buffer.alloc(0);
  #length = 0;

  get bytes(): Buffer {
    return this.#room.subarray(0, this.#length);
  }

  apply(change: Change): void {
    if (change.kind === 'truncate') {
      this.#resize(change.length);
      return;
    }
    const { at, bytes } = change;
    this.#resize(Math.max(this.#length, at + bytes.length));
    bytes.copy(this.#room, at);
  }

  /** What a file gains without being written is zeros. */
  #resize(length: number): void {
    if (length > this.#room.length) {
      const grown = Buffer.alloc(Math.max(length, 2 * this.#room.length));
      this.bytes.copy(grown);
      this.#room = grown;
    }
    if (length < this.#length) this.#room.fill(0, length, this.#length);
    this.#length = length;
  }
}

interface FileState {
  synced: Image;
  pending: Change[];
}

/** A synchronous write brings itself and the size of the file to the disk, and no other data. */
function changed(file: FileState, change: Change, synced: boolean): void {
  if (!synced) {
    file.pending.push(change);
    return;
  }
  for (const one of [...file.pending, change]) if (one.kind === 'truncate' || one === change) file.synced.apply(one);
  const cut = file.pending.findLastIndex(({ kind }) => kind === 'truncate');
  file.pending = file.pending.slice(cut + 1);
}

/** Each waiting change reaches the disk, whole or in part, or does not. */
function settle(file: FileState, reaches: () => boolean, lottery?: Random): void {
  for (const change of file.pending) {
    if (!reaches()) continue;
    const torn = change.kind === 'write' && lottery?.chance(0.3) === true;
    const bytes = torn ? change.bytes.subarray(0, lottery.integer(0, change.bytes.length)) : undefined;
    file.synced.apply(bytes && change.kind === 'write' ? { ...change, bytes } : change);
  }
  file.pending = [];
}

function renamed(names: ReadonlyMap<string, number>, steps: readonly Step[]): Map<string, number> {
  const now = new Map(names);
  for (const step of steps) {
    if (step.kind === 'name') now.set(step.name, step.file);
    else if (step.kind === 'remove') now.delete(step.name);
    else if (step.kind === 'rename') {
      const file = now.get(step.from);
      now.delete(step.from);
      if (file !== undefined) now.set(step.to, file);
    }
  }
  return now;
}
