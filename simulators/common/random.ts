/** Random numbers from a seed (SplitMix32), in an independent sequence for each purpose. */
import { createHash } from 'node:crypto';

export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** Integer, uniform in [low, high]. */
  integer(low: number, high: number): number;
  pick<T>(values: readonly [T, ...T[]] | readonly T[]): T;
  chance(probability: number): boolean;
  text(length: number): string;
  /** Sequence that depends only on the seed and `name`, not on earlier draws. */
  fork(name: string | number): Random;
}

export function random(seed: number | string): Random {
  const key = String(seed);
  let state = createHash('sha256').update(key).digest().readUInt32LE(0);
  const next = (): number => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 4294967296;
  };
  const integer = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1));
  return {
    next,
    integer,
    chance: (probability) => next() < probability,
    pick: <T>(values: readonly T[]): T => {
      if (values.length === 0) throw new RangeError('nothing to pick from: the list is empty');
      return values[integer(0, values.length - 1)] as T;
    },
    text: (length) => Array.from({ length }, () => 'abcdefghijklmnopqrstuvwxyz0123456789'[integer(0, 35)]).join(''),
    fork: (name) => random(`${key}/${name}`),
  };
}
