import { expect, test } from 'vitest';
import { referenceBehaviour as platformReference } from '../platform/reference.ts';
import { ConflictError, combined, refuseDuplicates } from './define.ts';
import { variant } from './define-platform.ts';

test('a duplicate name is refused with both of its files', () => {
  const twice = ['one.ts', 'other.ts'].map((file) => ({ name: 'n', file }));
  expect(() => refuseDuplicates(twice)).toThrow('n is declared twice: in one.ts and in other.ts');
});

const replaces = variant('a', 'V.', { clampLimit: () => 20 });
const adapts = (name: string) =>
  variant(name, 'V.', ({ clampLimit }) => ({ clampLimit: (values) => clampLimit(values) + 1 }));

test('combining applies changes of different decisions together', () => {
  const other = variant('b', 'V.', { createdStatus: 201 });
  const behaviour = combined([replaces, other], platformReference);
  expect([behaviour.clampLimit([]), behaviour.createdStatus]).toEqual([20, 201]);
});

test('combining replaces a decision before it adapts it, in any order of the variants', () => {
  for (const both of [
    [replaces, adapts('b')],
    [adapts('b'), replaces],
  ]) {
    expect(combined(both, platformReference).clampLimit([])).toBe(21);
  }
  expect(combined([adapts('a'), adapts('b')], platformReference).clampLimit([])).toBe(12);
});

test('combining refuses two variants that replace one decision', () => {
  const other = variant('b', 'V.', { clampLimit: () => 30 });
  const conflict = new ConflictError('a and b both decide clampLimit');
  expect(() => combined([replaces, other], platformReference)).toThrow(conflict);
});
