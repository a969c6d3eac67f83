/** The Device API on loopback TCP with a discovery file (specification section 5). */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { basename, dirname } from 'node:path';
import type { TransportBehaviour } from '../behaviour.ts';
import { disk, ifPresent, replaceFile } from '../log/io.ts';
import { type Listener, listening } from './unix.ts';

export interface LoopbackListener extends Listener {
  readonly port: number;
  readonly token: string;
}

/** Listens on a free port of 127.0.0.1 and says so, with a fresh token, in the file `discovery` (mode 0600). */
export async function listenLoopback(
  discovery: string,
  rules: TransportBehaviour,
  onConnection: (socket: net.Socket) => void,
  check: () => void = () => {},
): Promise<LoopbackListener> {
  const server = net.createServer({ allowHalfOpen: true, noDelay: true }, onConnection);
  await listening(server, { port: 0, host: rules.host, backlog: 4_096 });
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const token = randomBytes(32).toString('hex');
  const content = `${JSON.stringify(rules.discovery({ port, token }))}\n`;
  try {
    check();
    await replaceFile(disk, dirname(discovery), basename(discovery), content, false, 0o600);
  } catch (error) {
    server.close();
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`cannot write the discovery file ${discovery} (${why})`, { cause: error });
  }
  return {
    port,
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
