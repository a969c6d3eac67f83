/** The Device API on a unix socket (specification section 5). The permissions of the file decide who may connect; there is no token. */
import {
  closeSync,
  constants,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  rmSync,
  unlinkSync,
} from 'node:fs';
import net from 'node:net';
import { basename, dirname, join, resolve } from 'node:path';
import { besideName } from '../../../harness/common/new-file.ts';
import { UsageError } from '../../../harness/common/usage.ts';
import { errorCode } from '../log/io.ts';
import {
  type DeviceListener,
  type Endpoint,
  type Entrance,
  type Listener,
  listening,
  requireWritableParent,
  type Serving,
  type Transport,
} from './transport.ts';

/** The kernel's limit for the path of a socket, in bytes. */
const LONGEST_PATH = 107;
const BACKLOG = 4_096;
const DEFAULT_MODE = 0o660;

export interface UnixOptions {
  /** Unix socket to serve on; `mode` is the permission of the file, default 0o660. */
  socket?: string | { path: string; mode?: number };
}

export interface UnixArguments {
  socket?: string | undefined;
  'socket-mode': string;
}

/** Chosen by the path of a socket. */
export const unix = {
  name: 'unix',
  commandLine: {
    socket: { type: 'string', describe: 'Serve on this unix socket', group: 'Where' },
    'socket-mode': { type: 'string', default: '0660', describe: 'Its permissions, octal', group: 'Where' },
  },
  usage: '--socket PATH',
  fromArguments: ({ socket, 'socket-mode': mode }) => {
    if (!/^0?[0-7]{3}$/.test(mode)) {
      throw new UsageError(`--socket-mode ${mode}: three octal digits are accepted, e.g. 0660`);
    }
    if (socket === undefined) return {};
    requireWritableParent('socket', socket);
    return { socket: { path: resolve(socket), mode: Number.parseInt(mode, 8) } };
  },
  inFolder: (folder) => ({ socket: join(folder, 'agent.sock') }),
  endpoint: ({ socket }): Endpoint | undefined => {
    if (socket === undefined) return undefined;
    return typeof socket === 'string' ? new UnixEndpoint(socket) : new UnixEndpoint(socket.path, socket.mode);
  },
} as const satisfies Transport<UnixOptions, UnixArguments>;

const ENTRANCE: Entrance = { transport: unix.name };

class UnixEndpoint implements Endpoint {
  readonly #path: string;
  readonly #mode: number;

  constructor(path: string, mode: number = DEFAULT_MODE) {
    this.#path = path;
    this.#mode = mode;
  }

  get option(): string {
    return 'socket';
  }

  get address(): { socket: string } {
    return { socket: this.#path };
  }

  listen({ rules, onConnection, check }: Serving): Promise<DeviceListener> {
    const permit = (path: string) => rules.permit(path, this.#mode, dirname(this.#path));
    return listenUnix(this.#path, permit, (socket) => onConnection(socket, ENTRANCE), check);
  }
}

/**
 * Listens on `path`. A socket that a dead process left behind is taken over; when another agent answers on it, the result rejects.
 * The socket is made in a folder that only its owner can enter, gets its permissions (`permit`) there, and accepts connections
 * before it appears under its name. `check` throws when the agent was killed meanwhile.
 */
export async function listenUnix(
  path: string,
  permit: (path: string) => void,
  onConnection: (socket: net.Socket) => void,
  check: () => void = () => {},
): Promise<Listener> {
  if (Buffer.byteLength(path) > LONGEST_PATH) {
    throw new Error(
      `socket path ${path} is ${Buffer.byteLength(path)} bytes long; at most ${LONGEST_PATH} are possible`,
    );
  }
  const isNew = await claim(path);
  check();
  const server = net.createServer({ allowHalfOpen: true, noDelay: true }, onConnection);
  using folder = privateFolder(dirname(path));
  await listening(server, { path: folder.socket, backlog: BACKLOG });
  try {
    check();
    permit(folder.socket);
    // A link, unlike a rename, never replaces what has appeared meanwhile.
    if (isNew) linkSync(folder.socket, path);
    else renameSync(folder.socket, path);
  } catch (error) {
    server.close();
    throw errorCode(error) === 'EEXIST' ? new Error(`${path} is in use: another agent has just taken it`) : error;
  }
  const own = lstatSync(path).ino;
  return {
    close: () => {
      server.close();
      if (lstatSync(path, { throwIfNoEntry: false })?.ino === own) unlinkSync(path);
    },
    abandon: () => {
      server.close();
    },
  };
}

/** A folder beside a socket's final place, for its owner only, and the name in it to bind to. Disposing of it removes both. */
function privateFolder(parent: string): { socket: string } & Disposable {
  const folder = besideName(join(parent, 'socket'));
  mkdirSync(folder, { mode: 0o700 });
  // The name says nothing to others, but Node removes it once more when the server is closed: it must stay ours alone.
  const name = basename(besideName('socket'));
  const { path, close } = reachable(folder);
  return {
    socket: `${path}/${name}`,
    [Symbol.dispose]: () => {
      rmSync(`${folder}/${name}`, { force: true });
      rmdirSync(folder);
      close();
    },
  };
}

const OPEN_FOLDERS = '/proc/self/fd';

/** A short path of a folder, where the system has one: the kernel limits the length of what a socket is bound to. */
function reachable(folder: string): { path: string; close(): void } {
  if (!existsSync(OPEN_FOLDERS)) return { path: folder, close: () => {} };
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  return { path: `${OPEN_FOLDERS}/${fd}`, close: () => closeSync(fd) };
}

/** Whether nothing is at `path`; otherwise it is the socket of a dead agent. */
async function claim(path: string): Promise<boolean> {
  const existing = lstatSync(path, { throwIfNoEntry: false });
  if (!existing) return true;
  if (!existing.isSocket()) throw new Error(`${path} exists and is not a socket; name another path or remove it`);
  const answer = await new Promise<string>((resolve) => {
    const probe = net.connect(path);
    probe.once('connect', () => {
      probe.destroy();
      resolve('connected');
    });
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
  if (answer === 'connected') throw new Error(`${path} is in use: another agent answers on it`);
  if (answer !== 'ECONNREFUSED' && answer !== 'ENOENT')
    throw new Error(`cannot take over the socket ${path}: ${answer}`);
  return false;
}
