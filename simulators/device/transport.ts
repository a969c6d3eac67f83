/** Transports of a device (section 5 of the specification): a unix socket, or loopback with a discovery file. */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import { basename, dirname, join, resolve } from 'node:path';
import { UsageError } from '../../harness/common/usage.ts';
import { besideName, LONGEST_SOCKET_PATH, SECRET_MODE } from '../../harness/common/user-files.ts';
import type { TransportBehaviour } from './behaviour.ts';
import { disk, errorCode, ifPresent, replaceFile } from './log/io.ts';

export interface Entrance {
  readonly transport: string;
  readonly token?: string;
}

export interface Serving {
  readonly rules: TransportBehaviour;
  onConnection(socket: net.Socket, entrance: Entrance): void;
  check(): void;
}

export interface Listener {
  close(): void;
  abandon(): void;
}

export interface DeviceListener extends Listener {
  /** URL `http://127.0.0.1:<port>`; undefined on a unix socket. */
  readonly url?: string;
  readonly token?: string;
}

export interface Endpoint {
  /** Command-line option, which a StartError names. */
  readonly option: string;
  /** Printed at the start, e.g. `{ socket: '/run/agent.sock' }`. */
  readonly address: Readonly<Record<string, string>>;
  listen(serving: Serving): Promise<DeviceListener>;
}

export async function listening(server: net.Server, options: net.ListenOptions): Promise<void> {
  await once(server.listen(options), 'listening');
}

export function requireWritableParent(option: string, path: string): void {
  const parent = dirname(resolve(path));
  try {
    if (!fs.statSync(parent).isDirectory()) throw new Error('it is no directory');
    fs.accessSync(parent, fs.constants.W_OK);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`--${option} ${path}: the directory ${parent} must exist and be writable (${why})`);
  }
}

export interface TransportOptions {
  /** Path of the unix socket. `mode`: permissions of the socket file, default 0o660. */
  socket?: string | { path: string; mode?: number };
  /** Serves on a free port of 127.0.0.1. `discovery`: file that receives port and token. */
  loopback?: { discovery: string };
}

export type TransportName = 'unix' | 'loopback';

export const transportInFolder = (name: TransportName, folder: string): TransportOptions =>
  name === 'unix'
    ? { socket: join(folder, 'agent.sock') }
    : { loopback: { discovery: join(folder, 'discovery.json') } };

export function endpointsOf({ socket, loopback }: TransportOptions): Endpoint[] {
  const endpoints: Endpoint[] = [];
  if (typeof socket === 'string') endpoints.push(unixEndpoint(socket));
  else if (socket !== undefined) endpoints.push(unixEndpoint(socket.path, socket.mode));
  if (loopback !== undefined) endpoints.push(loopbackEndpoint(loopback.discovery));
  return endpoints;
}

const group = 'Where';

export const transportArguments = {
  socket: { type: 'string', describe: 'Serve on this unix socket', group },
  'socket-mode': { type: 'string', default: '0660', describe: 'Its permissions, octal', group },
  loopback: { type: 'boolean', default: false, describe: 'Serve on a free port of 127.0.0.1', group },
  discovery: { type: 'string', describe: 'Discovery file to write, with port and token', group },
} as const;

export const transportUsage = '--socket PATH, or --loopback with --discovery FILE,';

export function transportOptions(args: {
  socket?: string | undefined;
  'socket-mode': string;
  loopback: boolean;
  discovery?: string | undefined;
}): TransportOptions {
  const { socket, 'socket-mode': mode, loopback, discovery } = args;
  if (!/^0?[0-7]{3}$/.test(mode))
    throw new UsageError(`--socket-mode ${mode}: three octal digits are accepted, e.g. 0660`);
  if (loopback !== (discovery !== undefined)) throw new UsageError('--loopback and --discovery FILE belong together');
  const options: TransportOptions = {};
  if (socket !== undefined) {
    requireWritableParent('socket', socket);
    options.socket = { path: resolve(socket), mode: Number.parseInt(mode, 8) };
  }
  if (discovery !== undefined) {
    requireWritableParent('discovery', discovery);
    options.loopback = { discovery: resolve(discovery) };
  }
  return options;
}

