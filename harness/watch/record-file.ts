/**
 * Files of a recording. Only whole lines are appended, so that whatever ends this process leaves a file that can be
 * read. A file that is full is put aside, the oldest of them is removed.
 */
import { closeSync, existsSync, ftruncateSync, lstatSync, openSync, renameSync, writeSync } from 'node:fs';
import { NEW_FILE, SECRET_MODE } from '../common/user-files.ts';

/** Files beside the one that is written to: `FILE.1` is the newest of them. */
const ASIDE = 4;

/** Only a regular file is put aside: a device, a pipe or a link would be gone for whoever uses it by its name. */
export function mustBeFiles(path: string): void {
  const names = [path, ...Array.from({ length: ASIDE }, (_, index) => `${path}.${index + 1}`)];
  const stranger = names.find((name) => lstatSync(name, { throwIfNoEntry: false })?.isFile() === false);
  if (stranger !== undefined) throw new Error(`${stranger} is there, and is no regular file; name one, or a new one`);
}

export class RecordFile {
  readonly #path: string;
  readonly #limit: number;
  /** Text that each file begins and ends with. `end` is written after each piece, and over by the next one. */
  readonly #form: { begin(part: number): string; end: string };
  /** Undefined once it is closed: its number may belong to a socket by then. */
  #file: number | undefined;
  #part = 1;
  #size = 0;
  #isEmpty = true;

  /** A file at `path` is put aside: it may be the recording of what has ended the last watch. Throws Error. */
  constructor(path: string, limit: number, form: { begin(part: number): string; end: string }) {
    this.#path = path;
    this.#limit = limit;
    this.#form = form;
    this.#putAside();
    this.#begin();
  }

  /** Nothing has been appended to this file. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  /** Throws the error of the system. */
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

  /** The file has its size, and the next piece belongs to another one. Throws the error of the system. */
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
    mustBeFiles(this.#path);
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
   * A disk that is full takes a part of a piece. Of lines that is worth keeping; an end is written again, where it was
   * and so needs no more room.
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
