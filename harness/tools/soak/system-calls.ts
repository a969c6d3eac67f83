/**
 * Runs a process under strace, which records its operations on the files of one folder, and makes some of them fail. So
 * SQLite's own steps show in order, with their bytes.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { dirname } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import type { Step } from '../../../simulators/common/testing/scratch.ts';

/** Makes the calls with these numbers fail, e.g. the 12th and every 30th after it. */
export interface Injection {
  call: 'pwrite64' | 'fsync' | 'ftruncate' | 'unlink';
  error: 'ENOSPC' | 'EIO';
  first: number;
  every: number;
}

export interface TracedRun {
  /** Operations on files right in the folder. */
  steps: Step[];
  /** Notes, line by line, with the number of steps before each. */
  notes: { step: number; line: string }[];
  /** Failed calls by kind, each with the number of steps before it. */
  failures: { step: number; kind: string }[];
}

/** Reason why nothing can be traced here; undefined when it can. */
export function whyUntraceable(): string | undefined {
  if (process.platform !== 'linux') return 'system calls are recorded by strace, which is for Linux';
  for (const tool of ['strace', 'prlimit']) {
    if (spawnSync(tool, ['--version']).status !== 0)
      return `${tool} is missing; on Debian: apt-get install strace util-linux`;
  }
  return undefined;
}

const CALLS = [
  'openat',
  'close',
  'write',
  'pwrite64',
  'ftruncate',
  'fsync',
  'fdatasync',
  '?unlink',
  'unlinkat',
  '?rename',
];
/** Above the longest text that is written at once. */
const LONGEST_TEXT = 16_777_216;

/**
 * Runs `command` and resolves with the operations of its main thread in `folder`. `largest`: maximum bytes of a file; a
 * write beyond is cut short, then refused with EFBIG.
 */
export async function runTraced(
  command: readonly string[],
  {
    folder,
    notes,
    injections,
    largest,
  }: { folder: string; notes: string; injections: readonly Injection[]; largest?: number },
): Promise<TracedRun> {
  const trace = `${notes}.trace`;
  const inject = injections.map(
    ({ call, error, first, every }) => `inject=${call}:error=${error}:when=${first}+${every}`,
  );
  const strace = [
    ...['strace', '-q', '-xx', '-s', String(LONGEST_TEXT), '-o', trace, '-e', `trace=${CALLS.join(',')}`],
    ...inject.flatMap((one) => ['-e', one]),
  ];
  const limited = largest === undefined ? [] : ['prlimit', `--fsize=${largest}:`];
  const [program = '', ...words] = [...strace, ...limited, ...command];
  const child = spawn(program, words, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, TMPDIR: dirname(notes) },
  });
  const ended = once(child, 'close');
  const [said] = await Promise.all([text(child.stderr), ended]);
  const run = new Folder(folder, notes);
  for await (const line of createInterface({ input: createReadStream(trace) })) run.take(line);
  if (run.notes.length === 0) throw new Error(`${program} has recorded nothing: ${said}`);
  return run;
}

const LINE = /^(\w+)\((.*)\)\s+= (-?\d+)( E\w+)?/s;
const QUOTED = /"((?:\\x[0-9a-f]{2})*)"/;

const bytesIn = (words: string): Buffer => Buffer.from((QUOTED.exec(words)?.[1] ?? '').replaceAll('\\x', ''), 'hex');
/** Numbers behind the quoted text. */
const numbersAfter = (words: string): number[] =>
  words
    .slice(words.lastIndexOf('"') + 1)
    .split(',')
    .slice(1)
    .map(Number);

/** Turns calls into steps. */
class Folder implements TracedRun {
  readonly steps: Step[] = [];
  readonly notes: { step: number; line: string }[] = [];
  readonly failures: { step: number; kind: string }[] = [];
  readonly #folder: string;
  readonly #notes: string;
  readonly #open = new Map<number, { name: string; file: number }>();
  readonly #names = new Map<string, number>();
  #files = 0;

  constructor(folder: string, notes: string) {
    this.#folder = folder;
    this.#notes = notes;
  }

  take(line: string): void {
    const [, call = '', words = '', result = '', error] = LINE.exec(line) ?? [];
    if (call === '') return;
    if (line.includes('(INJECTED)') || error === ' EFBIG') this.#failed(error?.trim() ?? '');
    if (Number(result) < 0) return;
    if (call === 'openat') this.#opened(words, Number(result));
    else if (call.startsWith('unlink')) this.#removed(bytesIn(words).toString());
    else if (call === 'rename') this.#renamed(words);
    else this.#used(call, words, Number(result));
  }

  #failed(kind: string): void {
    this.failures.push({ step: this.steps.length, kind });
  }

  /** Name in the folder; undefined for other paths. */
  #nameOf(path: string): string | undefined {
    const name = path.slice(this.#folder.length + 1);
    return dirname(path) === this.#folder && path !== this.#notes ? name : undefined;
  }

  #opened(words: string, fd: number): void {
    const path = bytesIn(words).toString();
    const name = path === this.#folder || path === this.#notes ? path : this.#nameOf(path);
    if (name === undefined) {
      this.#open.delete(fd);
      return;
    }
    let file = this.#names.get(name);
    if (file === undefined && words.includes('O_CREAT') && path !== this.#notes) {
      file = this.#files++;
      this.#names.set(name, file);
      this.steps.push({ kind: 'name', name, file });
    }
    this.#open.set(fd, { name, file: file ?? -1 });
  }

  #removed(path: string): void {
    const name = this.#nameOf(path);
    if (name !== undefined && this.#names.delete(name)) this.steps.push({ kind: 'remove', name });
  }

  /** SQLite renames nothing, and other folders do not count. */
  #renamed(words: string): void {
    const path = bytesIn(words).toString();
    if (this.#nameOf(path) !== undefined)
      throw new Error(`${path} was renamed: this recorder does not know what that leaves`);
  }

  #used(call: string, words: string, result: number): void {
    const fd = Number.parseInt(words, 10);
    const { name, file = -1 } = this.#open.get(fd) ?? {};
    if (name === undefined) return;
    if (call === 'close') this.#open.delete(fd);
    else if (name === this.#notes) this.notes.push({ step: this.steps.length, line: bytesIn(words).toString().trim() });
    else if (call === 'fsync' || call === 'fdatasync')
      this.steps.push(name === this.#folder ? { kind: 'sync folder' } : { kind: 'sync', file });
    else if (call === 'ftruncate') {
      const length = Number(words.split(',')[1]);
      this.steps.push({ kind: 'change', file, change: { kind: 'truncate', length }, synced: false });
    } else this.#wrote(file, words, result);
  }

  #wrote(file: number, words: string, done: number): void {
    const bytes = bytesIn(words);
    const [wanted = 0, at = Number.NaN] = numbersAfter(words);
    if (bytes.length !== wanted || Number.isNaN(at))
      throw new Error(`cannot read a write in the trace: ${words.slice(-60)}`);
    if (done < wanted) this.#failed('short write');
    this.steps.push({
      kind: 'change',
      file,
      change: { kind: 'write', at, bytes: bytes.subarray(0, done) },
      synced: false,
    });
  }
}
