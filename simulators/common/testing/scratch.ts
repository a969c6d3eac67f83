import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, vi } from 'vitest';
import type { Random } from '../random.ts';

interface Scratch extends Disposable {
  readonly path: string;
}

export function scratch(parent = tmpdir()): Scratch {
  const path = mkdtempSync(join(parent, 'muster-test-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

export function useScratch(): { readonly path: string } {
  const home = { path: '' };
  // Removes the folder after servers and clients of the test have ended, because these hooks run in reverse order.
  beforeEach(({ onTestFinished }) => {
    const own = scratch();
    home.path = own.path;
    onTestFinished(() => own[Symbol.dispose]());
  });
  return home;
}

/** Path of `names` below a folder of each test. */
export function useFolder(): (...names: string[]) => string {
  const home = useScratch();
  return (...names) => join(home.path, ...names);
}

export function eventually<T>(holds: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(holds, { timeout: 60_000, interval: 5 });
}

/** Any character, even a lone surrogate; replaces fast-check's unit `binary`, which takes seconds to set up. */
export const anyCharacter = fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code));

// A kill keeps all changes; a power loss keeps synced and a random part of unsynced changes.

export type Change = { kind: 'write'; at: number; bytes: Buffer } | { kind: 'truncate'; length: number };

/** `file`: number that a file keeps when its name changes. */
export type Step =
  | { kind: 'change'; file: number; change: Change; synced: boolean }
  | { kind: 'sync'; file: number }
  | { kind: 'name'; name: string; file: number }
  | { kind: 'rename'; from: string; to: string }
  | { kind: 'remove'; name: string }
  | { kind: 'sync folder' };

/** `lottery` decides which unsynced changes survive; `underWay`: the last step was incomplete. */
export interface PowerLoss {
  lottery: Random;
  underWay: boolean;
}

/** Writes the files that remain after `count` steps and the power loss `loss`, or a kill. */
export function leave(steps: readonly Step[], count: number, folder: string, loss?: PowerLoss): void {
  const lottery = loss?.lottery;
  const files: FileState[] = [];
  const state = (file: number): FileState => {
    files[file] ??= { synced: Buffer.alloc(0), pending: [] };
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
  // A journal keeps the order of changes of names, so that only the last ones are lost.
  const kept = lottery ? lottery.integer(0, pending.length) : pending.length;
  for (const [name, file] of renamed(names, pending.slice(0, kept))) {
    const found = state(file);
    settle(found, () => !lottery || lottery.chance(0.5), lottery);
    writeFileSync(join(folder, name), found.synced);
  }
}

interface FileState {
  synced: Buffer;
  pending: Change[];
}

function apply(file: FileState, change: Change): void {
  const { length } = file.synced;
  const changed = Buffer.alloc(
    change.kind === 'truncate' ? change.length : Math.max(length, change.at + change.bytes.length),
  );
  file.synced.copy(changed);
  if (change.kind === 'write') change.bytes.copy(changed, change.at);
  file.synced = changed;
}

/** A synchronous write saves its own bytes and the file's size, not earlier writes. */
function changed(file: FileState, change: Change, synced: boolean): void {
  if (!synced) {
    file.pending.push(change);
    return;
  }
  for (const one of [...file.pending, change]) if (one.kind === 'truncate' || one === change) apply(file, one);
  const cut = file.pending.findLastIndex(({ kind }) => kind === 'truncate');
  file.pending = file.pending.slice(cut + 1);
}

/** `reaches` decides whether a change survives; `lottery` may shorten a write. */
function settle(file: FileState, reaches: () => boolean, lottery?: Random): void {
  for (const change of file.pending) {
    if (!reaches()) continue;
    const torn = change.kind === 'write' && lottery?.chance(0.3) === true;
    const bytes = torn ? change.bytes.subarray(0, lottery.integer(0, change.bytes.length)) : undefined;
    apply(file, bytes && change.kind === 'write' ? { ...change, bytes } : change);
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
