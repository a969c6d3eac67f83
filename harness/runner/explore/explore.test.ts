import { describe, expect, it } from 'vitest';
import { TooLittleSeen } from '../violation.ts';
import { Adoptions } from './adoptions.ts';
import { Budget } from './budget.ts';
import { Cells } from './cells.ts';
import { Course } from './course.ts';
import { Draw } from './draw.ts';
import { holds, isSame } from './same.ts';

const first = (seed: number) => {
  const draw = new Draw(seed);
  return [draw.below(1000), draw.shuffled([1, 2, 3, 4, 5]).join(), draw.one(['a', 'b', 'c'])];
};

describe('draws', () => {
  it('repeat with their seed, and differ with another', () => {
    expect(first(7)).toEqual(first(7));
    expect(first(7)).not.toEqual(first(8));
  });

  it('lose and invent nothing', () => {
    const draw = new Draw(1);
    expect(draw.shuffled([1, 2, 3]).toSorted()).toEqual([1, 2, 3]);
    expect(draw.some([1, 2, 3], 2)).toHaveLength(2);
    expect(draw.one([])).toBeUndefined();
    expect(Array.from({ length: 100 }, () => draw.below(3)).every((each) => [0, 1, 2].includes(each))).toBe(true);
  });
});

describe('cells', () => {
  const cell = (operation: string, version: string) => ({ operation, version });

  it('prefer what was not visited', () => {
    const cells = new Cells();
    cells.visit(cell('list', 'a'));
    const chosen = cells.rarest(new Draw(1), [cell('list', 'a'), cell('get', 'b')], (each) => each);
    expect(chosen).toEqual(cell('get', 'b'));
  });
});

describe('an adopted answer', () => {
  it('is learned once, and held to', () => {
    const adoptions = new Adoptions<number>();
    expect(adoptions.take('a slug', 'refused', 1)).toBeUndefined();
    expect(adoptions.take('a slug', 'refused', 2)).toBeUndefined();
    expect(adoptions.take('a slug', 'served', 3)).toEqual({ answer: 'refused', seen: 1 });
  });
});

describe('a budget', () => {
  it('ends with its requests', () => {
    const budget = new Budget({ ms: 60_000, requests: 2, least: 1, lateMs: 90_000 });
    expect(budget.isOver).toBe(false);
    budget.requests = 2;
    expect(budget.isOver).toBe(true);
  });

  it('gives what has to be asked longer than what is drawn', () => {
    let now = 0;
    const budget = new Budget({ ms: 1000, requests: 10, least: 3, lateMs: 3000 }, () => now);
    const at = (ms: number, requests: number) => {
      now = ms;
      budget.requests = requests;
      return `${budget.isOver} ${budget.isLate}`;
    };
    const isOverdue = (ms: number): boolean => {
      now = ms;
      return budget.isOverdue;
    };
    expect([at(999, 3), at(1000, 2), at(1000, 3), at(2999, 3), at(3000, 0)]).toEqual([
      ...['false false', 'false false', 'true false', 'true false', 'true true'],
    ]);
    expect([isOverdue(8999), isOverdue(9000)]).toEqual([false, true]);
    budget.isClosed = true;
    expect(budget.isOverdue).toBe(false);
  });
});

describe('a course', () => {
  const { signal: open } = new AbortController();

  async function* steps(taken: number[], failing = false) {
    for (let step = 1; step <= 3; step += 1) {
      taken.push(step);
      if (failing) throw new Error('the target is gone');
      yield;
    }
  }

  it('is taken as far as one needs, and on from there by the next', async () => {
    const taken: number[] = [];
    const course = new Course(steps(taken));
    await course.until(() => taken.length === 2, open);
    expect(taken).toEqual([1, 2]);
    await course.until(() => false, open);
    await course.until(() => false, open);
    expect(taken).toEqual([1, 2, 3]);
  });

  it('fails for all when it has failed for one', async () => {
    const taken: number[] = [];
    const course = new Course(steps(taken, true));
    await expect(course.until(() => false, open)).rejects.toThrow('the target is gone');
    await expect(course.until(() => true, open)).rejects.toThrow('the target is gone');
    expect(taken).toEqual([1]);
  });

  it('is no fault in Muster for others when the check that takes it is cut off', async () => {
    const course = new Course(steps([], true));
    await expect(course.until(() => false, AbortSignal.abort())).rejects.toThrow('the target is gone');
    await expect(course.until(() => false, open)).rejects.toBeInstanceOf(TooLittleSeen);
  });
});

describe('two values', () => {
  it.each([
    ['2026-08-17T10:00:00Z', '2026-08-17T12:00:00.4+02:00', true],
    ['2026-08-17T10:00:00Z', '2026-08-17T11:00:00Z', false],
    ['e\u0301', '\u00e9', true],
    ['5', 5, false],
    [null, undefined, false],
    [[1, 2], [2, 1], false],
    [{ a: 1 }, { a: 1, b: 2 }, false],
  ])('%j and %j are the same: %s', (one, other, expected) => expect(isSame(one, other)).toBe(expected));

  it('may hold what was written and more', () => {
    expect(holds([{ filepath: '/a' }], [{ filepath: '/a', key: 'b' }])).toBe(true);
    expect(holds([{ filepath: '/a' }], [])).toBe(false);
    expect(holds({ a: 1 }, { a: 2 })).toBe(false);
  });
});
