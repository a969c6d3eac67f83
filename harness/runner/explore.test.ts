import { expect, it } from 'vitest';
import { Adoptions, Budget, type Cell, Cells, containsValue, Draw, isSame, SharedExploration } from './explore.ts';
import { TooLittleSeen } from './violation.ts';

const first = (seed: number) => {
  const draw = new Draw(seed);
  return [draw.below(1000), draw.shuffled([1, 2, 3, 4, 5]).join(), draw.one(['a', 'b', 'c'])];
};

it('draws repeat with the same seed, and differ with another', () => {
  expect(first(7)).toEqual(first(7));
  expect(first(7)).not.toEqual(first(8));
});

it('draws return only given items, and numbers below their bound', () => {
  const draw = new Draw(1);
  expect(draw.shuffled([1, 2, 3]).toSorted()).toEqual([1, 2, 3]);
  expect(draw.some([1, 2, 3], 2)).toHaveLength(2);
  expect(draw.one([])).toBeUndefined();
  expect(Array.from({ length: 100 }, () => draw.below(3)).every((each) => [0, 1, 2].includes(each))).toBe(true);
});

it('an unvisited cell comes before a visited one', () => {
  const [list, get] = [
    { operation: 'list', version: 'a' },
    { operation: 'get', version: 'b' },
  ];
  const cells = new Cells();
  cells.visit(list);
  expect(cells.rarest(new Draw(1), [list, get], (each) => each)).toEqual(get);
});

it('a value of several words counts as one', () => {
  const worded: Cell = { order: 'a b c d', page: 'x' };
  const other: Cell = { order: 'a', page: 'x', version: 'v' };
  expect(new Cells().rarest(new Draw(1), [worded, other], (each) => each)).toEqual(other);
});

it('an answer is adopted from the first, and a different one is reported', () => {
  const adoptions = new Adoptions<number>();
  expect(adoptions.take('a slug', 'refused', 1)).toBeUndefined();
  expect(adoptions.take('a slug', 'refused', 2)).toBeUndefined();
  expect(adoptions.take('a slug', 'served', 3)).toEqual({ answer: 'refused', seen: 1 });
});

it('a budget ends after its number of requests', () => {
  const budget = new Budget({ ms: 60_000, requests: 2, least: 1, lateMs: 90_000 });
  expect(budget.isOver).toBe(false);
  budget.requests = 2;
  expect(budget.isOver).toBe(true);
});

it('a budget ends at its time with the least requests made, else at the late limit', () => {
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

const { signal: open } = new AbortController();

async function* steps(taken: number[], failing = false) {
  for (let step = 1; step <= 3; step += 1) {
    taken.push(step);
    if (failing) throw new Error('the target is gone');
    yield;
  }
}

it('a shared exploration advances as far as a check needs, and resumes there for the next', async () => {
  const taken: number[] = [];
  const exploration = new SharedExploration(steps(taken));
  await exploration.until(() => taken.length === 2, open);
  expect(taken).toEqual([1, 2]);
  await exploration.until(() => false, open);
  await exploration.until(() => false, open);
  expect(taken).toEqual([1, 2, 3]);
});

it('a shared exploration fails for every later check after it fails for one', async () => {
  const taken: number[] = [];
  const exploration = new SharedExploration(steps(taken, true));
  await expect(exploration.until(() => false, open)).rejects.toThrow('the target is gone');
  await expect(exploration.until(() => true, open)).rejects.toThrow('the target is gone');
  expect(taken).toEqual([1]);
});

it('a shared exploration leaves other checks undecided after the check that advances it is cut off', async () => {
  const exploration = new SharedExploration(steps([], true));
  await expect(exploration.until(() => false, AbortSignal.abort())).rejects.toThrow('the target is gone');
  await expect(exploration.until(() => false, open)).rejects.toBeInstanceOf(TooLittleSeen);
});

it.each([
  ['2026-08-17T10:00:00Z', '2026-08-17T12:00:00.4+02:00', true],
  ['2026-08-17T10:00:00Z', '2026-08-17T12:00:00,4+02', true],
  ['2026-08-17T10:00:00Z', '2026-08-17T11:00:00Z', false],
  ['e\u0301', '\u00e9', true],
  ['5', 5, false],
  [null, undefined, false],
  [[1, 2], [2, 1], true],
  [[1, 2], [1, 1], false],
  [{ a: [1, 1, 2] }, { a: [1, 2, 2] }, false],
  [[1, 2], [1, 2, 3], false],
  [{}, [], false],
  [{ a: 1 }, { a: 1, b: 2 }, false],
])('two values %j and %j are the same: %s', (one, other, expected) => expect(isSame(one, other)).toBe(expected));

it('two values match when the second holds all members of the first, and more', () => {
  expect(containsValue([{ filepath: '/a' }], [{ filepath: '/a', key: 'b' }])).toBe(true);
  expect(containsValue([{ filepath: '/a' }, { filepath: '/b' }], [{ filepath: '/b' }, { filepath: '/a' }])).toBe(true);
  expect(containsValue([{ filepath: '/a' }], [])).toBe(false);
  expect(containsValue({ a: 1 }, { a: 2 })).toBe(false);
});
