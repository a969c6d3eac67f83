import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, expect, test } from 'vitest';
import { readTar, type TarEntry, tarOf } from './container-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-tar-'));
afterAll(() => rmSync(folder, { recursive: true }));

const LONG = `${'long-'.repeat(60)}ö.json`.slice(-200);
mkdirSync(join(folder, 'root', 'd'.repeat(120)), { recursive: true });
writeFileSync(join(folder, 'root/empty'), '');
writeFileSync(join(folder, 'root/a.json'), 'x'.repeat(513));
writeFileSync(join(folder, 'root', 'd'.repeat(120), LONG), '{}');
symlinkSync('a.json', join(folder, 'root/link'));

async function entriesOf(archive: Buffer, piece: number): Promise<TarEntry[]> {
  const pieces = function* (): Generator<Buffer> {
    for (let at = 0; at < archive.length; at += piece) yield archive.subarray(at, at + piece);
  };
  return Array.fromAsync(readTar(Readable.from(pieces()), (name) => name.endsWith('.json')));
}

test.each(['gnu', 'pax', 'ustar'])('reads what tar writes as %s, in whatever pieces it comes', async (format) => {
  // A ustar archive has no room for the long names.
  const names = format === 'ustar' ? ['root/empty', 'root/a.json', 'root/link'] : ['root'];
  const archive = execFileSync('tar', [`--format=${format}`, '-cf', '-', '-C', folder, ...names]);
  const entries = await entriesOf(archive, 100_000);
  expect(await entriesOf(archive, 7)).toEqual(entries);
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  expect(byName.get('root/empty')).toMatchObject({ kind: 'file', size: 0, content: undefined });
  expect(byName.get('root/a.json')).toMatchObject({ size: 513, content: Buffer.from('x'.repeat(513)) });
  expect(byName.get('root/link')).toMatchObject({ kind: 'link' });
  if (format === 'ustar') return;
  expect(byName.get('root')).toMatchObject({ kind: 'folder' });
  expect(byName.get(`root/${'d'.repeat(120)}/${LONG}`)).toMatchObject({ content: Buffer.from('{}') });
});

test('tar reads what is written', () => {
  const archive = tarOf({ name: 'events.jsonl', mode: 0o640, uid: 1, gid: 2 }, Buffer.from('one\ntwo\n'));
  const listed = execFileSync('tar', ['--numeric-owner', '-tvf', '-'], { input: archive, encoding: 'utf8' });
  expect(listed).toMatch(/^-rw-r----- 1\/2\s+8 .* events\.jsonl$/m);
  expect(execFileSync('tar', ['-xOf', '-'], { input: archive, encoding: 'utf8' })).toBe('one\ntwo\n');
  expect(() => tarOf({ name: 'x'.repeat(101), mode: 0, uid: 0, gid: 0 }, Buffer.alloc(0))).toThrow(/longer than/);
});

test('what is torn, or no archive, is no shorter list', async () => {
  const archive = tarOf({ name: 'a.json', mode: 0o600, uid: 0, gid: 0 }, Buffer.alloc(2000, 'x'));
  for (const length of [100, 600, 2500]) {
    await expect(entriesOf(archive.subarray(0, length), 512)).rejects.toThrow(/ends in the middle/);
  }
  await expect(entriesOf(Buffer.alloc(512, 'x'), 512)).rejects.toThrow(/not a tar archive/);
});
