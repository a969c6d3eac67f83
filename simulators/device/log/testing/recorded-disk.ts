import { constants } from 'node:fs';
import { basename, join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../../common/clock.ts';
import type { Change, Step } from '../../../common/testing/scratch.ts';
import { referenceBehaviour } from '../../behaviour.ts';
import { storedAfter } from '../../stream/reader.ts';
import { EventLog, type EventLogOptions } from '../event-log.ts';
import { type DiskIo, DURABLE, disk } from '../io.ts';

const SYNCS = DURABLE & ~constants.O_RDWR;

export type Failure = 'ENOSPC' | 'EIO' | 'short write';

export const systemError = (code: string): Error => Object.assign(new Error(`${code}: injected`), { code });

const failed = (failure: Failure): Error => systemError(failure === 'EIO' ? 'EIO' : 'ENOSPC');

type Hooks = { [Name in keyof DiskIo]?: (...args: Parameters<DiskIo[Name]>) => void };

/** A hook runs before its operation, and may throw to make the operation fail. */
export function diskWith(hooks: Hooks): DiskIo {
  const hooked = Object.entries(hooks).map(([name, before]: [string, (...args: never[]) => void]) => {
    const operation = disk[name as keyof DiskIo] as (...args: never[]) => unknown;
    const run = (...args: never[]): unknown => {
      before(...args);
      return operation(...args);
    };
    return [name, run];
  });
  return { ...disk, ...Object.fromEntries(hooked) };
}

/** Records changes, so that a test can rebuild the state after a crash. */
export class RecordedDisk {
  readonly steps: Step[] = [];
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
    // O_DSYNC does not cover a truncation or an incomplete write.
    this.steps.push({ kind: 'change', file, change, synced: syncs && whole && change.kind === 'write' });
  }

  #fail(): void {
    const failure = this.fails();
    if (failure !== undefined) throw failed(failure);
  }
}

export class HeldDisk {
  readonly #waiting: (() => void)[] = [];
  held = true;
  readonly io: DiskIo = {
    ...disk,
    load: async (fd, buffer, offset, length, position) => {
      await this.#wait();
      return disk.read(fd, buffer, offset, length, position);
    },
    sync: () => this.#wait(),
    syncDirectory: () => this.#wait(),
    store: (fd, buffer, position) => {
      disk.write(fd, buffer, position);
      return this.#wait();
    },
  };

  async letGo(): Promise<boolean> {
    const [oldest] = this.#waiting.splice(0, 1);
    oldest?.();
    await turn();
    return oldest !== undefined;
  }

  async letAllGo(): Promise<void> {
    this.held = false;
    while (await this.letGo());
  }

  #wait(): Promise<void> {
    return this.held ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve();
  }
}

export const drafts = (count: number, size = 10) =>
  Array.from({ length: count }, () => ({ type: 'deployment.deployed', data: { text: 'x'.repeat(size) } }));

export function open(directory: string, options: Partial<EventLogOptions> = {}) {
  const stored: number[] = [];
  const notices: string[] = [];
  const log = new EventLog({
    directory,
    retain: 1_000_000,
    retainBytes: Number.MAX_SAFE_INTEGER,
    durable: false,
    io: disk,
    clock: systemClock,
    behaviour: referenceBehaviour,
    onStored: (events) => stored.push(...events.map(({ id }) => id)),
    onNotice: (notice) => notices.push(notice),
    ...options,
  });
  return { log, stored, notices };
}

/** Opens a log, and closes it at the end of the test. */
export function opened(...given: Parameters<typeof open>) {
  const made = open(...given);
  onTestFinished(() => made.log.close());
  return made;
}

export function openQuietly(directory: string, io: DiskIo, retain: number): EventLog {
  const onNotice = (notice: string): never => {
    throw new Error(notice);
  };
  return open(directory, { io, retain, durable: true, onNotice }).log;
}

export async function leftLog(directory: string, events: number, end: 'stop' | 'kill'): Promise<string> {
  const { log } = open(directory);
  await log.append(drafts(events));
  if (end === 'stop') await log.close();
  else log.abandon();
  return log.path;
}

export const idsIn = (log: EventLog, after = 0): number[] => Array.from(storedAfter(log, disk, after), ({ id }) => id);

export const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);
