/** A TCP server that answers MQTT packets as a test asks, correctly or not. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { generate, type Packet, parser } from 'mqtt-packet';

export interface ScriptedBroker extends AsyncDisposable {
  port: number;
  /** Everything that clients sent. */
  received: Packet[];
  sockets: Set<Socket>;
}

/** Answers CONNECT and SUBSCRIBE as a broker that accepts every client. */
export function welcoming(packet: Packet): Packet | undefined {
  if (packet.cmd === 'connect') return { cmd: 'connack', returnCode: 0, sessionPresent: false };
  if (packet.cmd === 'subscribe') return { cmd: 'suback', messageId: packet.messageId ?? 0, granted: [1, 1] };
  return undefined;
}

/** Serves on a free port; `answer` gives the packet or bytes to send for each received packet. */
export async function scriptedBroker(
  answer: (packet: Packet, socket: Socket) => Packet | Buffer | undefined,
): Promise<ScriptedBroker> {
  const received: Packet[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    const incoming = parser();
    incoming.on('packet', (packet) => {
      received.push(packet);
      const reply = answer(packet, socket);
      if (reply) socket.write(Buffer.isBuffer(reply) ? reply : generate(reply));
    });
    socket.on('data', (chunk: Buffer) => incoming.parse(chunk));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    received,
    sockets,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
