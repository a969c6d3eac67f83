import { describe, expect, test } from 'vitest';
import { referenceBehaviour as deviceReference } from '../device/index.ts';
import { referenceBehaviour as platformReference } from '../platform/reference.ts';
import { ConflictError, combined, refuseDuplicates, type Variant } from './define.ts';
import { variant } from './define-platform.ts';
import { deviceDefects, deviceVariants } from './device/index.ts';
import { platformDefects, platformVariants } from './platform/index.ts';

test('a duplicate name is refused with both of its files', () => {
  const twice = ['one.ts', 'other.ts'].map((file) => ({ name: 'n', file }));
  expect(() => refuseDuplicates(twice)).toThrow('n is declared twice: in one.ts and in other.ts');
});

const replaces = variant('a', 'V.', { clampLimit: () => 20 });
const adapts = (name: string) =>
  variant(name, 'V.', ({ clampLimit }) => ({ clampLimit: (values) => clampLimit(values) + 1 }));

describe('combining', () => {
  test('applies changes of different decisions together', () => {
    const other = variant('b', 'V.', { createdStatus: 201 });
    const behaviour = combined([replaces, other], platformReference);
    expect([behaviour.clampLimit([]), behaviour.createdStatus]).toEqual([20, 201]);
  });

  test('replaces a decision before it adapts it, in any order of the variants', () => {
    for (const both of [
      [replaces, adapts('b')],
      [adapts('b'), replaces],
    ]) {
      expect(combined(both, platformReference).clampLimit([])).toBe(21);
    }
    expect(combined([adapts('a'), adapts('b')], platformReference).clampLimit([])).toBe(12);
  });
});

function pairs<B extends object>(all: readonly Variant<B>[], reference: B): { combine: number; refused: number } {
  const count = { combine: 0, refused: 0 };
  for (const [at, one] of all.entries()) {
    for (const other of all.slice(at + 1)) {
      const both = [one, other].map((each) => each.effects(reference));
      const undone =
        (one.alternative !== undefined && one.alternative === other.alternative) ||
        [...(both[0] ?? [])].some(([name, effect]) => effect === 'replaces' && both[1]?.get(name) === 'replaces');
      try {
        combined([one, other], reference);
        expect(undone, `${one.name} and ${other.name}`).toBe(false);
        count.combine += 1;
      } catch (error) {
        expect(error).toBeInstanceOf(ConflictError);
        expect(String(error)).toContain(one.name);
        expect(String(error)).toContain(other.name);
        count.refused += 1;
      }
    }
  }
  return count;
}

test('most pairs of changes combine, and pairs that conflict are refused', () => {
  const device = pairs([...deviceDefects, ...deviceVariants], deviceReference);
  const platform = pairs([...platformDefects, ...platformVariants], platformReference);
  for (const { combine, refused } of [device, platform]) expect(combine).toBeGreaterThan(10 * refused);
});
