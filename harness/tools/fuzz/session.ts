/** Attacks a subject with one input after the other until the time is up. A find is shrunk, and the same kind is not looked for again. */
import { ftruncateSync, writeSync } from 'node:fs';
import fc from 'fast-check';
import type { AnyFuzzer, Subject } from './fuzzer.ts';

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

/** Resolves when the time is up. Rejects when the subject cannot be opened. */
export async function session(fuzzer: AnyFuzzer, options: SessionOptions): Promise<SessionResult> {
  const over = performance.now() + options.ms;
  const result: SessionResult = { tried: 0, again: 0 };
  const known = new Set<string>();
  await using attacker = await Attacker.of(fuzzer, options.currentFd);
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

/** A subject that is replaced by a fresh one after each find. */
export class Attacker implements AsyncDisposable {
  readonly #fuzzer: AnyFuzzer;
  readonly #currentFd: number | undefined;
  #subject: Subject<unknown>;

  private constructor(fuzzer: AnyFuzzer, subject: Subject<unknown>, currentFd: number | undefined) {
    this.#fuzzer = fuzzer;
    this.#subject = subject;
    this.#currentFd = currentFd;
  }

  static async of(fuzzer: AnyFuzzer, currentFd?: number): Promise<Attacker> {
    return new Attacker(fuzzer, await fuzzer.open(), currentFd);
  }

  /** Resolves with what is wrong, or with undefined. */
  async attack(input: unknown): Promise<string | undefined> {
    this.#note(input);
    const wrong = await this.#attacked(input);
    if (wrong === undefined || this.#subject.unharmed === true) return wrong;
    await this.#subject[Symbol.asyncDispose]();
    this.#subject = await this.#fuzzer.open();
    return wrong;
  }

  async #attacked(input: unknown): Promise<string | undefined> {
    try {
      return await this.#subject.attack(input);
    } catch (error) {
      return `the attack ended with ${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}`;
    }
  }

  #note(input: unknown): void {
    if (this.#currentFd === undefined) return;
    const bytes = Buffer.from(JSON.stringify(input));
    writeSync(this.#currentFd, bytes, 0, bytes.length, 0);
    ftruncateSync(this.#currentFd, bytes.length);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#subject[Symbol.asyncDispose]();
  }
}
