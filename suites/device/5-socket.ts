/** Section 5: which users can open the socket, and from where the loopback port can be reached. */
import { spawn } from 'node:child_process';
import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { limitIn, NoAnswer, Unreachable } from '../../harness/client/errors.ts';
import { HttpClient } from '../../harness/client/http.ts';
import { LoopbackConnection, UnixConnection } from '../../harness/targets/transports/index.ts';
import { type Device, STREAM } from './support/check.ts';
import { section } from './support/section.ts';

export const { requirement, check, checks } = section({ section: '5', since: '2026-11-21' });

const permissions = requirement({
  id: 'device.socket.permissions',
  level: 'MUST',
  clause: 'Access is governed by the file permissions on the socket; the client needs permission to open it.',
  text:
    'A process whose user may not open the socket, by the permissions of the file, ' +
    'is refused by the operating system.',
});
check(permissions, { needs: ['unix', 'root'], premises: STREAM }, async (t: Device, streams) => {
  if (!(t.transport instanceof UnixConnection)) return t.notApplicable('the target is not reached by a socket');
  const { socketPath } = t.transport;
  // Proves that a server listens, since an abandoned socket refuses every user.
  await streams.open();
  if (await openToOthers(socketPath))
    t.notApplicable('every user may open the socket, by its permissions: nobody is to be refused');
  const result = await connectAs(t, await unrelatedUser(socketPath), socketPath);
  if (result === undefined) return t.undecided('no process of another user can be started here');
  t.must(result === 'EACCES' || result === 'EPERM', {
    expected: 'EACCES for a user whom the permissions of the socket do not admit',
    actual: result,
  });
});

/** User ids: `nobody` on common systems, then two rarely used ids. */
const OTHER_USERS = [65_534, 65_533, 65_532];
const OTHERS_WRITE = 0o002;
const OTHERS_ENTER = 0o001;

/** Script for a child process, because a process cannot undo a change of its user. */
const ATTEMPT = `
const socket = require('node:net').connect(process.argv[1]);
socket.on('connect', () => { process.stdout.write('connected'); process.exit(); });
socket.on('error', (error) => { process.stdout.write(error.code); process.exit(); });
`;

function connectAs(t: Device, user: number, path: string): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['-e', ATTEMPT, path], {
      uid: user,
      gid: user,
      cwd: '/',
      env: {},
      stdio: ['ignore', 'pipe', 'ignore'],
      signal: t.signal,
    });
    let said = '';
    child.once('error', (error) => (limitIn(error) === undefined ? resolve(undefined) : reject(error)));
    // Node leaves `stdout` undefined when the system has no free file descriptor.
    (child.stdout as Readable | undefined)?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    child.once('close', () => resolve(said === '' ? undefined : said));
  });
}

async function unrelatedUser(path: string): Promise<number> {
  const involved = await usersServing(path);
  involved.add((await stat(dirname(path))).uid);
  return OTHER_USERS.find((user) => !involved.has(user)) ?? Math.max(...OTHER_USERS);
}

async function usersServing(path: string): Promise<Set<number>> {
  const users = new Set<number>();
  const sockets = await readFile('/proc/net/unix', 'utf8').catch(() => '');
  const inodes = sockets
    .split('\n')
    .flatMap((line) => (line.endsWith(` ${path}`) ? [line.trim().split(/\s+/)[6]] : []));
  const processes = inodes.length === 0 ? [] : (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  for (const name of processes) {
    const links = await readdir(`/proc/${name}/fd`).catch(() => []);
    const targets = await Promise.all(links.map((link) => readlink(`/proc/${name}/fd/${link}`).catch(() => '')));
    if (!inodes.some((inode) => targets.includes(`socket:[${inode}]`))) continue;
    const owner = await stat(`/proc/${name}`).catch(() => undefined);
    if (owner !== undefined) users.add(owner.uid);
  }
  return users;
}

async function openToOthers(path: string): Promise<boolean> {
  if (((await stat(path)).mode & OTHERS_WRITE) === 0) return false;
  for (let directory = dirname(path); ; directory = dirname(directory)) {
    if (((await stat(directory)).mode & OTHERS_ENTER) === 0) return false;
    if (directory === dirname(directory)) return true;
  }
}

const loopbackOnly = requirement({
  id: 'device.loopback.only',
  protective: true,
  level: 'SHOULD',
  clause: 'connects to `127.0.0.1` on that port',
  text: 'The loopback Device API cannot be reached at another address of the machine.',
});
check(loopbackOnly, { needs: ['loopback'], premises: STREAM }, async (t: Device, streams) => {
  const { transport } = t;
  if (!(transport instanceof LoopbackConnection))
    return t.notApplicable('the target is not reached by a loopback port');
  await streams.open();
  const addresses = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter(({ internal, scopeid }) => !internal && (scopeid ?? 0) === 0)
    .map(({ address }) => address);
  if (addresses.length === 0) return t.notApplicable('this machine has no address but loopback');
  for (const address of addresses) {
    t.must(!(await answersAt(t, address, transport.port)), {
      expected: `port ${transport.port} closed at ${address}`,
      actual: 'the Device API answers there',
    });
  }
});

async function answersAt(t: Device, host: string, port: number): Promise<boolean> {
  const connected = await new Promise<boolean>((resolve) => {
    const socket = connect({ host, port });
    const done = (result: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(result);
    };
    // Some addresses drop packets silently; two seconds without an answer count as closed.
    const timer = setTimeout(() => done(false), Math.min(2000, t.patienceMs));
    socket.once('connect', () => done(true));
    socket.once('error', () => done(false));
  });
  if (!connected) return false;
  const name = host.includes(':') ? `[${host}]` : host;
  const http = new HttpClient({
    endpoint: { origin: `http://${name}:${port}` },
    basePath: t.http.basePath,
    headers: t.http.headers,
    recorder: t.http.recorder,
  });
  try {
    const opened = await http.open({ path: '/events', timeoutMs: t.patienceMs });
    opened.abort();
    return opened.status === 200;
  } catch (error) {
    if (error instanceof NoAnswer || error instanceof Unreachable) return false;
    throw error;
  } finally {
    await http.close();
  }
}
