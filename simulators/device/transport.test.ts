import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import process from 'node:process';
import { expect, onTestFinished, test } from 'vitest';
import { LONGEST_SOCKET_PATH } from '../../harness/common/user-files.ts';
import { referenceBehaviour } from './behaviour.ts';
import { simulateDevice } from './index.ts';
import { ask, useScratch } from './testing/robot.ts';

const home = useScratch();
const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);

test.for([undefined, 0o600, 0o666])('the unix socket has the mode %s', async (wanted) => {
  const path = `${home.path}/a.sock`;
  const socket = wanted === undefined ? path : { path, mode: wanted };
  await using _device = await simulateDevice({ dir: `${home.path}/a`, socket });
  expect(mode(path)).toBe((wanted ?? 0o660).toString(8));
});

test('the unix socket does not replace a file', async () => {
  writeFileSync(`${home.path}/file`, 'precious');
  await expect(simulateDevice({ dir: home.path, socket: `${home.path}/file` })).rejects.toThrow(/not a socket/);
  expect(readFileSync(`${home.path}/file`, 'utf8')).toBe('precious');
});

test('the unix socket keeps similarly named files beside it, and removes its own at the end', async () => {
  mkdirSync(`${home.path}/s~/precious`, { recursive: true });
  writeFileSync(`${home.path}/s~/precious/file`, 'keep');
  writeFileSync(`${home.path}/c~`, 'keep');
  const control = { path: `${home.path}/c` };
  const device = await simulateDevice({ dir: `${home.path}/robot`, socket: `${home.path}/s`, control });
  expect(readdirSync(home.path).toSorted()).toEqual(['c', 'c~', 's', 's~']);
  await device[Symbol.asyncDispose]();
  expect(readdirSync(home.path).toSorted()).toEqual(['c~', 's~']);
  expect(readFileSync(`${home.path}/s~/precious/file`, 'utf8')).toBe('keep');
  expect(readFileSync(`${home.path}/c~`, 'utf8')).toBe('keep');
});

test('the unix socket stays in a private folder until its mode is set, even with umask 0', async () => {
  const seen: string[] = [];
  const permit = (path: string, wanted: number) => {
    seen.push(`${mode(dirname(path))} ${lstatSync(path).isSocket()} ${readdirSync(home.path).includes('s')}`);
    chmodSync(path, wanted);
  };
  const { transport } = referenceBehaviour;
  const behaviour = { ...referenceBehaviour, transport: { ...transport, permit } };
  const before = process.umask(0);
  onTestFinished(() => void process.umask(before));
  const options = { dir: `${home.path}/robot`, socket: `${home.path}/s`, control: { path: `${home.path}/c` } };
  await using _device = await simulateDevice({ ...options, behaviour });
  expect([mode(`${home.path}/s`), mode(`${home.path}/c`)]).toEqual(['660', '600']);
  expect(seen).toEqual(['700 true false']);
});

test('the unix socket may have the longest path that the kernel accepts', async () => {
  const path = `${home.path}/${'x'.repeat(LONGEST_SOCKET_PATH - Buffer.byteLength(home.path) - 1)}`;
  await using _device = await simulateDevice({ dir: `${home.path}/robot`, socket: path });
  expect((await ask(path, '/health')).status).toBe(200);
});

test('the unix socket goes to exactly one of three agents that start at once', async () => {
  const socket = `${home.path}/s`;
  const all = await Promise.allSettled([1, 2, 3].map((at) => simulateDevice({ dir: `${home.path}/${at}`, socket })));
  const [winner, ...others] = all.toSorted((a, b) => a.status.localeCompare(b.status));
  expect(winner?.status).toBe('fulfilled');
  for (const other of others) expect(String(other.status === 'rejected' && other.reason)).toMatch(/is in use/);
  expect((await ask(socket, '/health')).status).toBe(200);
  if (winner?.status === 'fulfilled') await winner.value[Symbol.asyncDispose]();
  expect(readdirSync(home.path)).toEqual([]);
});

test('loopback writes the token to its own private file, not through planted links', async () => {
  const discovery = `${home.path}/agent.json`;
  writeFileSync(`${home.path}/victim`, 'precious');
  for (const trap of ['agent.json', 'agent.json.new', 'agent.json~'])
    symlinkSync(`${home.path}/victim`, `${home.path}/${trap}`);
  await using device = await simulateDevice({ dir: `${home.path}/a`, loopback: { discovery } });
  expect(readFileSync(`${home.path}/victim`, 'utf8')).toBe('precious');
  expect(lstatSync(discovery).isFile()).toBe(true);
  expect(mode(discovery)).toBe('600');
  expect(JSON.parse(readFileSync(discovery, 'utf8')).token).toBe(device.token);
  expect(device.token).toMatch(/^[0-9a-f]{64}$/);
});

test('loopback removes its discovery file at a stop, unless another agent has replaced it', async () => {
  const discovery = `${home.path}/agent.json`;
  await using device = await simulateDevice({ dir: `${home.path}/a`, loopback: { discovery } });
  await device.stop();
  expect(existsSync(discovery)).toBe(false);
  await device.start();
  writeFileSync(discovery, '{"port":1,"token":"of another"}');
  await device.stop();
  expect(readFileSync(discovery, 'utf8')).toContain('of another');
});

test('loopback fails to start when it cannot write its discovery file, and leaves no socket', async () => {
  const [socket, discovery] = [`${home.path}/a.sock`, `${home.path}/agent.json`];
  mkdirSync(discovery);
  const starting = simulateDevice({ dir: `${home.path}/a`, socket, loopback: { discovery } });
  await expect(starting).rejects.toThrow(/cannot write the discovery file/);
  expect(existsSync(socket)).toBe(false);
});
