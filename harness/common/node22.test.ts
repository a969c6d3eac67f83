import { expect, test } from 'vitest';
import { AsyncDisposableStackOfNode22 } from './node22.ts';

test('the stack for Node 22 closes its resources in reverse order, once, despite failures', async () => {
  const closed: string[] = [];
  const stack = new AsyncDisposableStackOfNode22();
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

test('the stack for Node 22 moves its resources to another stack', async () => {
  const closed: string[] = [];
  const stack = new AsyncDisposableStackOfNode22();
  stack.defer(() => void closed.push('it'));
  const moved = stack.move();
  await stack.disposeAsync();
  expect(closed).toEqual([]);
  await moved.disposeAsync();
  expect(closed).toEqual(['it']);
});
