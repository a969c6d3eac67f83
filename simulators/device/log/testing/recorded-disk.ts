/**
 * A disk that records what was done to one folder, and can build what would be left of it: after a kill everything that was done,
 * after a power loss only what was synced, with any of the rest dropped, torn or there.
 */
import { constants, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Random } from '../../../common/random.ts';
import { type DiskIo, DURABLE, disk } from '../io.ts';

type Change = { kind: 'write'; at: number; bytes: Buffer } | { kind: 'truncate'; length: number };
type Step =
  | { kind: 'change'; file: number; change: Change; synced: boolean }
  | { kind: 'sync'; file: number }
  | { kind: 'name'; name: string; file: number }
  | { kind: 'rename'; from: string; to: string }
  | { kind: 'remove'; name: string }
  | { kind: 'sync folder' };

const SYNCS = DURABLE & ~constants.O_RDWR;

/** How an operation fails. */
export type Failure = 'ENOSPC' | 'EIO' | 'short write';

const failed = (failure: Failure): Error => {
  const code = failure === 'EIO' ? 'EIO' : 'ENOSPC';
  return Object.assign(new Error(`${code}: injected`), { code });
};

/** A real folder behind a recorder. Nothing waits for the real disk. */
export class RecordedDisk {
  readonly steps: Step[] = [];
  /** How the next operation that changes something fails; undefined when it works. Asked once for each. */
  fails: () => Failure | undefined = () => undefined;
  readonly io: DiskIo;
  readonly #folder: string;
  readonly #names = new Map<string, number>();
  readonly #open = new Map<number, { file: number; syncs: boolean }>();
  #files = 0;

  constructor(folder: string) {
    this.#folder = folder;
    this.io = {
      ...disk,
      open: (path, flags, mode) => this.#opened(path, flags, mode),
      close: (fd) => {
        this.#open.delete(fd);
        disk.close(fd);
      },
      write: (fd, bytes, position) => this.#write(fd, bytes, position),
      store: async (fd, bytes, position) => this.#write(fd, bytes, position),
      truncate: (fd, length) => {
        this.#fail();
        disk.truncate(fd, length);
        this.#change(fd, { kind: 'truncate', length });
      },
      rename: (from, to) => {
        this.#fail();
        disk.rename(from, to);
        const [old, name] = [this.#name(from), this.#name(to)];
        this.#names.set(name, this.#names.get(old) ?? -1);
        this.#names.delete(old);
        this.steps.push({ kind: 'rename', from: old, to: name });
      },
      remove: (path) => {
        disk.remove(path);
        if (this.#names.delete(this.#name(path))) this.steps.push({ kind: 'remove', name: this.#name(path) });
      },
      sync: async (fd) => {
        this.#fail();
        this.steps.push({ kind: 'sync', file: this.#open.get(fd)?.file ?? -1 });
      },
      syncDirectory: async () => {
        this.#fail();
        this.steps.push({ kind: 'sync folder' });
      },
    };
  }

  #name(path: string): string {
    if (join(this.#folder, basename(path)) !== path) throw new Error(`${path} is in another folder`);
    return basename(path);
  }

  #opened(path: string, flags: string | number, mode?: number): number {
    const bits = typeof flags === 'number' ? flags : 0;
    if ((bits & constants.O_CREAT) !== 0) this.#fail();
    const fd = disk.open(path, typeof flags === 'number' ? flags & ~SYNCS : flags, mode);
    const name = this.#name(path);
    let file = this.#names.get(name);
    if (file === undefined) {
      file = this.#files++;
      this.#names.set(name, file);
      this.steps.push({ kind: 'name', name, file });
    }
    this.#open.set(fd, { file, syncs: (bits & SYNCS) !== 0 });
    return fd;
  }

  #write(fd: number, bytes: Uint8Array, at: number): void {
    const failure = this.fails();
    const whole = Buffer.from(bytes);
    const done = failure === 'short write' ? whole.subarray(0, whole.length >> 1) : whole;
    if (failure !== undefined && failure !== 'short write') throw failed(failure);
    disk.write(fd, done, at);
    this.#change(fd, { kind: 'write', at, bytes: done }, failure === undefined);
    if (failure !== undefined) throw failed(failure);
  }

  #change(fd: number, change: Change, whole = true): void {
    const { file = -1, syncs = false } = this.#open.get(fd) ?? {};
    // A truncation waits for the next synchronous write, however the file was opened.
    this.steps.push({ kind: 'change', file, change, synced: syncs && whole && change.kind === 'write' });
  }

  #fail(): void {
    const failure = this.fails();
    if (failure !== undefined) throw failed(failure);
  }
}

interface FileState {
  synced: Buffer;
  pending: Change[];
}

function applied(content: Buffer, change: Change): Buffer {
  if (change.kind === 'truncate') return resized(content, change.length);
  const { at, bytes } = change;
  const grown = Buffer.from(resized(content, Math.max(content.length, at + bytes.length)));
  bytes.copy(grown, at);
  return grown;
}

/** What a file gains without being written is zeros. */
const resized = (content: Buffer, length: number): Buffer =>
  length <= content.length
    ? content.subarray(0, length)
    : Buffer.concat([content, Buffer.alloc(length - content.length)]);

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
  // A journal keeps the order of names: some of the last changes are missing.
  const kept = lottery ? lottery.integer(0, pending.length) : pending.length;
  for (const [name, file] of renamed(names, pending.slice(0, kept))) {
    const found = state(file);
    settle(found, () => !lottery || lottery.chance(0.5), lottery);
    writeFileSync(join(folder, name), found.synced);
  }
}

/** A synchronous write brings itself and the size of the file to the disk, and no other data. */
function changed(file: FileState, change: Change, synced: boolean): void {
  if (!synced) {
    file.pending.push(change);
    return;
  }
  for (const one of [...file.pending, change]) {
    if (one.kind === 'truncate' || one === change) file.synced = applied(file.synced, one);
  }
  const cut = file.pending.findLastIndex(({ kind }) => kind === 'truncate');
  file.pending = file.pending.slice(cut + 1);
}

/** Each waiting change reaches the disk, whole or in part, or does not. */
function settle(file: FileState, reaches: () => boolean, lottery?: Random): void {
  for (const change of file.pending) {
    if (!reaches()) continue;
    const torn = change.kind === 'write' && lottery?.chance(0.3) === true;
    const bytes = torn ? change.bytes.subarray(0, lottery.integer(0, change.bytes.length)) : undefined;
    file.synced = applied(file.synced, bytes && change.kind === 'write' ? { ...change, bytes } : change);
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
