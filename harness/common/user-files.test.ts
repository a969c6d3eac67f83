import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { readInput, readInputText, TooLarge, whyNot } from './user-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-read-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('a file is read whole, as bytes or text', () => {
  const file = join(folder, 'file');
  writeFileSync(file, 'grüße');
  expect(readInputText(file)).toBe('grüße');
  expect(readInput(file)).toEqual(Buffer.from('grüße'));
});

test('a folder, a pipe without a writer and what has no end are refused in words', () => {
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  expect(() => readInput(folder)).toThrow('it is a folder');
  expect(() => readInput(pipe)).toThrow('it is a pipe into which nobody writes');
  expect(() => readInput('/dev/zero')).toThrow('it has more than');
});

test('a text that nobody can have meant is refused before it is read, an executable is not', () => {
  const file = join(folder, 'large');
  writeFileSync(file, '');
  truncateSync(file, 67_108_865);
  expect(() => readInputText(file)).toThrow(TooLarge);
  expect(readInput(file).length).toBe(67_108_865);
  truncateSync(file, 600_000_000);
  expect(() => readInputText(file)).toThrow('it has more than 67108864 bytes');
});

test('the reason does not repeat the name of a missing file', () => {
  try {
    readInput(join(folder, 'none'));
    expect.unreachable();
  } catch (error) {
    expect(whyNot(error)).toBe('ENOENT: no such file or directory');
  }
});

test.each([
  ['standard input', `echo here | "$0" --eval "$1" /dev/stdin`],
  ['a process substitution, however late it writes', `"$0" --eval "$1" <(while ! test -e "$2"; do :; done; echo here)`],
])('%s is read to its end', async (name, line) => {
  const module = new URL('./user-files.ts', import.meta.url).href;
  const late = join(folder, name.replaceAll(' ', '-'));
  const script = `import('node:fs').then(({ writeFileSync }) => {
    writeFileSync(${JSON.stringify(late)}, '');
    return import(${JSON.stringify(module)});
  }).then(({ readInputText }) => process.stdout.write(readInputText(process.argv[1])))`;
  const { stdout } = await promisify(execFile)('bash', ['-c', line, process.execPath, script, late]);
  expect(stdout).toBe('here\n');
});
