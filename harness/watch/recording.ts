/** Records traffic as lines of JSON without secrets; full files rotate, and the oldest is removed. */
import { closeSync, existsSync, lstatSync, openSync, renameSync, writeSync } from 'node:fs';
import { limitIn } from '../client/errors.ts';
import type { Pairs } from '../common/http-parser.ts';
import { orElse } from '../common/lenient.ts';
import { printableJson } from '../common/terminal.ts';
import type { TrafficRedactor } from '../common/traffic-redactor.ts';
import { NEW_FILE, SECRET_MODE } from '../common/user-files.ts';
import type { RecordingSink } from './judge-thread.ts';
import type { Body, Traffic } from './traffic.ts';

/** First line of a recording; all further lines are traffic. */
export interface RecordingHead {
  muster_watch: 1;
  muster: string;
  api: 'device' | 'platform';
  way: string;
  base: string;
  address: string;
  started_at: string;
  part: number;
}

interface RecordOptions {
  path: string;
  limit: number;
  head: Omit<RecordingHead, 'part'>;
  redactor: TrafficRedactor;
  trouble(why: string): void;
}

/** Throws the system's error if the file cannot be created, or Error for a path that is no regular file. */
export function recordTo({ path, limit, head, redactor, trouble }: RecordOptions): RecordingSink {
  const file = new RecordFile(path, limit, (part) => `${printableJson({ ...head, part })}\n`);
  let lines = '';
  let isOver = false;
  const write = (step: () => void): void => {
    if (isOver) return;
    try {
      step();
    } catch (error) {
      isOver = true;
      orElse(() => file.close(), undefined);
      trouble(`${path}: nothing more is recorded (${limitIn(error) ?? String(error)})`);
    }
  };
  const flush = (): void => {
    if (lines !== '') file.append(lines);
    lines = '';
  };
  return {
    take: (traffic) =>
      write(() => {
        lines += `${printableJson(withoutSecrets(traffic, redactor))}\n`;
        // Characters written together, because a system call for each line is slow.
        if (lines.length >= Math.min(limit, 65_536)) flush();
      }),
    flush: () => write(flush),
    close() {
      write(() => {
        flush();
        file.close();
      });
      isOver = true;
    },
  };
}

/** Rotated files that are kept; `FILE.1` is the newest. */
const ASIDE = 4;

/** Throws Error for devices, pipes and links at the recording's paths, which rotation must not rename. */
export function expectFiles(path: string): void {
  const names = [path, ...Array.from({ length: ASIDE }, (_, index) => `${path}.${index + 1}`)];
  const stranger = names.find((name) => lstatSync(name, { throwIfNoEntry: false })?.isFile() === false);
  if (stranger !== undefined) throw new Error(`${stranger} is there, and is no regular file; name one, or a new one`);
}

class RecordFile {
  readonly #path: string;
  readonly #limit: number;
  readonly #begin: (part: number) => string;
  /** Undefined once closed, because the system may reuse the number for a socket. */
  #file: number | undefined;
  #part = 0;
  #size = 0;

  constructor(path: string, limit: number, begin: (part: number) => string) {
    this.#path = path;
    this.#limit = limit;
    this.#begin = begin;
    this.#next();
  }

  append(lines: string): void {
    this.#write(lines);
    if (this.#size >= this.#limit) this.#next();
  }

  close(): void {
    const file = this.#file;
    this.#file = undefined;
    if (file !== undefined) closeSync(file);
  }

  #next(): void {
    this.close();
    expectFiles(this.#path);
    for (let number = ASIDE; number > 0; number -= 1) {
      const from = number === 1 ? this.#path : `${this.#path}.${number - 1}`;
      if (existsSync(from)) renameSync(from, `${this.#path}.${number}`);
    }
    this.#file = openSync(this.#path, NEW_FILE, SECRET_MODE);
    this.#part += 1;
    this.#size = 0;
    this.#write(this.#begin(this.#part));
  }

  #write(text: string): void {
    const file = this.#file;
    if (file === undefined) throw new Error('it is closed');
    const bytes = Buffer.from(text);
    for (let written = 0; written < bytes.length; )
      written += writeSync(file, bytes, written, bytes.length - written, this.#size + written);
    this.#size += bytes.length;
  }
}

/** Drops binary bodies, which may hold a secret. */
export function withoutSecrets(traffic: Traffic, redactor: TrafficRedactor): Traffic {
  if (traffic.kind === 'request')
    return { ...traffic, target: redactor.url(traffic.target), headers: headersWithout(traffic.headers, redactor) };
  if (traffic.kind === 'response') return { ...traffic, headers: headersWithout(traffic.headers, redactor) };
  if (traffic.kind === 'frame') return { ...traffic, fields: fieldsWithout(traffic.fields, redactor) };
  if (traffic.kind === 'refused' || traffic.kind === 'lost') return { ...traffic, why: redactor.text(traffic.why) };
  if (traffic.kind !== 'asked' && traffic.kind !== 'over') return traffic;
  const { body, torn }: { body?: Body; torn?: string } = traffic;
  return {
    ...traffic,
    ...(body !== undefined && { body: bodyWithout(body, redactor) }),
    ...(torn !== undefined && { torn: redactor.body(torn, true) }),
  };
}

const headersWithout = (headers: Pairs, redactor: TrafficRedactor): Pairs =>
  headers.map(([name, value]) => [name, redactor.header(name, value)]);

const PLAIN_FIELDS = new Set(['id', 'event', 'retry']);

/** Masks all fields outside PLAIN_FIELDS as data, because a server may send lines of its JSON without `data:`. */
function fieldsWithout(fields: Pairs, redactor: TrafficRedactor): Pairs {
  const data = fields
    .filter(([name]) => !PLAIN_FIELDS.has(name))
    .map(([name, value]) => (name === 'data' ? value : value === '' ? name : `${name}: ${value}`));
  const masked = redactor.data(data, false).values();
  return fields.map(([name, value]) => {
    if (PLAIN_FIELDS.has(name)) return [name, redactor.header(name, value)];
    const line = masked.next().value ?? '';
    if (name === 'data') return [name, line];
    const [before = '', ...after] = line.split(': ');
    return [before, after.join(': ')];
  });
}

function bodyWithout({ text, size, cut }: Body, redactor: TrafficRedactor): Body {
  const kept = text === undefined ? {} : { text: redactor.body(text, cut !== undefined) };
  return { ...kept, size, ...(cut !== undefined && { cut }) };
}
