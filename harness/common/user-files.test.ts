import { execFile, execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  truncateSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { useScratch } from '../../simulators/common/testing/scratch.ts';
import {
  besideName,
  isBesideName,
  readInput,
  readInputText,
  replaceWith,
  SECRET_MODE,
  TooLarge,
  whyNot,
  writeWhole,
} from './user-files.ts';

const home = useScratch();

const mode = (path: string) => statSync(path).mode & 0o777;

test('temporary names beside a file are unique, short and in its folder', () => {
  const names = Array.from({ length: 100 }, () => besideName(join(home.path, 'x'.repeat(255))));
  expect(new Set(names).size).toBe(100);
  for (const name of names) {
    expect(name.startsWith(join(home.path, '.'))).toBe(true);
    expect(isBesideName(name.slice(home.path.length + 1))).toBe(true);
  }
  for (const other of ['.muster-', '.muster-0123456789abcdef0123456', 'muster-0123456789abcdef01234567', 'a.new'])
    expect(isBesideName(other)).toBe(false);
});

test('replacing a file sets the given mode, follows no link, and leaves its neighbours alone', () => {
  const file = join(home.path, 'secret');
  const victim = join(home.path, 'victim');
  writeFileSync(victim, 'precious');
  writeFileSync(file, 'old', { mode: 0o666 });
  const traps = [`${file}.new`, `${file}.tmp`, `${file}.${process.pid}.tmp`, `${file}~`];
  for (const trap of traps) symlinkSync(victim, trap);
  replaceWith(file, 'new', SECRET_MODE);
  expect(readFileSync(file, 'utf8')).toBe('new');
  expect(mode(file)).toBe(0o600);
  expect(readFileSync(victim, 'utf8')).toBe('precious');
  for (const trap of traps) expect(readlinkSync(trap)).toBe(victim);
  for (const trap of traps) replaceWith(trap, 'new', SECRET_MODE);
  for (const trap of traps) expect(lstatSync(trap).isSymbolicLink()).toBe(false);
  expect(readFileSync(victim, 'utf8')).toBe('precious');
});

test('a secret file is private from the start, even without a umask', async () => {
  const before = process.umask(0);
  const modes = new Set<number>();
  const watcher = watch(home.path, (_event, name) => {
    const found = lstatSync(join(home.path, name ?? ''), { throwIfNoEntry: false });
    if (found?.isFile()) modes.add(found.mode & 0o777);
  });
  try {
    for (let round = 0; round < 50; round += 1) {
      replaceWith(join(home.path, 'secret'), 'x'.repeat(100_000), SECRET_MODE);
      await new Promise(setImmediate);
    }
    await expect.poll(() => modes.size).toBeGreaterThan(0);
  } finally {
    watcher.close();
    process.umask(before);
  }
  expect([...modes]).toEqual([0o600]);
});

test('a failed replacement keeps the old file and leaves no other', () => {
  const file = join(home.path, 'place');
  mkdirSync(join(file, 'full'), { recursive: true });
  expect(() => replaceWith(file, 'new')).toThrow(/EISDIR|ENOTEMPTY|EEXIST/);
  expect(readdirSync(home.path)).toEqual(['place']);
  expect(existsSync(join(file, 'full'))).toBe(true);
});

test('a file that is mounted by itself, as in a container, is written in place', (context) => {
  const [mounted, place] = [join(home.path, 'mounted.json'), join(home.path, 'report.json')];
  for (const file of [mounted, place]) writeFileSync(file, 'old and longer');
  if (spawnSync('mount', ['--bind', mounted, place]).status !== 0) context.skip('no file can be mounted here');
  try {
    writeWhole(place, 'new');
  } finally {
    execFileSync('umount', ['-l', place]);
  }
  expect(readFileSync(mounted, 'utf8')).toBe('new');
  expect(readdirSync(home.path).toSorted()).toEqual(['mounted.json', 'report.json']);
});

test('reading refuses a folder, a pipe without a writer and an endless file', () => {
  const pipe = join(home.path, 'pipe');
  execFileSync('mkfifo', [pipe]);
  expect(() => readInput(home.path)).toThrow('it is a folder');
  expect(() => readInput(pipe)).toThrow('it is a pipe into which nobody writes');
  expect(() => readInput('/dev/zero')).toThrow('it has more than');
});

test('reading refuses an oversized text, and accepts an executable of that size', () => {
  const file = join(home.path, 'large');
  writeFileSync(file, '');
  truncateSync(file, 67_108_865);
  expect(() => readInputText(file)).toThrow(TooLarge);
  expect(readInput(file).length).toBe(67_108_865);
  truncateSync(file, 600_000_000);
  expect(() => readInputText(file)).toThrow('it has more than 67108864 bytes');
});

test('the reason for a missing file omits its name', () => {
  try {
    readInput(join(home.path, 'none'));
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
  const late = join(home.path, name.replaceAll(' ', '-'));
  const script = `import('node:fs').then(({ writeFileSync }) => {
    writeFileSync(${JSON.stringify(late)}, '');
    return import(${JSON.stringify(module)});
  }).then(({ readInputText }) => process.stdout.write(readInputText(process.argv[1])))`;
  const { stdout } = await promisify(execFile)('bash', ['-c', line, process.execPath, script, late]);
  expect(stdout).toBe('here\n');
});