function loopbackEndpoint(discovery: string): Endpoint {
  return {
    option: 'discovery',
    address: { discovery },
    listen: async ({ rules, onConnection, check }) => {
      const token = randomBytes(32).toString('hex');
      const entrance = { transport: 'loopback', token };
      const options = { allowHalfOpen: true, noDelay: true };
      const server = net.createServer(options, (socket) => onConnection(socket, entrance));
      await listening(server, { port: 0, host: rules.host, backlog: rules.backlog });
      const address = server.address();
      const port = typeof address === 'object' && address ? address.port : 0;
      const content = `${JSON.stringify(rules.discovery({ port, token }))}\n`;
      try {
        check();
        await replaceFile(disk, dirname(discovery), basename(discovery), content, false, SECRET_MODE);
      } catch (error) {
        server.close();
        const why = error instanceof Error ? error.message : String(error);
        throw new Error(`cannot write the discovery file ${discovery} (${why})`, { cause: error });
      }
      return {
        url: `http://127.0.0.1:${port}`,
        token,
        close: () => {
          server.close();
          if (ifPresent(discovery, () => fs.readFileSync(discovery, 'utf8')) === content) disk.remove(discovery);
        },
        abandon: () => void server.close(),
      };
    },
  };
}

// File permissions protect a unix socket, so clients send no token (section 5).

const ENTRANCE: Entrance = { transport: 'unix' };

function unixEndpoint(path: string, mode = 0o660): Endpoint {
  return {
    option: 'socket',
    address: { socket: path },
    listen: ({ rules, onConnection, check }) => {
      const permit = (bound: string) => rules.permit(bound, mode, dirname(path));
      return listenUnix(path, permit, (socket) => onConnection(socket, ENTRANCE), { check, backlog: rules.backlog });
    },
  };
}

/**
 * Listens on `path`, and replaces the socket of a dead agent there; rejects if a live agent listens. Sets permissions
 * in a private folder, before clients can connect.
 */
export async function listenUnix(
  path: string,
  permit: (path: string) => void,
  onConnection: (socket: net.Socket) => void,
  { check = () => {}, backlog = 4_096 }: { check?: () => void; backlog?: number } = {},
): Promise<Listener> {
  const length = Buffer.byteLength(path);
  if (length > LONGEST_SOCKET_PATH)
    throw new Error(`socket path ${path} is ${length} bytes long; at most ${LONGEST_SOCKET_PATH} are possible`);
  const isNew = await claim(path);
  check();
  const server = net.createServer({ allowHalfOpen: true, noDelay: true }, onConnection);
  using folder = privateFolder(dirname(path));
  await listening(server, { path: folder.socket, backlog });
  try {
    check();
    permit(folder.socket);
    // A link fails if another agent has just created `path`; a rename replaces the socket of a dead agent.
    if (isNew) fs.linkSync(folder.socket, path);
    else fs.renameSync(folder.socket, path);
  } catch (error) {
    server.close();
    throw errorCode(error) === 'EEXIST' ? new Error(`${path} is in use: another agent has just taken it`) : error;
  }
  const own = fs.lstatSync(path).ino;
  return {
    close: () => {
      server.close();
      if (fs.lstatSync(path, { throwIfNoEntry: false })?.ino === own) fs.unlinkSync(path);
    },
    abandon: () => void server.close(),
  };
}

const OPEN_FOLDERS = '/proc/self/fd';

/** Names the folder by its file descriptor where possible, because the kernel limits the length of a socket's path. */
function privateFolder(parent: string): { socket: string } & Disposable {
  const folder = besideName(join(parent, 'socket'));
  fs.mkdirSync(folder, { mode: 0o700 });
  // Unique, because Node removes the bound path at the close, when the descriptor may be that of another folder.
  const name = basename(besideName('socket'));
  const flags = fs.constants.O_RDONLY | fs.constants.O_DIRECTORY | fs.constants.O_NOFOLLOW;
  const fd = fs.existsSync(OPEN_FOLDERS) ? fs.openSync(folder, flags) : undefined;
  const path = fd === undefined ? folder : `${OPEN_FOLDERS}/${fd}`;
  return {
    socket: `${path}/${name}`,
    [Symbol.dispose]: () => {
      fs.rmSync(`${folder}/${name}`, { force: true });
      fs.rmdirSync(folder);
      if (fd !== undefined) fs.closeSync(fd);
    },
  };
}

/** True for a free path, false for the socket of a dead agent. Rejects for a path in use. */
async function claim(path: string): Promise<boolean> {
  const existing = fs.lstatSync(path, { throwIfNoEntry: false });
  if (!existing) return true;
  if (!existing.isSocket()) throw new Error(`${path} exists and is not a socket; name another path or remove it`);
  const probe = net.connect(path);
  const failure = (error: NodeJS.ErrnoException) => error.code ?? error.message;
  const answer = await once(probe, 'connect').then(() => 'connected', failure);
  probe.destroy();
  if (answer === 'connected') throw new Error(`${path} is in use: another agent answers on it`);
  if (answer !== 'ECONNREFUSED' && answer !== 'ENOENT')
    throw new Error(`cannot take over the socket ${path}: ${answer}`);
  return false;
}
