import { isAbsolute, join, normalize } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyCharacter } from '../../common/testing/text.ts';
import { DeployError } from '../ports.ts';
import { relativePath, relativePaths } from './filepath.ts';

const ROOT = '/robot/root';

test.for([
  ['/etc/robot/speed.json', 'etc/robot/speed.json'],
  ['speed.json', 'speed.json'],
  ['//a///b', 'a/b'],
  ['./a/./b', 'a/b'],
  ['a..b/..c', 'a..b/..c'],
  ['C:\\windows\\x', 'C:\\windows\\x'],
  [`/${'x'.repeat(255)}`, 'x'.repeat(255)],
])('%s is %s below the root', ([filepath, relative]) => {
  expect(relativePath(filepath ?? '')).toBe(relative);
});

test.for([
  ['../x', /leads upwards/],
  ['/a/../b', /leads upwards/],
  ['a/..', /leads upwards/],
  ['', /names no file/],
  ['/', /names no file/],
  ['.', /names no file/],
  ['a/', /names no file/],
  ['a\0b', /NUL/],
  [`/${'x'.repeat(300)}`, /longer than 255/],
  [`/${'é'.repeat(200)}`, /longer than 255/],
  ['/x'.repeat(2_000), /longer than 2048/],
] as const)('%j is refused for good', ([filepath, reason]) => {
  expect(() => relativePath(filepath)).toThrow(reason);
  expect(() => relativePath(filepath)).toThrow(expect.objectContaining({ name: 'DeployError', retryable: false }));
});

test('no path leads out of the root', () => {
  const part = fc.oneof(
    fc.constantFrom('..', '.', '/', '\\', '\0', '~', '%2e%2e', '…'),
    fc.string({ unit: anyCharacter }),
  );
  const path = fc.array(part, { maxLength: 12 }).map((parts) => parts.join('/'));
  fc.assert(
    fc.property(fc.oneof(path, fc.string({ unit: anyCharacter })), (filepath) => {
      try {
        const below = normalize(join(ROOT, relativePath(filepath)));
        expect(below.startsWith(`${ROOT}/`)).toBe(true);
        expect(isAbsolute(relativePath(filepath))).toBe(false);
      } catch (error) {
        expect(error).toBeInstanceOf(DeployError);
      }
    }),
    { numRuns: 2_000 },
  );
});

test('a set with two files in one place is refused', () => {
  expect(() => relativePaths(['/a', 'b', './a'])).toThrow(/two config files want the path "a"/);
  expect(() => relativePaths(['/a/b/c', '/a/b'])).toThrow(/as a file and as a directory/);
  expect(relativePaths(['/a/b', '/a/bc', '/a/b.d/e'])).toEqual(['a/b', 'a/bc', 'a/b.d/e']);
});
