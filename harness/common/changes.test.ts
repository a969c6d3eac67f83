import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Changes } from './changes.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a change wakes everyone who waits, once', async () => {
  const changes = new Changes();
  const woken: string[] = [];
  const waits = ['a', 'b'].map((name) => changes.next(1000).then(() => woken.push(name)));
  changes.announce();
  await Promise.all(waits);
  changes.announce();
  expect(woken).toEqual(['a', 'b']);
  expect(vi.getTimerCount()).toBe(0);
});

test.each([1000, 0, -1])('without a change the wait of %d ms ends by itself', async (withinMs) => {
  let over = false;
  const wait = new Changes().next(withinMs).then(() => (over = true));
  await vi.advanceTimersByTimeAsync(Math.max(0, withinMs - 1));
  expect(over).toBe(withinMs <= 0);
  await vi.advanceTimersByTimeAsync(1);
  await wait;
});
