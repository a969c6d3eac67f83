/** Runs fuzzers until time is up, and writes failing inputs to files. */

import { createHash } from 'node:crypto';
import { existsSync, ftruncateSync, mkdirSync, readdirSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc, { type Arbitrary } from 'fast-check';

export interface Subject<T> extends AsyncDisposable {
  /**
   * Returns a description of the failure, the same in every run, or undefined; a thrown error also is a failure.
   * Must end for any input.
   */
  attack(input: T): Promise<string | undefined> | string | undefined;
  /** True if the subject remains usable after a failure; otherwise a new subject replaces it. */
  readonly unharmed?: boolean;
}

export interface Fuzzer<T> {
  name: string;
  about: string;
  slow?: boolean;
  /** Inputs to draw, which must be JSON values; a string can hold bytes, one per character. */
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

/** Folder of the inputs that once failed, with a subfolder per fuzzer; a test repeats the inputs. */
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
  /** Descriptor of a file for the current input, which remains readable if the process dies. */
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

/** Kind of a failure: its description without numbers and quoted texts. */
const kindOf = (wrong: string): string => wrong.replaceAll(/'[^']*'|"[^"]*"|\d+/g, '#');

class Wrong extends Error {}

/** Runs a fuzzer until time is up, and shrinks the first failing input of each kind of failure. */
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

/** Returns an attack that replaces a harmed subject. `currentFd`: descriptor of the file for the current input. */
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
