/** Represents bytes as strings with one character per byte, and cuts or damages such strings for fuzzing. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';

export const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

export const wordsOfRows = (...rows: readonly string[]): string[] => rows.flatMap((row) => row.split('¦'));

/** Encodes a text in UTF-8, as a string with a character per byte. */
export const utf8 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

export const anyBytes = (maxLength: number): fc.Arbitrary<string> =>
  fc.uint8Array({ maxLength }).map((bytes) => Buffer.from(bytes).toString('latin1'));

/** Random positions at which an input is cut, in 65,536ths of its length. */
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
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), withinMs);
  await once(socket, 'close', { signal: late.signal }).catch(() => {});
  clearTimeout(timer);
  return !late.signal.aborted;
}

/** Change of a text. `at`: position in 65,536ths of the text; `length`: number of characters. */
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
    switch (damage.do) {
      case 'cut':
        return before;
      case 'remove':
        return before + all.slice(start + damage.length);
      case 'double':
        return before + all.slice(start, start + damage.length) + all.slice(start);
      case 'swap': {
        const [one, two] = [start + damage.length, start + 2 * damage.length];
        return before + all.slice(one, two) + all.slice(start, one) + all.slice(two);
      }
      case 'insert':
        return before + damage.text + all.slice(start);
      default:
        return before + damage.text + all.slice(start + damage.text.length);
    }
  }, text);
}
