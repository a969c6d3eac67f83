import { mkdirSync, readdirSync } from 'node:fs';
import process from 'node:process';
import { describe, expect, it } from 'vitest';
import { useFolder } from '../testing/scratch.ts';
import { lockFolders } from './ready.ts';

const folder = useFolder();

type Folders = Parameters<typeof lockFolders>[0];
describe('a second fleet', () => {
  const made = (name: string): string => {
    mkdirSync(folder(name), { recursive: true });
    return folder(name);
  };
  const local = (change: Partial<Folders>): Folders => ({
    scenario: { name: 'test', phases: [] },
    stateDir: made('state'),
    out: made('out'),
    ...change,
  });

  it.each(['out', 'state'])('is refused in the same --%s, with the id of the first process', (option) => {
    const other = { stateDir: made('state-2'), out: made('out-2') };
    const second = option === 'out' ? { stateDir: other.stateDir } : { out: other.out };
    {
      using _ = lockFolders(local({}));
      expect(() => lockFolders(local(second))).toThrow(
        new RegExp(`^--${option}: .*/${option} is in use by another fleet \\(process ${process.pid}\\)`),
      );
      // Locks the other folders, whose locks the refused fleet must have released.
      using __ = lockFolders(local(other));
    }
    using _ = lockFolders(local(second));
    expect(readdirSync(folder(option === 'out' ? 'state' : 'out'))).toEqual([]);
  });

  it('is accepted as another shard of the same fleet, or with other robots', () => {
    const shard = (index: number, count: number, more: Partial<Folders> = {}) =>
      local({ out: made(`out-${index}-${count}`), shard: { index, count }, ...more });
    using _ = lockFolders(shard(1, 2));
    using __ = lockFolders(shard(2, 2));
    using ___ = lockFolders(shard(1, 3, { namePrefix: 'other' }));
    for (const refused of [shard(1, 2, { out: made('elsewhere') }), shard(3, 3), local({ out: made('whole') })])
      expect(() => lockFolders(refused)).toThrow(/--state: .* in use/);
  });
});
