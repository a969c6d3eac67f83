/** The same work over Muster's network and over that of a kernel. */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { Dial } from '../../../common/platform-http.ts';

export interface Work {
  connections: number;
  /** Round trips of each connection. */
  rounds: number;
  /** Bytes of a request, at least 8, and of its answer. */
  up: number;
  down: number;
}

/** Answers requests, which say their own length and that of the answer. */
export async function answering({ host, port }: Parameters<Dial>[0]) {
  const server = createServer({ noDelay: true }, (socket) => {
    let left = 0;
    let down = 0;
    socket.on('error', () => socket.destroy());
    socket.on('data', (bytes: Buffer) => {
      if (left === 0) [left, down] = [bytes.readUInt32LE(0), bytes.readUInt32LE(4)];
      left -= bytes.length;
      if (left === 0) socket.write(Buffer.alloc(down));
    });
  });
  server.listen(port, host);
  await once(server, 'listening');
  return server;
}

/** How long the round trips took, milliseconds; not the first of a connection, before which TCP knows nothing. */
export async function roundTrips(dial: Dial, to: Parameters<Dial>[0], work: Work): Promise<number[]> {
  const each = Array.from({ length: work.connections }, () => ofOne(dial(to), work));
  return (await Promise.all(each)).flat();
}

async function ofOne(socket: Socket, { rounds, up, down }: Work): Promise<number[]> {
  await once(socket, 'connect');
  socket.setNoDelay();
  const request = Buffer.alloc(up);
  request.writeUInt32LE(up, 0);
  request.writeUInt32LE(down, 4);
  const times: number[] = [];
  let [began, left] = [0, 0];
  const ask = (): void => {
    [began, left] = [performance.now(), down];
    socket.write(request);
  };
  socket.on('data', (bytes: Buffer) => {
    left -= bytes.length;
    if (left > 0) return;
    times.push(performance.now() - began);
    if (times.length > rounds) socket.destroy();
    else ask();
  });
  ask();
  await once(socket, 'close');
  return times.slice(1);
}
