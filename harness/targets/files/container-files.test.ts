import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { beforeEach, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../testing/places.ts';
import { type ArchiveApi, ContainerFiles, readTar, type TarEntry, tarOf } from './container-files.ts';

const folder = temporaryFolder();

const LONG = `${'long-'.repeat(60)}ö.json`.slice(-200);
mkdirSync(join(folder, 'root', 'd'.repeat(120)), { recursive: true });
writeFileSync(join(folder, 'root/empty'), '');
writeFileSync(join(folder, 'root/a.json'), 'x'.repeat(513));
const SPLIT = `root/${'d'.repeat(120)}/b.json`;
writeFileSync(join(folder, 'root', 'd'.repeat(120), LONG), '{}');
writeFileSync(join(folder, SPLIT), '[]');
symlinkSync('a.json', join(folder, 'root/link'));
symlinkSync('far/'.repeat(40), join(folder, 'root/long-link'));

async function entriesOf(archive: Buffer, piece: number, wanted = true): Promise<TarEntry[]> {
  const pieces = function* (): Generator<Buffer> {
    for (let at = 0; at < archive.length; at += piece) yield archive.subarray(at, at + piece);
  };
  return Array.fromAsync(readTar(Readable.from(pieces()), wanted));
}

test.each(['gnu', 'pax', 'ustar'])('the tar reader reads %s archives in any pieces', async (format) => {
  const names = format === 'ustar' ? ['root/empty', 'root/a.json', 'root/link', SPLIT] : ['root'];
  const more = format === 'pax' ? ['--pax-option=comment=of all'] : [];
  const archive = execFileSync('tar', [`--format=${format}`, ...more, '-cf', '-', '-C', folder, ...names]);
  const entries = await entriesOf(archive, 100_000);
  expect(await entriesOf(archive, 7)).toEqual(entries);
  expect(await entriesOf(archive, 1000, false)).toEqual(entries.map((entry) => ({ ...entry, content: undefined })));
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  expect(byName.get('root/empty')).toMatchObject({ kind: 'file', size: 0, content: Buffer.alloc(0) });
  expect(byName.get('root/a.json')).toMatchObject({ size: 513, content: Buffer.from('x'.repeat(513)) });
  expect(byName.get('root/link')).toMatchObject({ kind: 'link' });
  expect(byName.get(SPLIT)).toMatchObject({ content: Buffer.from('[]') });
  if (format === 'ustar') return;
  expect(byName.get('root')).toMatchObject({ kind: 'folder' });
  expect(byName.get('root/long-link')).toMatchObject({ kind: 'link' });
  expect(entries).toHaveLength(8);
  expect(byName.get(`root/${'d'.repeat(120)}/${LONG}`)).toMatchObject({ content: Buffer.from('{}') });
});

test('a written archive is readable by tar', () => {
  const archive = tarOf({ name: 'events.jsonl', mode: 0o640, uid: 1, gid: 2 }, Buffer.from('one\ntwo\n'));
  const listed = execFileSync('tar', ['--numeric-owner', '-tvf', '-'], { input: archive, encoding: 'utf8' });
  expect(listed).toMatch(/^-rw-r----- 1\/2\s+8 .* events\.jsonl$/m);
  expect(execFileSync('tar', ['-xOf', '-'], { input: archive, encoding: 'utf8' })).toBe('one\ntwo\n');
  expect(() => tarOf({ name: 'x'.repeat(101), mode: 0, uid: 0, gid: 0 }, Buffer.alloc(0))).toThrow(/longer than/);
});

test('a torn or invalid archive is an error, not a shorter list', async () => {
  const archive = tarOf({ name: 'a.json', mode: 0o600, uid: 0, gid: 0 }, Buffer.alloc(2000, 'x'));
  for (const length of [0, 100, 600, 2500]) {
    await expect(entriesOf(archive.subarray(0, length), 512)).rejects.toThrow(/ends in the middle/);
  }
  await expect(entriesOf(Buffer.alloc(512, 'x'), 512)).rejects.toThrow(/not a tar archive/);
});

describe('files of a container', () => {
  const root = join(folder, 'container');
  const inside = (path: string): string => join(root, path);
  beforeEach(() => {
    rmSync(root, { recursive: true, force: true });
    mkdirSync(inside('data/releases/1/etc'), { recursive: true });
    writeFileSync(inside('data/releases/1/a.json'), '{}');
    writeFileSync(inside('data/releases/1/etc/b.json'), '[]');
    writeFileSync(inside('data/log'), 'one\n', { mode: 0o640 });
    symlinkSync('/data/releases/1', inside('data/current'));
    symlinkSync('releases/../log', inside('data/newest'));
    symlinkSync('/etc/motd', inside('data/motd'));
    symlinkSync('nowhere', inside('data/dangling'));
    mkdirSync(inside('etc'));
    writeFileSync(inside('etc/motd'), 'welcome');
    execFileSync('mkfifo', [inside('data/pipe')]);
  });

  const saying = (stat: object): Awaited<ReturnType<ArchiveApi['infoArchive']>> => {
    const header = Buffer.from(JSON.stringify(stat)).toString('base64');
    return Object.assign(Readable.from([]), { headers: { 'x-docker-container-path-stat': header } });
  };

  const docker = (asked: string[] = []): ArchiveApi => ({
    infoArchive: async ({ path }) => {
      asked.push(`info ${path}`);
      const found = lstatSync(inside(path), { throwIfNoEntry: false });
      if (found === undefined) throw Object.assign(new Error('no such place'), { statusCode: 404 });
      const kinds = [found.isDirectory() && 2 ** 31, found.isSymbolicLink() && 2 ** 27, found.isFIFO() && 2 ** 25];
      const linkTarget = found.isSymbolicLink() ? resolve(dirname(path), readlinkSync(inside(path))) : '';
      const mode = kinds.reduce<number>((sum, bit) => sum + Number(bit), 0o644);
      return saying({ size: found.size, mode, linkTarget });
    },
    getArchive: async ({ path }) => {
      asked.push(`get ${path}`);
      return Readable.from([execFileSync('tar', ['-C', inside(dirname(path)), '-cf', '-', basename(path)])]);
    },
    putArchive: async (archive, { path }) => execFileSync('tar', ['-C', inside(path), '-xpf', '-'], { input: archive }),
  });
  const mounts = [{ source: inside('data'), target: '/data' }];
  const ends = [
    ['by Docker', (asked?: string[]) => new ContainerFiles([], docker(asked))],
    ['by a mount', (asked?: string[]) => new ContainerFiles(mounts, docker(asked))],
  ] as const;

  test.each(ends)('are read %s, links included', async (way, filesOf) => {
    const asked: string[] = [];
    const files = filesOf(asked);
    expect(await files.stat('/data/log')).toMatchObject({ kind: 'file', size: 4 });
    expect(await files.stat('/data/current')).toMatchObject({ kind: 'folder' });
    expect(await files.stat('/data/pipe')).toMatchObject({ kind: 'other' });
    expect(await files.read('/data/newest')).toEqual(Buffer.from('one\n'));
    expect([await files.read('/data/pipe'), await files.read('/data/current')]).toEqual([undefined, undefined]);
    for (const path of ['/data/none', '/data/dangling', '/data2', '/data/releases/none/x']) {
      expect([await files.stat(path), await files.read(path)]).toEqual([undefined, undefined]);
      expect(await files.list(path)).toEqual([]);
    }
    expect(await files.list('/data/log')).toEqual([]);
    const below = (entries: { path: string }[]): string[] => entries.map(({ path }) => path).toSorted();
    expect(below(await files.list('/data/current'))).toEqual(['/data/current/a.json', '/data/current/etc']);
    const deep = await files.list('/data/current', { deep: true });
    expect(below(deep)).toEqual(['/data/current/a.json', '/data/current/etc', '/data/current/etc/b.json']);
    expect(deep).toContainEqual(expect.objectContaining({ path: '/data/current/a.json', kind: 'file', size: 2 }));
    expect(asked.some((call) => /data\/(log|current)/.test(call))).toBe(way === 'by Docker');
  });

  test('outside the mounts are read by Docker, also through links in a mount', async () => {
    const asked: string[] = [];
    const files = ends[1][1](asked);
    expect(await files.read('/data/motd')).toEqual(Buffer.from('welcome'));
    expect(await files.read('/data/releases/../../etc/motd')).toEqual(Buffer.from('welcome'));
    expect(asked.toSpliced(3)).toEqual(['info /data/motd', 'info /etc/motd', 'get /etc/motd']);
    const listed = await ends[0][1]().list('/data');
    expect(listed).toContainEqual(expect.objectContaining({ path: '/data/motd', kind: 'file', size: 7 }));
    expect(listed.map(({ path }) => path)).not.toContain('/data/dangling');
  });

  test.each(ends)('are appended to %s, and keep their mode', async (_, filesOf) => {
    chmodSync(inside('data/log'), 0o640);
    await filesOf().append('/data/newest', Buffer.from('tw'));
    expect(readFileSync(inside('data/log'), 'utf8')).toBe('one\ntw');
    expect(lstatSync(inside('data/log')).mode & 0o777).toBe(0o640);
    await expect(filesOf().append('/data/other', Buffer.from('x'))).rejects.toThrow(/there is no file .*\/data\/other/);
  });

  test('are an error when too large or when Docker fails, not missing', async () => {
    const large = (size: number): ArchiveApi => ({
      ...docker(),
      infoArchive: async () => saying({ size, mode: 0, linkTarget: '' }),
    });
    const tooLarge = new ContainerFiles([], large(2 ** 28 + 1)).read('/data/log');
    await expect(tooLarge).rejects.toThrow('/data/log in the container has 268435457 bytes, too many to copy');
    expect(await new ContainerFiles([], large(2 ** 28)).read('/data/log')).toEqual(Buffer.from('one\n'));
    const broken = { ...docker(), infoArchive: async () => Promise.reject(new Error(' no daemon\n')) };
    await expect(new ContainerFiles([], broken).stat('/data/log')).rejects.toThrow('cannot be read (no daemon)');
    const gone = Object.assign(new Error('gone'), { statusCode: 404 });
    const removed = { ...docker(), getArchive: () => Promise.reject(gone) };
    expect(await new ContainerFiles([], removed).read('/data/log')).toBeUndefined();
    const torn = { ...docker(), getArchive: async () => Readable.from([Buffer.alloc(512, 'x')]) };
    await expect(new ContainerFiles([], torn).read('/data/log')).rejects.toThrow('(not a tar archive)');
  });
});
