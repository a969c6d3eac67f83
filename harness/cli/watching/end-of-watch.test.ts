import { expect, test } from 'vitest';
import { endOfWatch } from './end-of-watch.ts';

test('without a time only the signal ends it, however often a timer has fired', async () => {
  const end = new AbortController();
  let isOver = false;
  const ended = endOfWatch(end.signal, undefined, 1).then(() => {
    isOver = true;
  });
  await new Promise((resolve) => void setTimeout(resolve, 30));
  expect(isOver).toBe(false);
  end.abort();
  await ended;
});

test('a time that is longer than a timer takes is waited for in parts', async () => {
  const began = performance.now();
  await endOfWatch(new AbortController().signal, 40, 10);
  expect(performance.now() - began).toBeGreaterThan(30);
});
