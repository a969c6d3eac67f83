import { mkdirSync, readdirSync } from 'node:fs';
import process from 'node:process';
import { expect, it } from 'vitest';
import { useFolder } from '../../common/testing/scratch.ts';
import { lockFolders } from './ready.ts';

const folder = useFolder();

type Folders = Parameters<typeof lockFolders>[0];
async function locked(options: Folders): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  lockFolders(options, stack);
  return stack.move();
}

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

it.each(['out', 'state'])('a second fleet is refused in the same --%s, with the id of the first', async (option) => {
  const other = { stateDir: made('state-2'), out: made('out-2') };
  const second = option === 'out' ? { stateDir: other.stateDir } : { out: other.out };
  {
    await using _ = await locked(local({}));
    await expect(locked(local(second))).rejects.toThrow(
      new RegExp(`^--${option}: .*/${option} is in use by another fleet \\(process ${process.pid}\\)`),
    );
    // Locks the other folders, whose locks the refused fleet must have released.
    await using __ = await locked(local(other));
  }
  await using _ = await locked(local(second));
  expect(readdirSync(folder(option === 'out' ? 'state' : 'out'))).toEqual([]);
});

it('a second fleet is accepted as another shard of the same fleet, or with other robots', async () => {
  const shard = (index: number, count: number, more: Partial<Folders> = {}) =>
    local({ out: made(`out-${index}-${count}`), shard: { index, count }, ...more });
  await using _ = await locked(shard(1, 2));
  await using __ = await locked(shard(2, 2));
  await using ___ = await locked(shard(1, 3, { namePrefix: 'other' }));
  for (const refused of [shard(1, 2, { out: made('elsewhere') }), shard(3, 3), local({ out: made('whole') })])
    await expect(locked(refused)).rejects.toThrow(/--state: .* in use/);
});
