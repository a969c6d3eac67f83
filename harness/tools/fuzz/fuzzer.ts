/** What a fuzzer is: inputs with a structure, and something that they attack. */
import type { Arbitrary } from 'fast-check';

/** Something that inputs attack, such as a server process or a parser. */
export interface Subject<T> extends AsyncDisposable {
  /**
   * Resolves with what is wrong, in words and without anything that changes from run to run; undefined when the subject held. What it
   * throws counts as wrong too. It must end by itself, whatever the input is.
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
