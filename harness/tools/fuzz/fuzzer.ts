/** Attacks a subject with random inputs of fast-check, and repeats the inputs that once showed a fault. */
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';

export interface FuzzSubject<T> extends AsyncDisposable {
  /** Returns the fault that the input shows; a thrown error counts as a fault. Must end for any input. */
  attack(input: T): Promise<string | undefined> | string | undefined;
  /** True if the subject is usable after a fault; otherwise a new subject replaces it. */
  readonly unharmed?: boolean;
}

export interface Fuzzer<T> {
  /** JSON values; a string can hold bytes, each as one character. */
  inputs: fc.Arbitrary<T>;
  open(): Promise<FuzzSubject<T>>;
}

const FINDS = fileURLToPath(new URL('../../../fixtures/fuzz/', import.meta.url));

export const storedFuzzers = (): string[] => readdirSync(FINDS);

export async function repeatFinds<T>(name: string, fuzzer: Fuzzer<T>): Promise<void> {
  await using attacker = await openAttacker(fuzzer);
  for (const file of readdirSync(`${FINDS}${name}`)) {
    const { input } = JSON.parse(readFileSync(`${FINDS}${name}/${file}`, 'utf8')) as { input: T };
    const wrong = await attacker.attack(input);
    if (wrong !== undefined) throw new Error(`fixtures/fuzz/${name}/${file}: ${wrong}`);
  }
}

/** Throws Error with the seed and the smallest input found that shows a fault. */
export async function fuzz<T>(fuzzer: Fuzzer<T>, ms: number, seed: number): Promise<void> {
  await using attacker = await openAttacker(fuzzer);
  let end = performance.now() + ms;
  let isShrinking = false;
  const property = fc.asyncProperty(fuzzer.inputs, async (input) => {
    // Ends between attacks; `interruptAfterTimeLimit` would abandon an attack, and take a hang for a success.
    if (performance.now() >= end) throw new fc.PreconditionFailure(true);
    const wrong = await attacker.attack(input);
    if (wrong === undefined) return;
    if (!isShrinking) end = performance.now() + 30_000;
    isShrinking = true;
    throw new Error(wrong);
  });
  const numRuns = Number.MAX_SAFE_INTEGER;
  const { failed, counterexample, errorInstance } = await fc.check(property, { seed, numRuns });
  if (!failed || counterexample === null) return;
  const wrong = (errorInstance as Error).message;
  const find = JSON.stringify({ wrong, input: counterexample[0] });
  throw new Error(`${wrong}\nseed ${seed}, as a file of fixtures/fuzz:\n${find}`);
}

async function openAttacker<T>(fuzzer: Fuzzer<T>) {
  let subject = await fuzzer.open();
  return {
    attack: async (input: T): Promise<string | undefined> => {
      const wrong = await Promise.try(() => subject.attack(input)).catch((error: unknown) => {
        const how = error instanceof Error ? `${error.name}: ${error.message}` : error;
        return `the attack ended with ${how}`;
      });
      if (wrong === undefined || subject.unharmed === true) return wrong;
      await subject[Symbol.asyncDispose]();
      subject = await fuzzer.open();
      return wrong;
    },
    [Symbol.asyncDispose]: () => subject[Symbol.asyncDispose](),
  };
}

// Inputs write bytes as strings, one latin1 character per byte, because a find is stored as JSON.

export const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

export const wordsOfRows = (...rows: readonly string[]): string[] => rows.flatMap((row) => row.split('¦'));
export const oneOfRows = (...rows: readonly string[]) => fc.constantFrom(...wordsOfRows(...rows));
export const weighed = (weight: number, ...rows: readonly string[]) => ({ weight, arbitrary: oneOfRows(...rows) });

export const utf8 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

export const anyBytes = (maxLength: number): fc.Arbitrary<string> =>
  fc.uint8Array({ maxLength }).map((bytes) => Buffer.from(bytes).toString('latin1'));

/** Positions of cuts, in 65,536ths of the input's length. */
export const cuts = fc.array(fc.nat(0xffff), { maxLength: 12 });

export function piecesOf(bytes: Buffer, at: readonly number[]): Buffer[] {
  const edges = [...new Set(at.map((part) => Math.floor((part * bytes.length) / 0x10000)))].toSorted((a, b) => a - b);
  return [0, ...edges]
    .map((start, index) => bytes.subarray(start, edges[index] ?? bytes.length))
    .filter(({ length }) => length > 0);
}

export async function writeParts(stream: Writable, parts: readonly Buffer[]): Promise<void> {
  for (const part of parts) {
    if (stream.destroyed) return;
    await new Promise<void>((resolve) => stream.write(part, () => resolve()));
    await turn();
  }
}

export async function isClosedWithin(socket: Socket, withinMs: number): Promise<boolean> {
  if (socket.closed) return true;
  const late = AbortSignal.timeout(withinMs);
  await once(socket, 'close', { signal: late }).catch(() => {});
  return !late.aborted;
}

/** `at`: position in 65,536ths of the text; `length`: number of characters. */
export type Damage =
  | { do: 'cut' | 'remove' | 'double' | 'swap'; at: number; length: number }
  | { do: 'insert' | 'replace'; at: number; text: string };

const at = fc.nat(0xffff);

export const damagesFrom = (words: readonly string[]): fc.Arbitrary<Damage> =>
  fc.oneof(
    fc.record({
      do: fc.constantFrom('cut' as const, 'remove' as const, 'double' as const, 'swap' as const),
      at,
      length: fc.oneof(fc.constant(1), fc.nat(64)),
    }),
    fc.record({
      do: fc.constantFrom('insert' as const, 'replace' as const),
      at,
      text: fc.oneof(fc.constantFrom(...words), anyBytes(4)),
    }),
  );

export function withDamages(text: string, damages: readonly Damage[]): string {
  return damages.reduce((all, damage) => {
    const start = Math.floor((damage.at * (all.length + 1)) / 0x10000);
    const before = all.slice(0, start);
    if ('text' in damage)
      return before + damage.text + all.slice(start + (damage.do === 'insert' ? 0 : damage.text.length));
    if (damage.do === 'cut') return before;
    const [one, two] = [start + damage.length, start + 2 * damage.length];
    if (damage.do === 'remove') return before + all.slice(one);
    if (damage.do === 'double') return before + all.slice(start, one) + all.slice(start);
    return before + all.slice(one, two) + all.slice(start, one) + all.slice(two);
  }, text);
}
