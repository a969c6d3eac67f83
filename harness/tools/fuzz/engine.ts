/**
 * What a fuzzer is (inputs with a structure, and something that they attack), a session that attacks with one input
 * after the other until the time is up, and the files in which finds are kept.
 */

import { createHash } from 'node:crypto';
import { existsSync, ftruncateSync, mkdirSync, readdirSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc, { type Arbitrary } from 'fast-check';

/** Something that inputs attack, such as a server process or a parser. */
export interface Subject<T> extends AsyncDisposable {
  /**
   * Resolves with what is wrong, in words and without anything that changes from run to run; undefined when the subject
   * held. What it throws counts as wrong too. It must end by itself, whatever the input is.
   */
  attack(input: T): Promise<string | undefined> | string | undefined;
  /** Whether the last find has left it as good as before; a fresh one takes its place otherwise. */
  readonly unharmed?: boolean;
}

/** A kind of inputs, and what they attack. */
export interface Fuzzer<T> {
  /** Also the folder of its fixtures. */
  name: string;
  /** What is attacked with what, for the help. */
  about: string;
  /** Whether a fresh subject takes seconds. */
  slow?: boolean;
  /** JSON values, so that a find can be kept in a file. Bytes are strings of characters up to U+00FF. */
  inputs: Arbitrary<T>;
  /** A fresh subject. It is disposed of after a find, and at the end. */
  open(): Promise<Subject<T>>;
}

/** A fuzzer in a list of others. */
export type AnyFuzzer = Fuzzer<unknown>;

/** Forgets the type of the inputs: only the fuzzer itself ever makes or takes them. */
export const fuzzer = <T>(it: Fuzzer<T>): AnyFuzzer => it as unknown as AnyFuzzer;

/** A subject without anything to close. */
export const pure = <T>(attack: Subject<T>['attack']): Promise<Subject<T>> =>
  Promise.resolve({ attack, [Symbol.asyncDispose]: async () => {} });

/** An input that showed something wrong. */
export interface Find {
  fuzzer: string;
  /** What was wrong. */
  wrong: string;
  /** The smallest input that shows it. */
  input: unknown;
}

/** Where finds are kept, in a folder for each fuzzer; a test attacks with each of them again. */
export const FIXTURES = fileURLToPath(new URL('../../../fixtures/fuzz', import.meta.url));

/** Writes the find to a file of its own; gives its path. */
export function keep({ fuzzer, wrong, input }: Find, folder: string): string {
  const text = JSON.stringify(input);
  const file = join(folder, fuzzer, `${createHash('sha256').update(text).digest('hex').slice(0, 12)}.json`);
  mkdirSync(join(folder, fuzzer), { recursive: true });
  writeFileSync(file, `${JSON.stringify({ wrong, input }, null, 2)}\n`);
  return file;
}

/** The finds of a fuzzer, oldest name first. */
export function kept(fuzzer: string, folder = FIXTURES): { file: string; wrong: string; input: unknown }[] {
  const own = join(folder, fuzzer);
  if (!existsSync(own)) return [];
  return readdirSync(own)
    .toSorted()
    .map((name) => {
      const { wrong, input } = JSON.parse(readFileSync(join(own, name), 'utf8')) as Omit<Find, 'fuzzer'>;
      return { file: name, wrong, input };
    });
}

/** How long, and with which inputs. */
export interface SessionOptions {
  /** The same inputs for the same seed. */
  seed: number;
  ms: number;
  /** Ends after so many finds, if not before. */
  finds?: number;
  /** Each input is written to this file before the attack, for whoever finds the process hanging or dead. */
  currentFd?: number;
  /** Called after each attack with the number of attacks so far. */
  onTried?(tried: number): void;
  /** Called with each find, shrunk. */
  onFind(find: { wrong: string; input: unknown }): void;
}

/** What a session did. */
export interface SessionResult {
  /** Attacks, those of the shrinking among them. */
  tried: number;
  /** Attacks that showed what was found before. */
  again: number;
}

/** Inputs of one run of fast-check, whose values grow from the first to the last. */
const RUN = 500;
const SHRINK_MS = 30_000;

/** Two finds are of one kind when they differ in numbers and quoted texts alone. */
const kindOf = (wrong: string): string => wrong.replaceAll(/'[^']*'|"[^"]*"|\d+/g, '#');

class Wrong extends Error {}

/**
 * Resolves when the time is up. A find is shrunk, and the same kind is not looked for again. Rejects when the subject
 * cannot be opened.
 */
export async function session(fuzzer: AnyFuzzer, options: SessionOptions): Promise<SessionResult> {
  const over = performance.now() + options.ms;
  const result: SessionResult = { tried: 0, again: 0 };
  const known = new Set<string>();
  await using attacker = await openAttack(fuzzer, options.currentFd);
  for (let run = 0; performance.now() < over && known.size < (options.finds ?? Number.POSITIVE_INFINITY); run += 1) {
    let enough = over;
    let shrinking = false;
    const property = fc.asyncProperty(fuzzer.inputs, async (input) => {
      if (performance.now() > enough) return;
      const wrong = await attacker.attack(input);
      result.tried += 1;
      options.onTried?.(result.tried);
      if (wrong === undefined) return;
      if (known.has(kindOf(wrong))) {
        result.again += 1;
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

/** A subject that is replaced by a fresh one after each find. `currentFd`: as in `SessionOptions`. */
export async function openAttack(fuzzer: AnyFuzzer, currentFd?: number) {
  let subject = await fuzzer.open();
  const note = (input: unknown): void => {
    if (currentFd === undefined) return;
    const bytes = Buffer.from(JSON.stringify(input));
    writeSync(currentFd, bytes, 0, bytes.length, 0);
    ftruncateSync(currentFd, bytes.length);
  };
  return {
    /** Resolves with what is wrong, or with undefined. */
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
