/** The Device API on a unix socket (specification section 5): who may open the file may speak, no token is used. */
import { lstatSync, renameSync } from 'node:fs';
import net from 'node:net';
import { disk } from '../log/io.ts';

/** Kernel limit of a socket address, less its end and the one byte that a name in preparation is longer. */
const LONGEST_PATH = 106;
const BACKLOG = 4_096;

export interface Listener {
  /** Ends listening and removes what was put on disk. */
  close(): void;
  /** Ends listening as a crash does: the files stay. */
  abandon(): void;
}

/**
 * Listens on `path`, whose permissions `permit` sets. A socket that a dead process left behind is taken over; one that someone
 * answers on is refused. The socket appears under its name with its mode set and ready to accept. `check` throws when it is no
 * longer wanted.
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

export function listening(server: net.Server, options: net.ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(options, () => {
      server.off('error', reject);
      resolve();
    });
  });
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
