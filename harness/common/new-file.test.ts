import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { besideName, isBesideName, prepareFile, replaceWith, SECRET_MODE, writeWhole } from './user-files.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'muster-new-file-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const mode = (path: string) => statSync(path).mode & 0o777;

test('the name beside a file is another one each time, in its folder, and short', () => {
  const names = Array.from({ length: 100 }, () => besideName(join(folder, 'x'.repeat(255))));
  expect(new Set(names).size).toBe(100);
  for (const name of names) {
    expect(name.startsWith(join(folder, '.'))).toBe(true);
    expect(isBesideName(name.slice(folder.length + 1))).toBe(true);
  }
  for (const other of [
    '.muster-',
    '.muster-0123456789abcdef0123456',
    'muster-0123456789abcdef01234567',
    'a~',
    'a.new',
  ]) {
    expect(isBesideName(other)).toBe(false);
  }
});

test('a file is replaced with the mode asked for, whatever it had and whatever lies beside it', () => {
  const file = join(folder, 'secret');
  const victim = join(folder, 'victim');
  writeFileSync(victim, 'precious');
  writeFileSync(file, 'old', { mode: 0o666 });
  const traps = [`${file}.new`, `${file}.tmp`, `${file}.${process.pid}.tmp`, `${file}~`];
  for (const trap of traps) symlinkSync(victim, trap);
  replaceWith(file, 'new', SECRET_MODE);
  expect(readFileSync(file, 'utf8')).toBe('new');
  expect(mode(file)).toBe(0o600);
  expect(readFileSync(victim, 'utf8')).toBe('precious');
  for (const trap of traps) expect(readlinkSync(trap)).toBe(victim);
});

test('a link at the name is replaced and not followed', () => {
  const [file, victim] = [join(folder, 'secret'), join(folder, 'victim')];
  writeFileSync(victim, 'precious');
  symlinkSync(victim, file);
  replaceWith(file, 'new', SECRET_MODE);
  expect(lstatSync(file).isSymbolicLink()).toBe(false);
  expect(readFileSync(victim, 'utf8')).toBe('precious');
});

test('a secret is its owner’s from the first moment, without a umask too', async () => {
  const before = process.umask(0);
  const modes = new Set<number>();
  const watcher = watch(folder, (_event, name) => {
    const found = lstatSync(join(folder, name ?? ''), { throwIfNoEntry: false });
    if (found?.isFile()) modes.add(found.mode & 0o777);
  });
  try {
    for (let round = 0; round < 50; round += 1) {
      replaceWith(join(folder, 'secret'), 'x'.repeat(100_000), SECRET_MODE);
      await new Promise(setImmediate);
    }
    await expect.poll(() => modes.size).toBeGreaterThan(0);
  } finally {
    watcher.close();
    process.umask(before);
  }
  expect([...modes]).toEqual([0o600]);
});

test('a failure leaves the old file, and nothing beside it', () => {
  const file = join(folder, 'place');
  mkdirSync(join(file, 'full'), { recursive: true });
  expect(() => replaceWith(file, 'new')).toThrow(/EISDIR|ENOTEMPTY|EEXIST/);
  expect(readdirSync(folder)).toEqual(['place']);
  expect(existsSync(join(file, 'full'))).toBe(true);
});

test('a file that the command line names is tried and written without touching what lies beside it', () => {
  const file = join(folder, 'report.json');
  const victim = join(folder, 'victim');
  writeFileSync(victim, 'precious');
  symlinkSync(victim, `${file}.${process.pid}.tmp`);
  expect(prepareFile('--report json', file)).toBe(file);
  writeWhole(file, '{}');
  expect(readFileSync(file, 'utf8')).toBe('{}');
  expect(readFileSync(victim, 'utf8')).toBe('precious');
  expect(readdirSync(folder).toSorted()).toEqual(['report.json', `report.json.${process.pid}.tmp`, 'victim']);
});
