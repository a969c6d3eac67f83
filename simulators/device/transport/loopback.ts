/** The Device API on loopback TCP with a discovery file (specification section 5). */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { basename, dirname, join, resolve } from 'node:path';
import { SECRET_MODE } from '../../../harness/common/new-file.ts';
import { UsageError } from '../../../harness/common/usage.ts';
import { disk, ifPresent, replaceFile } from '../log/io.ts';
import {
  type DeviceListener,
  type Endpoint,
  listening,
  requireWritableParent,
  type Serving,
  type Transport,
} from './transport.ts';

export interface LoopbackOptions {
  /** Serve on 127.0.0.1; `discovery` is the file to which port and token are written. */
  loopback?: { discovery: string };
}

export interface LoopbackArguments {
  loopback: boolean;
  discovery?: string | undefined;
}

/** Chosen by a discovery file to write. */
export const loopback = {
  name: 'loopback',
  commandLine: {
    loopback: { type: 'boolean', default: false, describe: 'Serve on a free port of 127.0.0.1', group: 'Where' },
    discovery: { type: 'string', describe: 'Discovery file to write, with port and token', group: 'Where' },
  },
  usage: '--loopback with --discovery FILE,',
  fromArguments: ({ loopback: wanted, discovery }) => {
    if (wanted !== (discovery !== undefined)) {
      throw new UsageError('--loopback and --discovery FILE belong together');
    }
    if (discovery === undefined) return {};
    requireWritableParent('discovery', discovery);
    return { loopback: { discovery: resolve(discovery) } };
  },
  inFolder: (folder) => ({ loopback: { discovery: join(folder, 'discovery.json') } }),
  endpoint: ({ loopback: wanted }): Endpoint | undefined =>
    wanted === undefined ? undefined : new LoopbackEndpoint(wanted.discovery),
} as const satisfies Transport<LoopbackOptions, LoopbackArguments>;

class LoopbackEndpoint implements Endpoint {
  readonly option = 'discovery';
  readonly #discovery: string;

  constructor(discovery: string) {
    this.#discovery = discovery;
  }

  get address(): { discovery: string } {
    return { discovery: this.#discovery };
  }

  /** Listens on a free port of 127.0.0.1, and writes it with a new token to the discovery file (mode 0600). */
  async listen({ rules, onConnection, check }: Serving): Promise<DeviceListener> {
    const discovery = this.#discovery;
    const token = randomBytes(32).toString('hex');
    const entrance = { transport: loopback.name, token };
    const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) => onConnection(socket, entrance));
    await listening(server, { port: 0, host: rules.host, backlog: 4_096 });
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
        if (ifPresent(discovery, () => readFileSync(discovery, 'utf8')) === content) disk.remove(discovery);
      },
      abandon: () => {
        server.close();
      },
    };
  }
}
