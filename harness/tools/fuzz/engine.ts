/** Runs fuzzers against their subjects until time is up, and keeps failing inputs in files. */

import { createHash } from 'node:crypto';
import { existsSync, ftruncateSync, mkdirSync, readdirSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc, { type Arbitrary } from 'fast-check';

export interface Subject<T> extends AsyncDisposable {
  /**
   * Resolves with a description of the failure that is the same in every run, or with undefined; an error also counts
   * as a failure. Must end for any input.
   */
  attack(input: T): Promise<string | undefined> | string | undefined;
  /** True if the subject survives a failure; otherwise a fresh subject replaces it. */
  readonly unharmed?: boolean;
}

export interface Fuzzer<T> {
  name: string;
  about: string;
  slow?: boolean;
  /** Values that JSON can store; bytes are strings of characters up to U+00FF. */
  inputs: Arbitrary<T>;
  open(): Promise<Subject<T>>;
}

export type AnyFuzzer = Fuzzer<unknown>;

export const fuzzer = <T>(it: Fuzzer<T>): AnyFuzzer => it as unknown as AnyFuzzer;

export const pureSubject = <T>(attack: Subject<T>['attack']): Promise<Subject<T>> =>
  Promise.resolve({ attack, [Symbol.asyncDispose]: async () => {} });

export interface Find {
  fuzzer: string;
  wrong: string;
  input: unknown;
}

/** Folder with a subfolder of finds per fuzzer; a test repeats all finds. */
export const FIXTURES = fileURLToPath(new URL('../../../fixtures/fuzz', import.meta.url));

export function writeFind({ fuzzer, wrong, input }: Find, folder: string): string {
  const text = JSON.stringify(input);
  const file = join(folder, fuzzer, `${createHash('sha256').update(text).digest('hex').slice(0, 12)}.json`);
  mkdirSync(join(folder, fuzzer), { recursive: true });
  writeFileSync(file, `${JSON.stringify({ wrong, input }, null, 2)}\n`);
  return file;
}

export function readFinds(fuzzer: string, folder = FIXTURES): { file: string; wrong: string; input: unknown }[] {
  const own = join(folder, fuzzer);
  if (!existsSync(own)) return [];
  return readdirSync(own)
    .toSorted()
    .map((name) => {
      const { wrong, input } = JSON.parse(readFileSync(join(own, name), 'utf8')) as Omit<Find, 'fuzzer'>;
      return { file: name, wrong, input };
    });
}

export interface SessionOptions {
  seed: number;
  ms: number;
  finds?: number;
  /** Descriptor of a file that holds the current input, in case the input hangs or kills the process. */
  inputFd?: number;
  onAttack?(tried: number): void;
  onFind(find: { wrong: string; input: unknown }): void;
}

export interface SessionResult {
  tried: number;
  repeated: number;
}

/** Number of inputs per run of fast-check, which makes inputs larger towards the end of a run. */
const RUN = 500;
const SHRINK_MS = 30_000;

/** Failures of one kind differ only in numbers and quoted texts. */
const kindOf = (wrong: string): string => wrong.replaceAll(/'[^']*'|"[^"]*"|\d+/g, '#');

class Wrong extends Error {}

/** Attacks until time is up, and shrinks the first find of each kind. Rejects if the subject does not open. */
export async function runSession(fuzzer: AnyFuzzer, options: SessionOptions): Promise<SessionResult> {
  const over = performance.now() + options.ms;
  const result: SessionResult = { tried: 0, repeated: 0 };
  const known = new Set<string>();
  await using attacker = await openAttack(fuzzer, options.inputFd);
  for (let run = 0; performance.now() < over && known.size < (options.finds ?? Number.POSITIVE_INFINITY); run += 1) {
    let enough = over;
    let shrinking = false;
    const property = fc.asyncProperty(fuzzer.inputs, async (input) => {
      if (performance.now() > enough) return;
      const wrong = await attacker.attack(input);
      result.tried += 1;
      options.onAttack?.(result.tried);
      if (wrong === undefined) return;
      if (known.has(kindOf(wrong))) {
        result.repeated += 1;
        return;
      }
      if (!shrinking) enough = performance.now() + SHRINK_MS;
      shrinking = true;
      throw new Wrong(wrong);
    });
    const { failed, counterexample, errorInstance } = await fc.check(property, {
      seed: (options.seed + run) | 0,
      numRuns: RUN,
    });
    if (!failed || !(errorInstance instanceof Wrong)) {
      if (errorInstance !== null && failed) throw errorInstance;
      continue;
    }
    known.add(kindOf(errorInstance.message));
    options.onFind({ wrong: errorInstance.message, input: counterexample?.[0] });
  }
  return result;
}

/** Replaces a subject that a find has harmed. `currentFd`: descriptor of the file for the current input. */
export async function openAttack(fuzzer: AnyFuzzer, currentFd?: number) {
  let subject = await fuzzer.open();
  const note = (input: unknown): void => {
    if (currentFd === undefined) return;
    const bytes = Buffer.from(JSON.stringify(input));
    writeSync(currentFd, bytes, 0, bytes.length, 0);
    ftruncateSync(currentFd, bytes.length);
  };
  return {
    attack: async (input: unknown): Promise<string | undefined> => {
      note(input);
      const wrong = await Promise.try(() => subject.attack(input)).catch(
        (error: unknown) =>
          `the attack ended with ${error instanceof Error ? `${error.name}: ${error.message}` : error}`,
      );
      if (wrong === undefined || subject.unharmed === true) return wrong;
      await subject[Symbol.asyncDispose]();
      subject = await fuzzer.open();
      return wrong;
    },
    [Symbol.asyncDispose]: () => subject[Symbol.asyncDispose](),
  };
}
