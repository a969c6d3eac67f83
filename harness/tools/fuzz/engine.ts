/** Fuzzers (inputs and a subject), sessions that attack until the time is up, and files of finds. */

import { createHash } from 'node:crypto';
import { existsSync, ftruncateSync, mkdirSync, readdirSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc, { type Arbitrary } from 'fast-check';

/** Target of inputs, such as a server process or a parser. */
export interface Subject<T> extends AsyncDisposable {
  /**
   * Resolves with the failure in words that every run repeats; undefined if the subject held. An error is a failure
   * too. Must end by itself, whatever the input.
   */
  attack(input: T): Promise<string | undefined> | string | undefined;
  /** Keeps the subject after a find; otherwise a new one replaces it. */
  readonly unharmed?: boolean;
}

export interface Fuzzer<T> {
  /** Name, also of the folder of finds. */
  name: string;
  /** Subject and inputs, for the help. */
  about: string;
  /** A fresh subject takes seconds. */
  slow?: boolean;
  /** JSON values, to keep finds in files. Bytes are strings of characters up to U+00FF. */
  inputs: Arbitrary<T>;
  /** Fresh subject, disposed of after a find and at the end. */
  open(): Promise<Subject<T>>;
}

export type AnyFuzzer = Fuzzer<unknown>;

/** Forgets the type of inputs, which the fuzzer alone makes and takes. */
export const fuzzer = <T>(it: Fuzzer<T>): AnyFuzzer => it as unknown as AnyFuzzer;

export const pureSubject = <T>(attack: Subject<T>['attack']): Promise<Subject<T>> =>
  Promise.resolve({ attack, [Symbol.asyncDispose]: async () => {} });

export interface Find {
  fuzzer: string;
  wrong: string;
  /** Smallest input that fails. */
  input: unknown;
}

/** Folder of finds, one for each fuzzer; a test repeats all finds. */
export const FIXTURES = fileURLToPath(new URL('../../../fixtures/fuzz', import.meta.url));

/** Writes a find to its own file; returns the path. */
export function writeFind({ fuzzer, wrong, input }: Find, folder: string): string {
  const text = JSON.stringify(input);
  const file = join(folder, fuzzer, `${createHash('sha256').update(text).digest('hex').slice(0, 12)}.json`);
  mkdirSync(join(folder, fuzzer), { recursive: true });
  writeFileSync(file, `${JSON.stringify({ wrong, input }, null, 2)}\n`);
  return file;
}

/** Finds of a fuzzer, by name. */
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
  /** The same seed gives the same inputs. */
  seed: number;
  ms: number;
  /** Finds that end the session. */
  finds?: number;
  /** File that receives each input before its attack, in case the process hangs or dies. */
  inputFd?: number;
  /** Called after each attack with the attacks so far. */
  onAttack?(tried: number): void;
  /** Called with each find, shrunk. */
  onFind(find: { wrong: string; input: unknown }): void;
}

export interface SessionResult {
  /** Attacks, those of the shrinking included. */
  tried: number;
  /** Attacks whose failure was known. */
  repeated: number;
}

/** Inputs of a run of fast-check, whose values grow from first to last. */
const RUN = 500;
const SHRINK_MS = 30_000;

/** Kind of a find: words without numbers and quotes. */
const kindOf = (wrong: string): string => wrong.replaceAll(/'[^']*'|"[^"]*"|\d+/g, '#');

class Wrong extends Error {}

/**
 * Attacks until the time is up. Shrinks each find, and looks for no other of its kind. Rejects if the subject cannot be
 * opened.
 */
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

/** Replaces the subject after each find. `currentFd`: `inputFd` of a session. */
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
