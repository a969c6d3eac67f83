/**
 * Files of a recording. Appends only whole lines, so that the file stays readable however the process ends. Rotates
 * full files, and removes the oldest.
 */
import { closeSync, existsSync, ftruncateSync, lstatSync, openSync, renameSync, writeSync } from 'node:fs';
import { NEW_FILE, SECRET_MODE } from '../common/user-files.ts';

/** Rotated files; `FILE.1` is the newest. */
const ASIDE = 4;

/** Rejects devices, pipes and links, which rotation would take from their users. */
export function expectFiles(path: string): void {
  const names = [path, ...Array.from({ length: ASIDE }, (_, index) => `${path}.${index + 1}`)];
  const stranger = names.find((name) => lstatSync(name, { throwIfNoEntry: false })?.isFile() === false);
  if (stranger !== undefined) throw new Error(`${stranger} is there, and is no regular file; name one, or a new one`);
}

export class RecordFile {
  readonly #path: string;
  readonly #limit: number;
  /** Text at the beginning and end of each file. `end` follows each piece, and the next piece overwrites it. */
  readonly #form: { begin(part: number): string; end: string };
  /** Undefined once closed, because its number may then belong to a socket. */
  #file: number | undefined;
  #part = 1;
  #size = 0;
  #isEmpty = true;

  /** Rotates a file at `path`, which may be the recording of the last watch. Throws Error. */
  constructor(path: string, limit: number, form: { begin(part: number): string; end: string }) {
    this.#path = path;
    this.#limit = limit;
    this.#form = form;
    this.#putAside();
    this.#begin();
  }

  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  /** Throws the system's error. */
  append(text: string): void {
    const bytes = Buffer.from(text + this.#form.end);
    try {
      this.#write(bytes, this.#size);
    } catch (error) {
      this.#takeBack();
      throw error;
    }
    this.#size += bytes.length - Buffer.byteLength(this.#form.end);
    this.#isEmpty = false;
  }

  /** Rotates the file if it is full. Throws the system's error. */
  turn(): boolean {
    if (this.#size < this.#limit) return false;
    this.close();
    this.#putAside();
    this.#part += 1;
    this.#begin();
    return true;
  }

  close(): void {
    const file = this.#file;
    this.#file = undefined;
    if (file !== undefined) closeSync(file);
  }

  #putAside(): void {
    expectFiles(this.#path);
    for (let number = ASIDE; number > 0; number -= 1) {
      const from = number === 1 ? this.#path : `${this.#path}.${number - 1}`;
      if (existsSync(from)) renameSync(from, `${this.#path}.${number}`);
    }
  }

  #begin(): void {
    this.#file = openSync(this.#path, NEW_FILE, SECRET_MODE);
    this.#isEmpty = true;
    const begin = Buffer.from(this.#form.begin(this.#part));
    const end = Buffer.from(this.#form.end);
    this.#write(Buffer.concat([begin, end]), 0);
    this.#size = begin.length;
  }

  /**
   * Restores the end after a failed write: a full disk takes part of a piece. A line's beginning is worth keeping; an
   * end is rewritten in place, which needs no space.
   */
  #takeBack(): void {
    const end = Buffer.from(this.#form.end);
    if (end.length === 0 || this.#file === undefined) return;
    this.#write(end, this.#size);
    ftruncateSync(this.#file, this.#size + end.length);
  }

  #write(bytes: Buffer, from: number): void {
    const file = this.#file;
    if (file === undefined) throw new Error('it is closed');
    for (let written = 0; written < bytes.length; )
      written += writeSync(file, bytes, written, bytes.length - written, from + written);
  }
}
