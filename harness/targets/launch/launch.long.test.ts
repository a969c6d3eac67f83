import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { Recorder } from '../../client/recorder.ts';
import { Redactor } from '../../common/redact.ts';
import { lives } from '../../common/testing/processes.ts';
import { served } from '../../common/testing/servers.ts';
import { poll } from '../../common/waiting.ts';
import type { DeviceTargetOptions } from '../fields.ts';
import { openDeviceTarget } from '../open-device.ts';
import { openPlatformTarget } from '../open-platform.ts';
import { temporaryFolder } from '../testing/places.ts';
import { TRANSPORTS, unix } from '../transports/index.ts';
import { ProcessGroup, readyLine, startCommand } from './process.ts';
import { Lines, waitUntil } from './started.ts';

const folder = temporaryFolder();

const AGENT = join(folder, 'agent.mjs');
writeFileSync(
  AGENT,
  `#!/usr/bin/env node
import { createServer } from 'node:http';
import { rmSync, writeFileSync } from 'node:fs';
const [at, ready] = process.argv.slice(2);
if (at.startsWith('/')) rmSync(at, { force: true });
const server = createServer((_, response) => response.end(JSON.stringify({ id: String(process.pid) })));
server.listen(at === '0' ? { port: 0, host: '127.0.0.1' } : { path: at }, () => {
  const { port } = server.address();
  const address = at === '0' ? { url: 'http://127.0.0.1:' + port } : { socket: at };
  if (ready === 'line') console.log(JSON.stringify({ ready: true, ...address }));
  if (ready?.startsWith('/')) writeFileSync(ready, JSON.stringify({ port, token: 'the-token-of-it' }));
});
`,
  { mode: 0o755 },
);
const appears = (read: () => string | false): Promise<string> =>
  poll('output', () => read() || undefined, { timeoutMs: 60_000, firstPauseMs: 5 });
const base = () => ({ redactor: new Redactor(), startMs: 60_000 });
const socket = (name: string): string => join(folder, name);
const pidOf = async (target: { http: { get(path: string): Promise<{ json: unknown }> } }): Promise<number> =>
  Number(((await target.http.get('/')).json as { id: string }).id);

test('a device target waits for its socket, and ends the command with its children', async () => {
  const path = socket('a.sock');
  const command = `sleep 600 & echo $! > ${folder}/child; node ${AGENT} ${path} & wait`;
  const said: string[] = [];
  const target = await openDeviceTarget({ ...base(), socket: path, command, notify: (text) => said.push(text) });
  expect(target.unreachable).toBeUndefined();
  const pids = [await pidOf(target), Number(readFileSync(join(folder, 'child'), 'utf8'))];
  expect(pids.map(lives)).toEqual([true, true]);
  expect([...target.capabilities]).toEqual(expect.arrayContaining(['unix', 'restart']));
  await Promise.all([target.close(), target.close()]);
  expect(pids.map(lives)).toEqual([false, false]);
  expect(said.join('\n')).not.toContain('still runs');
});

const DEAF = `trap '' TERM; echo $$; while :; do sleep 0.05; done`;
test.each([
  ['ignores SIGTERM', DEAF, 'was ended by SIGKILL'],
  ['has left something that does', `sh -c "${DEAF.replace('$$', '\\$\\$')}" &`, 'ended with exit code 0'],
])('a process group kills a command that %s', async (_, line, how) => {
  const group = new ProcessGroup(line, process.env, { cwd: folder, graceMs: 200 });
  await appears(() => group.stdout);
  if (how.startsWith('ended')) await group.exited;
  await group.stop();
  expect(group.how).toBe(how);
  expect(lives(Number(group.stdout))).toBe(false);
});

