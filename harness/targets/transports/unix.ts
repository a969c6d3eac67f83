/** The Device API on a unix socket: no credentials, because the permissions of the file decide who may connect (section 5). */
import { resolve } from 'node:path';
import process from 'node:process';
import { HttpClient } from '../../client/http.ts';
import type { Recorder } from '../../client/recorder.ts';
import type { Capability } from '../../contract/capabilities.ts';
import { DEVICE_API_PREFIX } from '../../contract/versions.ts';
import { accepts, type Connection, type Transport } from './transport.ts';

/** Named by the path of a socket. */
export const unix = {
  name: 'unix',
  fields: {
    socket: {
      help: 'Unix socket of the agent; with --image its path in it',
      description: 'Path of the unix socket',
      isPath: true,
    },
  },
  addressField: 'socket',
  usage: '--socket PATH',
  placeholder: 'agent.sock',
  prepare: async (address) => {
    if (await accepts({ path: address })) throw new Error(`something else already serves ${address}`);
  },
  accepts: (address) => accepts({ path: address }),
  served: (address) => address,
  open: ({ address }): UnixConnection => new UnixConnection(resolve(address)),
} as const satisfies Transport;

/** A unix socket, by its absolute path. */
export class UnixConnection implements Connection {
  readonly kind = 'unix';
  readonly socketPath: string;
  /** A unix socket holds a few hundred KiB. */
  readonly bufferBytes = 1_200_000;

  constructor(socketPath: string) {
    this.socketPath = socketPath;
  }

  get address(): string {
    return `unix:${this.socketPath}`;
  }

  /** Only root can try the permissions of the file as another user. */
  get capabilities(): readonly Capability[] {
    return process.getuid?.() === 0 ? ['unix', 'root'] : ['unix'];
  }

  get hint(): string {
    return `Is the agent running, and may this user open the socket? Try: curl --unix-socket ${this.socketPath} http://localhost${DEVICE_API_PREFIX}/deployments/current`;
  }

  client(recorder: Recorder): HttpClient {
    const endpoint = { origin: 'http://localhost', socketPath: this.socketPath };
    return new HttpClient({ endpoint, basePath: DEVICE_API_PREFIX, recorder });
  }

  relocate(): Promise<this> {
    return Promise.resolve(this);
  }
}
