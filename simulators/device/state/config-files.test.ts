import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isBesideName } from '../../../harness/common/user-files.ts';
import { disk } from '../log/io.ts';
import { diskWith, systemError } from '../log/testing/recorded-disk.ts';
import { scratch, useScratch } from '../testing/robot.ts';
import { ConfigFiles, relativePath, relativePaths } from './config-files.ts';

const home = useScratch();
const file = (filepath: string, content = filepath) => ({ filepath, content: Buffer.from(content) });

async function put(files: ConfigFiles, ...wanted: string[]): Promise<void> {
  await files.swap(await files.stage(wanted.map((path) => file(path))));
  files.prune();
}

const below = (root: string): string[] =>
  readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`.slice(root.length))
    .sort();

test('config files are written below the root, and swapped as one set', async () => {
  const files = new ConfigFiles(home.path, disk, false);
  await put(files, '/etc/a.json', 'b/c/d');
  expect(below(files.root)).toEqual(['/b/c/d', '/etc/a.json']);
  const staged = await files.stage([file('/etc/a.json', 'new')]);
  expect(readFileSync(`${files.root}/etc/a.json`, 'utf8')).toBe('/etc/a.json');
  await files.swap(staged);
  expect(readFileSync(`${files.root}/etc/a.json`, 'utf8')).toBe('new');
  expect(below(files.root)).toEqual(['/etc/a.json']);
  files.prune();
  expect(readdirSync(`${home.path}/sets`)).toHaveLength(1);
});

test.for(['open', 'write', 'sync'] as const)('a disk that fails at %s leaves the set as it was', async (step) => {
  const good = new ConfigFiles(home.path, disk, true);
  await put(good, '/a', '/b');
  let left = 2;
  const full = (): void => {
    left -= 1;
    if (left < 0) throw systemError('ENOSPC');
  };
  const io = diskWith({ [step]: full });
  const files = new ConfigFiles(home.path, io, true);
  const staging = files.stage([file('/a', 'x'), file('/b', 'x'), file('/c', 'x')]);
  await expect(staging).rejects.toMatchObject({ name: 'DeployError', retryable: true });
  expect(below(files.root)).toEqual(['/a', '/b']);
  expect(readFileSync(`${files.root}/a`, 'utf8')).toBe('/a');
  expect(readdirSync(`${home.path}/sets`)).toHaveLength(1);
});

test.for(['/link/x', '/link', '/dir/link/y/z'])('a link made by the user is not followed to %s', async (path) => {
  const files = new ConfigFiles(home.path, disk, false);
  await put(files, '/dir/file');
  mkdirSync(`${home.path}/outside`);
  symlinkSync(`${home.path}/outside`, `${files.root}/link`);
  symlinkSync(`${home.path}/outside`, `${files.root}/dir/link`);
  await expect(files.stage([file(path)])).rejects.toMatchObject({ name: 'DeployError', retryable: false });
  expect(readdirSync(`${home.path}/outside`)).toEqual([]);
  await put(files, '/other');
  expect(readdirSync(`${home.path}/outside`)).toEqual([]);
});

test('a root directory made by the user is replaced by the next set', async () => {
  const files = new ConfigFiles(home.path, disk, false);
  mkdirSync(`${files.root}/etc`, { recursive: true });
  writeFileSync(`${files.root}/etc/old`, '');
  await put(files, '/etc/new');
  expect(below(files.root)).toEqual(['/etc/new']);
});

test('any set of paths is written as a whole below the root, or not at all', async () => {
  const special = ['a', 'b', '..', '.', '', 'x'.repeat(256), 'n\0', '\\', '~', '%2e%2e', '…'];
  const name = fc.oneof(fc.constantFrom(...special), fc.string({ maxLength: 5 }));
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'));
  await fc.assert(
    fc.asyncProperty(fc.array(path, { maxLength: 5 }), async (paths) => {
      using own = scratch();
      const files = new ConfigFiles(`${own.path}/robot`, disk, false);
      mkdirSync(`${own.path}/robot`);
      await put(files, '/before');
      try {
        await put(files, ...paths);
        expect(below(files.root)).toHaveLength(paths.length);
      } catch {
        expect(below(files.root)).toEqual(['/before']);
      }
      expect(readdirSync(own.path)).toEqual(['robot']);
      expect(readdirSync(`${own.path}/robot`).filter(isBesideName)).toEqual([]);
    }),
    { numRuns: 200 },
  );
});

test.for([
  ['/etc/robot/speed.json', 'etc/robot/speed.json'],
  ['speed.json', 'speed.json'],
  ['//a///b', 'a/b'],
  ['./a/./b', 'a/b'],
  ['a..b/..c', 'a..b/..c'],
  ['C:\\windows\\x', 'C:\\windows\\x'],
  [`/${'x'.repeat(255)}`, 'x'.repeat(255)],
])('the path %s becomes %s below the root', ([filepath, relative]) => {
  expect(relativePath(filepath ?? '')).toBe(relative);
});

test.for([
  ['../x', /leads upwards/],
  ['/a/../b', /leads upwards/],
  ['', /names no file/],
  ['.', /names no file/],
  ['a/', /names no file/],
  ['a\0b', /NUL/],
  [`/${'x'.repeat(300)}`, /longer than 255/],
  [`/${'é'.repeat(200)}`, /longer than 255/],
  ['/x'.repeat(2_000), /longer than 2048/],
] as const)('the path %j is refused, and not retryable', ([filepath, reason]) => {
  expect(() => relativePath(filepath)).toThrow(reason);
  expect(() => relativePath(filepath)).toThrow(expect.objectContaining({ name: 'DeployError', retryable: false }));
});

test('a set with two files in one place is refused', () => {
  expect(() => relativePaths(['/a', 'b', './a'])).toThrow(/two config files want the path "a"/);
  expect(() => relativePaths(['/a/b/c', '/a/b'])).toThrow(/as a file and as a directory/);
  expect(relativePaths(['/a/b', '/a/bc', '/a/b.d/e'])).toEqual(['a/b', 'a/bc', 'a/b.d/e']);
});
