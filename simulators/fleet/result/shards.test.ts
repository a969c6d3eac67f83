import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { useFolder } from '../../common/testing/scratch.ts';
import { findShards, watchShards, writeAlive, writeResult } from './shards.ts';
import { resultWith } from './testing/result.ts';

const folder = useFolder();

const part = (index: number, count = 2) => resultWith({ shard: { index, count } });
const sign = (index: number, beat: number) => ({ shard: { index, count: 2 }, beat, phase: 'hold' });

it('results on disk are found in a folder and its subfolders, except merged ones', () => {
  writeResult(folder('b'), part(2));
  writeResult(folder('a'), part(1));
  writeResult(folder(), resultWith({ merged_from: ['a', 'b'] }));
  expect(findShards([folder(), folder('none')]).parts.map(({ name }) => name)).toEqual([folder('a'), folder('b')]);
});

it('results on disk replace the sign of life, and leave no partial file', () => {
  writeAlive(folder('a'), sign(1, 1));
  expect(findShards([folder()]).alive).toMatchObject([{ sign: { beat: 1 } }]);
  writeResult(folder('a'), part(1));
  expect(readdirSync(folder('a'))).toEqual(['result.json']);
});

it('a shard counts as dead only once its sign of life stays the same', async () => {
  writeResult(folder('a'), part(1));
  let beat = 0;
  const { parts, dead } = await watchShards({
    dirs: [folder()],
    expect: 2,
    deadAfterMs: 30,
    timeoutMs: 60_000,
    everyMs: 1,
    signal: new AbortController().signal,
    onProgress: () => {
      beat += 1;
      if (beat < 10) writeAlive(folder('b'), sign(2, beat));
    },
  });
  expect(beat).toBeGreaterThan(10);
  expect(parts).toHaveLength(1);
  expect(dead.get(2)).toMatch(/no sign of life in .*b for .* in phase hold/);
});
