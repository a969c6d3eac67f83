import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../testing/places.ts';
import { FilesUnreadable, hostFiles, isForbidden, withReadablePaths } from './target-files.ts';

const folder = temporaryFolder();
const at = (...names: string[]): string => join(folder, ...names);
mkdirSync(at('release/etc'), { recursive: true });
writeFileSync(at('release/etc/a.json'), '{}');
symlinkSync('release', at('current'));
symlinkSync('nowhere', at('dangling'));

test('host files follow a named link, and do not walk through links', async () => {
  expect(await hostFiles.read(at('current/etc/a.json'))).toEqual(Buffer.from('{}'));
  expect(await hostFiles.stat(at('current'))).toMatchObject({ kind: 'folder' });
  const names = (await hostFiles.list(folder)).map(({ path }) => path);
  expect(names).toEqual(expect.arrayContaining([at('current'), at('release')]));
  expect(names).not.toContain(at('dangling'));
  expect(await hostFiles.list(at('current'), { deep: true })).toMatchObject([
    { path: at('current/etc'), kind: 'folder' },
    { path: at('current/etc/a.json'), kind: 'file', size: 2 },
  ]);
});

test('a missing path is no error, as a file or as a folder', async () => {
  for (const path of [at('none'), at('release/etc/a.json/below'), at('dangling'), at('x'.repeat(300))]) {
    expect(await hostFiles.stat(path)).toBeUndefined();
    expect(await hostFiles.read(path)).toBeUndefined();
    expect(await hostFiles.list(path)).toEqual([]);
  }
  expect(await hostFiles.read(folder)).toBeUndefined();
  expect(await hostFiles.list(at('release/etc/a.json'))).toEqual([]);
});

test.each([
  ['EACCES', true],
  ['EROFS', true],
  ['EIO', false],
])('an error of %s counts as forbidden: %s', (code, forbidden) => {
  expect(isForbidden(Object.assign(new Error(code), { code }))).toBe(forbidden);
});

test('an append adds bytes to an existing file, and creates none', async () => {
  writeFileSync(at('log'), 'one\n');
  await hostFiles.append(at('log'), Buffer.from('tw'));
  expect(readFileSync(at('log'), 'utf8')).toBe('one\ntw');
  await expect(hostFiles.append(at('other'), Buffer.from('x'))).rejects.toThrow(/there is no file .*other/);
  expect(await hostFiles.stat(at('other'))).toBeUndefined();
  await expect(hostFiles.append(folder, Buffer.from('x'))).rejects.toThrow('EISDIR');
});

test('a capability is dropped when control names a missing path for it', async () => {
  const said: string[] = [];
  const info = { capabilities: ['log', 'files', 'drive'], event_log: at('none/below/log'), config_root: at('new') };
  const { event_log: log, ...rest } = info;
  const kept = await withReadablePaths(info, hostFiles, (text) => void said.push(text));
  expect(kept).toEqual({ ...rest, capabilities: ['files', 'drive'] });
  expect(said).toEqual([expect.stringContaining(`control names ${log} as event_log, and the container has no such`)]);
  expect(await withReadablePaths({ capabilities: ['drive'] }, hostFiles, () => {})).toEqual({
    capabilities: ['drive'],
  });
});

test.each([
  ['log', hostFiles, 'that is no absolute path'],
  ['/log', { ...hostFiles, stat: () => Promise.reject(new FilesUnreadable('Docker is gone')) }, 'Docker is gone'],
])('a log at %s is dropped, with the reason', async (event_log, files, why) => {
  const said: string[] = [];
  const kept = await withReadablePaths({ capabilities: ['log'], event_log }, files, (text) => void said.push(text));
  expect([kept, said]).toEqual([{ capabilities: [] }, [expect.stringContaining(`as event_log, and ${why}: going on`)]]);
  const faulty = { ...hostFiles, stat: () => Promise.reject(new TypeError('a fault of ours')) };
  await expect(withReadablePaths({ capabilities: [], event_log: '/x' }, faulty, () => {})).rejects.toThrow('of ours');
});
