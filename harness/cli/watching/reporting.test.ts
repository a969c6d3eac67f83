import { expect, test } from 'vitest';
import { gapsIn, writeToStderr } from './reporting.ts';

test('what a terminal or a runner would obey is spelled out, on one line', () => {
  const written: string[] = [];
  writeToStderr('a\u001b[31m\n::error ::b', { write: (text: unknown) => written.push(String(text)) > 0 });
  expect(written).toEqual(['muster: a\\u001b[31m␊::error ::b\n']);
});

test('what was not judged is counted in words', () => {
  const gaps = (count: number): string[] => gapsIn({ lost: {}, unread: { 'too large': count } });
  expect([...gaps(1), ...gaps(2)]).toEqual(['1 body: too large', '2 bodies: too large']);
});

test('that nobody can read it ends nothing', () => {
  const write = (): never => {
    throw new Error('no space');
  };
  expect(() => writeToStderr('a', { write })).not.toThrow();
});
