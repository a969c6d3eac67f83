import { expect, test } from 'vitest';
import { AsyncDisposableStackOfNode22 } from './node22.ts';

const STACKS = [
  ['Node’s own', () => new AsyncDisposableStack()],
  ['the one for Node 22', () => new AsyncDisposableStackOfNode22()],
] as const;

test.each(STACKS)('%s closes its resources in reverse order, once, despite failures', async (_, make) => {
  const closed: string[] = [];
  const stack = make();
  stack.use({ [Symbol.asyncDispose]: async () => void closed.push('first') });
  stack.use({ [Symbol.dispose]: () => void closed.push('second') });
  stack.use(null);
  stack.adopt('third', (name) => void closed.push(name));
  stack.defer(() => Promise.reject(new Error('cannot')));
  await expect(stack.disposeAsync()).rejects.toThrow('cannot');
  expect(closed).toEqual(['third', 'second', 'first']);
  await stack.disposeAsync();
  expect(closed).toHaveLength(3);
  expect(stack.disposed).toBe(true);
  expect(() => stack.defer(() => {})).toThrow(ReferenceError);
});

test.each(STACKS)('%s moves its resources to another stack', async (_, make) => {
  const closed: string[] = [];
  const stack = make();
  stack.defer(() => void closed.push('it'));
  const moved = stack.move();
  await stack.disposeAsync();
  expect(closed).toEqual([]);
  await moved.disposeAsync();
  expect(closed).toEqual(['it']);
});
