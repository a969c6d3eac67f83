import { expect, test } from 'vitest';
import { commandLine, forAnotherRun, withoutSecrets } from './own-arguments.ts';

const words = [
  'check',
  'platform',
  '--api-key',
  'dev',
  '--limited-key=ro',
  '--url',
  'http://127.0.0.1:1/beta',
  '--fast',
];

test('a report repeats no secret, not even a short one', () => {
  expect(withoutSecrets(words)).toEqual([...words.slice(0, 3), '***', '--limited-key=***', ...words.slice(5)]);
});

test('another run takes them from the environment', () => {
  expect(forAnotherRun(withoutSecrets(words))).toEqual(['check', 'platform', ...words.slice(5)]);
  expect(forAnotherRun(words)).toEqual(words);
});

test('a line to paste names the variables', () => {
  expect(commandLine([...words, '--only', "it's"])).toBe(
    `muster check platform --api-key "$MUSTER_API_KEY" --limited-key="$MUSTER_LIMITED_KEY" --url http://127.0.0.1:1/beta --fast --only 'it'\\''s'`,
  );
});