test('a line that cannot be started counts as ended, with the reason', async () => {
  const group = new ProcessGroup('true\nfalse', process.env, { cwd: socket('nowhere') });
  await Promise.all([group.exited, group.ended, group.stop()]);
  expect([group.label, group.how]).toEqual(['`true …`', expect.stringMatching(/^could not be started \(.*ENOENT/)]);
});

test('a command is ready once its control API serves, and reports its own end', async () => {
  const transport = { ...unix, accepts: async () => true, prepare: async () => {} };
  const path = socket('control.sock');
  const at = { transport, address: '/x' };
  const given = { at, control: path, env: process.env, timeoutMs: 60_000, transports: [], notify: () => {} };
  const start = (line: string) => startCommand({ line, ...given });
  await expect(start('sleep 0.1; exit 3')).rejects.toThrow('ended with exit code 3 before it served its control API');
  await served(createServer(), path);
  const started = await start('echo $$ >&2; exec sleep 600');
  const end = () => started.restart?.endedByItself?.();
  expect(end()).toBeUndefined();
  const pid = (await appears(() => String(started.diagnostics()))).trim();
  process.kill(Number(pid), 'SIGKILL');
  const ended = `\`echo $$ >&2; exec sleep 600\` was ended by SIGKILL; the last lines that it wrote:\n${pid}`;
  expect(await appears(() => end() ?? false)).toBe(ended);
  expect(started.diagnostics()).toBe(ended);
  await started.close();
  expect(end()).toBeUndefined();
});

test('a last line without a line end counts once the command has ended', async () => {
  const at = { transport: { ...unix, accepts: async () => true, prepare: async () => {} }, address: '/x' };
  const given = { at, env: process.env, timeoutMs: 60_000, transports: [], notify: () => {} };
  const recorder = new Recorder();
  const started = await startCommand({ line: 'printf "invalid pointer" >&2; exec sleep 600', ...given });
  await appears(() => String(started.diagnostics()));
  expect(started.written?.during(recorder)).toBe('');
  await started.close();
  expect(started.written?.during(recorder)).toBe('invalid pointer');
});

test('a device target takes the address from a ready line', async () => {
  await using onSocket = await openDeviceTarget({ ...base(), command: `node ${AGENT} ${socket('c.sock')} line` });
  expect(onSocket.transport).toMatchObject({ kind: 'unix', socketPath: socket('c.sock') });
  await using onPort = await openDeviceTarget({ ...base(), command: `node ${AGENT} 0 line` });
  expect(onPort.transport.kind).toBe('url');
  expect(onPort.unreachable).toBeUndefined();
});

test('a device target creates the paths of placeholders, and removes them on close', async () => {
  const target = await openDeviceTarget({ ...base(), command: `node ${AGENT} {socket} && touch {dir}` });
  expect(target.unreachable).toBeUndefined();
  const path = target.transport.address.replace('unix:', '');
  expect(path).toMatch(/muster-\w+\/agent\.sock$/);
  expect(existsSync(path)).toBe(true);
  await target.close();
  expect(existsSync(dirname(path))).toBe(false);
});

test('a device target ignores a discovery file of an earlier run', async () => {
  const discovery = join(folder, 'discovery.json');
  writeFileSync(discovery, JSON.stringify({ port: 9, token: 'of-the-past' }));
  await using target = await openDeviceTarget({ ...base(), discovery, command: `node ${AGENT} 0 ${discovery}` });
  expect(target.unreachable).toBeUndefined();
  expect(target.transport).toMatchObject({ kind: 'loopback', token: 'the-token-of-it' });
});

test('a wait names the condition it is still waiting for', async () => {
  const said: string[] = [];
  const notify = (text: string) => void said.push(text);
  const waiting = { name: 'it', notify, timeoutMs: 60_000, ended: () => undefined, output: () => '' };
  await waitUntil('come', () => (said.length > 0 ? true : undefined), waiting);
  expect(said).toEqual(['still waiting: it has not come; it has 60 s']);
});

const READY = `echo '{"ready":true}'; sleep 600`;
const SLOW = `echo $$ > ${folder}/slow; echo warming up; exec sleep 600`;

test.each<[string, Partial<DeviceTargetOptions> & { command: string }, RegExp[]]>([
  ['ends in silence', { command: 'exit 5' }, [/ended with exit code 5 before it printed .*; it wrote nothing/]],
  [
    'never serves',
    { command: SLOW, socket: socket('e.sock'), startMs: 500 },
    [/is running, but has not served .*e\.sock within 0.5 s/, /warming up/],
  ],
  [
    'serves elsewhere',
    { command: `node ${AGENT} ${socket('served.sock')} line`, socket: socket('asked.sock'), startMs: 2000 },
    [/within 2 s \(its ready line names .*served\.sock\)/],
  ],
  ['is ready, and says no place', { command: READY }, [/is ready, but has not printed .*put \{socket\}/]],
  [
    'is ready, and serves nowhere',
    { command: READY, socket: socket('never.sock'), startMs: 300 },
    [/within 0.3 s \(its ready line names no address\); the last lines that it wrote:\n\{"ready":true\}/],
  ],
  [
    'names no place',
    { command: 'echo up; exec sleep 600', startMs: 300 },
    [/put \{socket\} or \{discovery\} into it, or give --socket, --discovery, --url/],
  ],
])('a device target reports a command that %s', async (_, options, words) => {
  await using target = await openDeviceTarget({ ...base(), ...options });
  for (const said of words) expect(target.unreachable).toMatch(said);
  const { socket: at, command } = options;
  expect(target.description).toMatchObject({ kind: 'command', address: at === undefined ? command : `unix:${at}` });
  if (command === SLOW) expect(lives(Number(readFileSync(join(folder, 'slow'), 'utf8')))).toBe(false);
});

test('a device target refuses an address that is already served', async () => {
  const path = socket('f.sock');
  await using first = await openDeviceTarget({ ...base(), command: `node ${AGENT} ${path} line` });
  expect(first.unreachable).toBeUndefined();
  await using second = await openDeviceTarget({ ...base(), socket: path, command: `node ${AGENT} ${path}` });
  expect(second.unreachable).toMatch(/something else already serves/);
});

test('a platform target refuses an address on loopback that is already served', async () => {
  const { url } = await served(createServer((_, response) => response.end('{}')));
  const given = { ...base(), url: `${url}/beta`, apiKey: 'key_0123456789' };
  await using target = await openPlatformTarget({ ...given, command: 'exec sleep 600' });
  expect(target.unreachable).toMatch(/something else already serves/);
});

test('a device target restarts its command, and names its executable until it changes', async () => {
  await using target = await openDeviceTarget({ ...base(), command: `exec ${AGENT} ${socket('g.sock')} line` });
  const before = await pidOf(target);
  await target.control.stop('SIGKILL');
  expect(lives(before)).toBe(false);
  await target.control.start();
  expect(await pidOf(target)).not.toBe(before);
  await expect(target.control.deploy()).rejects.toThrow(/the target has no control/);
  target.conclude();
  expect(target.description).toMatchObject({ kind: 'command', ended: true, executable: 'agent.mjs' });
  expect(target.description.digest).toMatch(/^sha256:/);
  appendFileSync(AGENT, '\n');
  target.conclude();
  expect(target.description.digest_missing).toBe('agent.mjs was changed during the run');
  expect(target.description).not.toHaveProperty('digest');
});

test('a device target ends a starting command when it is interrupted', async () => {
  const over = new AbortController();
  const file = join(folder, 'interrupted');
  const command = `echo $$ > ${file}; exec sleep 600`;
  const opening = openDeviceTarget({ ...base(), socket: socket('h.sock'), command, signal: over.signal });
  const pid = await appears(() => existsSync(file) && readFileSync(file, 'utf8'));
  over.abort(new Error('interrupted'));
  await expect(opening).rejects.toThrow('interrupted');
  expect(lives(Number(pid))).toBe(false);
});

test('a ready line is found in any pieces, among other lines', () => {
  const ready = '{"ready":true,"socket":"/a"}';
  const lines = ['{"level":30}', '{"ready":false}', 'null', '{broken', 'x'.repeat(70_000), ready];
  const unended = '{"ready":true,"socket":"/b"}';
  const output = Buffer.from(`${lines.join('\n')}\n${unended}`);
  for (const piece of [1, 5, 1000, output.length]) {
    const found: string[] = [];
    const read = new Lines(1000, (text) => void (readyLine(text, TRANSPORTS) && found.push(text)));
    for (let at = 0; at < output.length; at += piece) read.add(output.subarray(at, at + piece));
    expect(found).toEqual([ready]);
    read.end();
    expect(found).toEqual([ready, unended]);
  }
});
