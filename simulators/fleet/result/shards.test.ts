import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { useFolder } from '../testing/scratch.ts';
import {
  announcedRun,
  announceRun,
  findShards,
  NoRunError,
  ResultError,
  type WatchOptions,
  watchShards,
  writeAlive,
  writeResult,
} from './shards.ts';
import { resultWith } from './testing/result.ts';

const folder = useFolder();

const part = (index: number, count = 2) => resultWith({ shard: { index, count } });
const sign = (index: number, beat: number) => ({ shard: { index, count: 2 }, beat, phase: 'hold' });

describe('results on disk', () => {
  it('are found in a folder and the folders in it, except merged ones', () => {
    writeResult(folder('b'), part(2));
    writeResult(folder('a'), part(1));
    writeResult(folder(), resultWith({ merged_from: ['a', 'b'] }));
    expect(findShards([folder(), folder('none')]).parts.map(({ name }) => name)).toEqual([folder('a'), folder('b')]);
  });

  it('end the sign of life, and leave no partial file', () => {
    writeAlive(folder('a'), sign(1, 1));
    expect(findShards([folder()]).alive).toMatchObject([{ sign: { beat: 1 } }]);
    writeResult(folder('a'), part(1));
    expect(readdirSync(folder('a'))).toEqual(['result.json']);
  });

  it.each([
    ['{', /is not the result of a fleet: .*JSON/],
    ['{}', /is not the result of a fleet: +lacks "muster"/],
  ])('are refused with the name of the file when they are malformed: %s', (text, message) => {
    mkdirSync(folder('a'));
    writeFileSync(folder('a', 'result.json'), text);
    expect(() => findShards([folder()])).toThrow(ResultError);
    expect(() => findShards([folder()])).toThrow(message);
  });
});

describe('watching for shards', () => {
  const watch = (change: Partial<WatchOptions>) =>
    watchShards({
      dirs: [folder()],
      expect: 2,
      deadAfterMs: 60_000,
      timeoutMs: 60_000,
      everyMs: 1,
      signal: new AbortController().signal,
      ...change,
    });

  it('ends when all have left a result', async () => {
    writeResult(folder('a'), part(1));
    let looks = 0;
    const { parts, dead } = await watch({
      onProgress: () => {
        looks += 1;
        if (looks === 3) writeResult(folder('b'), part(2));
      },
    });
    expect(parts).toHaveLength(2);
    expect(dead.size).toBe(0);
    expect(looks).toBeGreaterThan(3);
  });

  it('counts a shard as dead when its sign of life stays the same, and not before', async () => {
    writeResult(folder('a'), part(1));
    let beat = 0;
    const { parts, dead } = await watch({
      deadAfterMs: 30,
      onProgress: () => {
        beat += 1;
        if (beat < 10) writeAlive(folder('b'), sign(2, beat));
      },
    });
    expect(beat).toBeGreaterThan(10);
    expect(parts).toHaveLength(1);
    expect(dead.get(2)).toMatch(/no sign of life in .*b for .* in phase hold/);
  });

  it('gives up at its time limit, with the results so far', async () => {
    writeResult(folder('a'), part(1));
    const { parts, dead } = await watch({ timeoutMs: 20 });
    expect([parts.length, dead.size]).toEqual([1, 0]);
  });

  it('ends when interrupted', async () => {
    const stop = new AbortController();
    const { parts } = await watch({
      signal: stop.signal,
      everyMs: 3_600_000,
      onProgress: () => queueMicrotask(() => stop.abort()),
    });
    expect(parts).toHaveLength(0);
  });
});

const signal = new AbortController().signal;

it('takes the id of a run from an announcement while that is renewed', async () => {
  using _ = announceRun(folder(), 'monday');
  expect(await announcedRun(folder(), 60_000, signal)).toBe('monday');
});

it('takes no id from an announcement that nobody renews', async () => {
  writeFileSync(folder('run.json'), JSON.stringify({ run_id: 'dead', beat: 7 }));
  await expect(announcedRun(folder(), 300, signal)).rejects.toThrow(NoRunError);
});
