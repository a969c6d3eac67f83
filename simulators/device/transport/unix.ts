/** The Device API on a unix socket (specification section 5). The permissions of the file decide who may connect; there is no token. */
import { lstatSync, renameSync } from 'node:fs';
import net from 'node:net';
import { join, resolve } from 'node:path';
import { UsageError } from '../../../harness/common/usage.ts';
import { disk } from '../log/io.ts';
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

/** The kernel's limit for the path of a socket (107 bytes), less one for the `~` of the name under which it is prepared. */
const LONGEST_PATH = 106;
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
    const permit = (path: string) => rules.permit(path, this.#mode);
    return listenUnix(this.#path, permit, (socket) => onConnection(socket, ENTRANCE), check);
  }
}

/**
 * Listens on `path`. A socket that a dead process left behind is taken over; when another agent answers on it, the result rejects.
 * The socket gets its permissions (`permit`) and accepts connections before it appears under its name. `check` throws when the
 * agent was killed meanwhile.
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
  await claim(path);
  check();
  const beside = `${path}~`;
  disk.remove(beside);
  const server = net.createServer({ allowHalfOpen: true, noDelay: true }, onConnection);
  await listening(server, { path: beside, backlog: BACKLOG });
  try {
    check();
    permit(beside);
    renameSync(beside, path);
  } catch (error) {
    server.close();
    throw error;
  }
  const own = lstatSync(path).ino;
  return {
    close: () => {
      server.close();
      if (lstatSync(path, { throwIfNoEntry: false })?.ino === own) disk.remove(path);
    },
    abandon: () => {
      server.close();
    },
  };
}

async function claim(path: string): Promise<void> {
  const existing = lstatSync(path, { throwIfNoEntry: false });
  if (!existing) return;
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
}
