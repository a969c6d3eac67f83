/** SIGTERM while a simulated device starts. */
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { poll } from '../common/waiting.ts';
import { deviceHome } from './testing/simulated-device.ts';

const home = deviceHome();

/** With a control API, the agent is a process of its own. */
const BOTH: [string, string[]][] = [
  ['alone', []],
  ['with a control API', ['--control', 'c.sock']],
];

test.each(BOTH)('%s: ends by SIGTERM while it starts on a log of 60 MB, and leaves only the robot', async (_, more) => {
  const robot = join(home.path, 'robot');
  mkdirSync(robot);
  const line = (id: number) =>
    `{"object":"event","id":${id},"type":"deployment.deployed","occurred_at":"2026-11-21T00:00:00Z","data":{"text":"${'x'.repeat(900)}"}}\n`;
  writeFileSync(join(robot, 'events.jsonl'), Array.from({ length: 60_000 }, (_, at) => line(at + 1)).join(''));
  const run = home.muster('--socket', 'a.sock', '--dir', 'robot', '--retain', '1000', ...more);
  // The folder is locked: the log is being read, or is about to be.
  const locked = () => readdirSync(robot).some((name) => name !== 'events.jsonl') || undefined;
  await poll('the start', locked, { timeoutMs: Number.POSITIVE_INFINITY });
  run.child.kill('SIGTERM');
  expect(await run.ended, run.stderr).toBe(0);
  for (const name of ['a.sock', 'c.sock']) expect(existsSync(join(home.path, name)), name).toBe(false);
  expect(readdirSync(robot).filter((name) => !name.startsWith('events'))).toEqual([]);
});

test.each(BOTH)('%s: ends by SIGTERM while a platform that never answers is waited for', async (_, more) => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  try {
    const { port } = silent.address() as AddressInfo;
    const platform = ['--uplink', 'polling', '--platform', `http://127.0.0.1:${port}`, '--token', 'key'];
    const run = home.muster('--socket', 'a.sock', '--dir', 'robot', ...platform, ...more);
    await once(silent, 'connection');
    const began = performance.now();
    run.child.kill('SIGTERM');
    expect(await run.ended, run.stderr).toBe(0);
    // An answer would be waited for 5 s.
    expect(performance.now() - began).toBeLessThan(4_500);
    for (const name of ['a.sock', 'c.sock']) expect(existsSync(join(home.path, name)), name).toBe(false);
  } finally {
    silent.close();
  }
});
