/** A second fleet in the folders of another. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lockFolders } from './ready.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'muster-locks-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

type Folders = Parameters<typeof lockFolders>[0];
describe('a second fleet', () => {
  const local = (change: Partial<Folders>): Folders => ({
    scenario: { name: 'test', phases: [] },
    stateDir: join(root, 'state'),
    out: join(root, 'out'),
    ...change,
  });

  it.each(['out', 'state'])('is refused in the same --%s, by the number of the process that uses it', (option) => {
    mkdirSync(join(root, 'out-2'), { recursive: true });
    mkdirSync(join(root, 'state-2'), { recursive: true });
    mkdirSync(join(root, 'out'));
    mkdirSync(join(root, 'state'));
    const second = option === 'out' ? { stateDir: join(root, 'state-2') } : { out: join(root, 'out-2') };
    {
      using _ = lockFolders(local({}));
      expect(() => lockFolders(local(second))).toThrow(
        new RegExp(`^--${option}: .*/${option} is in use by another fleet \\(process ${process.pid}\\)`),
      );
      // What it had locked before it was refused is free again.
      using __ = lockFolders(local({ stateDir: join(root, 'state-2'), out: join(root, 'out-2') }));
    }
    using _ = lockFolders(local(second));
    expect(readdirSync(join(root, option === 'out' ? 'state' : 'out'))).toEqual([]);
  });

  it('may be another shard of the same fleet, or have other robots', () => {
    const folder = (name: string): string => {
      mkdirSync(join(root, name), { recursive: true });
      return join(root, name);
    };
    const shard = (index: number, count: number, more: Partial<Folders> = {}) =>
      local({ stateDir: folder('state'), out: folder(`out-${index}-${count}`), shard: { index, count }, ...more });
    using _ = lockFolders(shard(1, 2));
    using __ = lockFolders(shard(2, 2));
    using ___ = lockFolders(shard(1, 3, { namePrefix: 'other' }));
    expect(() => lockFolders(shard(1, 2, { out: folder('elsewhere') }))).toThrow(/--state: .* in use/);
    expect(() => lockFolders(shard(3, 3))).toThrow(/--state: .* in use/);
    expect(() => lockFolders(local({ stateDir: folder('state'), out: folder('whole') }))).toThrow(/--state: .* in use/);
  });

  it('takes over what a dead one has left', async () => {
    mkdirSync(join(root, 'out'));
    mkdirSync(join(root, 'state'));
    const child = fork(new URL('./testing/hold-lock.ts', import.meta.url), [join(root, 'out'), join(root, 'state')]);
    await once(child, 'message');
    expect(() => lockFolders(local({}))).toThrow(new RegExp(`--out: .* \\(process ${child.pid}\\)`));
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(readlinkSync(join(root, 'out', 'lock'))).toContain(String(child.pid));
    using _ = lockFolders(local({}));
    expect(readlinkSync(join(root, 'out', 'lock'))).toContain(String(process.pid));
  });
});
