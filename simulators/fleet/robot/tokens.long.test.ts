/** Tokens that a command prints: nothing of the command outlives its robot. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import { eventually, scratch } from '../../common/testing/scratch.ts';
import { tokensOf } from './tokens.ts';

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

it('what a command started ends with the robot, whatever it waits for', async () => {
  await using folder = scratch();
  const file = join(folder.path, 'pid');
  const stop = new AbortController();
  const tokens = tokensOf({
    offer: { tokenCommand: `sleep 600 & echo $! > '${file}'; wait; true` },
    apiKey: 'key',
    signal: stop.signal,
    issue: () => Promise.reject(new Error('asked of the platform')),
  });
  const printed = tokens(undefined, 'robot-1');
  const pid = await eventually(() => {
    expect(existsSync(file) && readFileSync(file, 'utf8')).toMatch(/\d\n$/);
    return Number(readFileSync(file, 'utf8'));
  });
  expect(isAlive(pid)).toBe(true);
  stop.abort(new Error('stopped'));
  await expect(printed).rejects.toThrow('stopped');
  await eventually(() => expect(isAlive(pid)).toBe(false));
});
