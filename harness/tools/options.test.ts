import { afterEach, expect, test, vi } from 'vitest';
import { count, names, toolOptions } from './options.ts';

const OPTIONS = {
  only: names('these', ['a', 'b', 'c']),
  rounds: count('how often', 3),
  whole: { type: 'boolean', describe: 'all of it', default: false },
} as const;

afterEach(() => void vi.restoreAllMocks());

test('given options have their values, others their defaults', () => {
  expect(toolOptions('tool', OPTIONS, { words: ['--only', 'a,b', '--whole'] })).toMatchObject({
    only: ['a', 'b'],
    rounds: 3,
    whole: true,
  });
  expect(toolOptions('tool', OPTIONS, { words: ['--rounds', '5'] })).toMatchObject({ rounds: 5, whole: false });
});

test.each([
  [['--only', 'a', '--only', 'b'], '--only: given twice; accepted: once'],
  [['--rounds', '1', '--rounds', '2'], '--rounds: given twice; accepted: once'],
  [['--only', 'd'], 'd: unknown; known are a, b, c'],
  [['--rounds', '0'], 'must be a whole number from 1 on'],
])('%j is a usage error', (words, said) => {
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  vi.spyOn(process, 'exit').mockImplementation((code) => {
    throw new Error(`ended with ${code}`);
  });
  expect(() => toolOptions('tool', OPTIONS, { words })).toThrow('ended with 64');
  expect(written.mock.calls[0]?.[0]).toContain(said);
});
