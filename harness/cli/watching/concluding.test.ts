import { expect, test } from 'vitest';
import { say } from './concluding.ts';

test('what a terminal or a runner would obey is spelled out, on one line', () => {
  const written: string[] = [];
  say('a\u001b[31m\n::error ::b', { write: (text: unknown) => written.push(String(text)) > 0 });
  expect(written).toEqual(['muster: a\\u001b[31m␊::error ::b\n']);
});

test('that nobody can read it ends nothing', () => {
  const write = (): never => {
    throw new Error('no space');
  };
  expect(() => say('a', { write })).not.toThrow();
});
