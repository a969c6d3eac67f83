import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decades, ticks } from './axis.ts';

it('marks an axis with round numbers within it', () => {
  expect(ticks(0, 100, 5)).toEqual([0, 20, 40, 60, 80, 100]);
  expect(ticks(3, 11, 4)).toEqual([4, 6, 8, 10]);
  expect(ticks(0, 0.3, 3)).toEqual([0, 0.1, 0.2, 0.3]);
  expect(ticks(5, 5, 3)).toEqual([5]);
  expect(decades(0.3, 200)).toEqual([0.1, 1, 10, 100, 1000]);
  expect(decades(1, 1)).toEqual([1, 10]);
});

it('never leaves the axis nor crowds it', () => {
  const bound = fc.double({ min: 0, max: 1e9, noNaN: true });
  fc.assert(
    fc.property(
      bound,
      fc.double({ min: 1e-3, max: 1e9, noNaN: true }),
      fc.integer({ min: 2, max: 12 }),
      (from, length, wanted) => {
        const marks = ticks(from, from + length, wanted);
        expect(marks.length).toBeLessThanOrEqual(wanted + 1);
        for (const mark of marks)
          expect(mark >= from - length * 1e-6 - from * 1e-9 && mark <= (from + length) * (1 + 1e-9)).toBe(true);
      },
    ),
  );
});
