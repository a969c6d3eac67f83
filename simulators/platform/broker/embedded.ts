/** Embedded MQTT 3.1.1 broker: a device logs in with id, session id and token, and reaches only its own topics. */

import { type EventEmitter, once } from 'node:events';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { Aedes, type AedesOptions, type AuthErrorCode, type Client } from 'aedes';
import { generate, writeToStream } from 'mqtt-packet';
import { tls } from '../../../harness/common/node-tls.ts';
import { agentTopics } from '../../../harness/contract/agent.ts';
import { BACKLOG, reachableHost } from '../address.ts';
import type { Broker, BrokerEvents } from './messenger.ts';

// Disables the cache of encoded numbers, which takes 7 MB, because a robot uses few numbers.
writeToStream.cacheNumbers = false;

/** Largest packets in bytes; smaller before CONNECT, because the broker buffers packets of unknown clients. */
const LARGEST_CONNECT = 16_384;
const LARGEST_PACKET = 65_536;

function limitPackets(client: Client, onTooLarge: (error: Error) => void): void {
  // Internal parser of aedes; `parse` returns the number of buffered bytes.
  type Parser = { parse(bytes: Buffer): number; packet?: { length: number }; settings: object };
  const { _parser: parser } = client as Client & { _parser: Parser };
  const parse = parser.parse.bind(parser);
  const limit = () => (client.connected ? LARGEST_PACKET : LARGEST_CONNECT);
  parser.parse = (bytes) => {
    // Releases the CONNECT packet with its password, which the parser would keep.
    if (client.connected) parser.settings = { protocolVersion: 4 };
    const kept = parse(bytes);
    const announced = parser.packet?.length ?? -1;
    if (kept <= limit() && announced <= limit()) return kept;
    client.conn.destroy();
    onTooLarge(new Error(`${client.id ?? 'a client'} sent an MQTT packet of more than ${limit()} bytes`));
    return 0;
  };
}

// Replaces aedes' store of retained messages, which is slow for many robots. A map suffices, because the access rules
// forbid wildcards.

interface RetainedStore {
  storeRetained(packet: { topic: string; payload: Buffer; qos: 0 | 1 | 2 }): Promise<void>;
  createRetainedStreamCombi(topics: string[]): Readable;
}

function installExactRetained(aedes: Aedes): RetainedStore['storeRetained'] {
  const retained = new Map<string, { cmd: 'publish'; topic: string; payload: string; qos: 0 | 1 | 2 }>();
  const { persistence } = aedes as unknown as { persistence: RetainedStore };
  persistence.storeRetained = async ({ topic, payload, qos }) => {
    if (payload.length === 0) retained.delete(topic);
    // Stores the payload as text, because a short Buffer keeps the whole pool that it was cut from.
    else retained.set(topic, { cmd: 'publish', topic, payload: payload.toString('latin1'), qos });
  };
  persistence.createRetainedStreamCombi = (topics) => {
    const packets = topics.flatMap((topic) => retained.get(topic) ?? []);
    return Readable.from(packets.map((packet) => ({ ...packet, payload: Buffer.from(packet.payload, 'latin1') })));
  };
  return persistence.storeRetained;
}

export interface EmbeddedBrokerOptions extends BrokerEvents {
  host: string;
  port: number;
  tls?: { cert: string | Buffer; key: string | Buffer } | undefined;
  authenticate(deviceId: string, sessionId: string, token: string): boolean;
  onError(error: Error): void;
}

/** Resolves once the broker listens; rejects for a taken port. */
export async function embeddedBroker(options: EmbeddedBrokerOptions): Promise<Broker> {
  const aedes = await Aedes.createBroker(accessRules(options));
  (aedes as EventEmitter).on('error', options.onError);
  const storeRetained = installExactRetained(aedes);
  const connected = trackClients(aedes, options);
  const sockets = new Set<Socket>();
  const accept = (socket: Socket) => limitPackets(aedes.handle(socket.setNoDelay(true)), options.onError);
  let server: Server;
  try {
    server = options.tls ? tls.createServer(options.tls, accept) : createTcpServer(accept);
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    server.listen({ host: options.host, port: options.port, backlog: BACKLOG });
    await once(server, 'listening');
  } catch (error) {
    // Closes the broker, which would keep the process alive.
    await new Promise<void>((resolve) => aedes.close(resolve));
    throw error;
  }
  const { port } = server.address() as AddressInfo;

  return {
    url: `${options.tls ? 'mqtts' : 'mqtt'}://${reachableHost(options.host)}:${port}`,
    // Bypasses `publish` of aedes, which loses a message if a QoS 0 message and a retained message coincide.
    publish: (deviceId, topic, message, { qos, retain }) => {
      const payload = Buffer.from(JSON.stringify(message));
      const packet = { cmd: 'publish' as const, topic, payload, qos, retain: false, dup: false };
      if (retain) void storeRetained(packet);
      type Internals = { subscriptions: Record<string, unknown>; waitForDrain(done: () => void): void };
      const client = connected.get(deviceId) as (Client & Internals) | undefined;
      if (!client?.subscriptions[topic]) return;
      if (qos > 0) client.publish(packet, ignore);
      // Bypasses the queues of aedes, which take a tenth of the processor time of a ping; QoS 0 needs no queue.
      else if (client.conn.writable && !client.conn.write(generate(packet))) client.waitForDrain(ignore);
    },
    heard: ignore,
    disconnect: (deviceId) => connected.get(deviceId)?.close(),
    stop: async () => {
      server.close();
      const ended = [...sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
      await new Promise<void>((resolve) => aedes.close(resolve));
      for (const deviceId of connected.keys()) options.onConnected(deviceId, false);
      connected.clear();
      // Destroys the remaining sockets, because aedes does not know those that sent no CONNECT.
      for (const socket of sockets) socket.destroy();
      await Promise.all(ended);
    },
  };
}

function accessRules({ authenticate, onPong }: EmbeddedBrokerOptions): AedesOptions {
  return {
    preConnect: (client, packet, done) => {
      packet.clean = true;
      // Waits two turns of the event loop, after which a client that has hung up shows a closed socket.
      setImmediate(setImmediate, () => {
        const alive = !client.closed && !client.conn.destroyed;
        if (!alive) client.conn.destroy();
        done(null, alive);
      });
    },
    authenticate: (client, username, password, done) => {
      const genuine = authenticate(client.id, username ?? '', password?.toString() ?? '');
      if (genuine) return done(null, true);
      // CONNACK code 4 (bad user name or password) makes an agent refresh its token.
      done(Object.assign(new Error('not a device of this platform'), { returnCode: 4 as AuthErrorCode }), false);
    },
    authorizeSubscribe: (client, subscription, done) => {
      const { sync, ping } = agentTopics;
      const own = [sync(client.id), ping(client.id)].includes(subscription.topic);
      done(null, own ? subscription : null);
    },
    authorizePublish: (client, packet, done) => {
      const id = client?.id ?? '';
      const pong = packet.topic === agentTopics.pong(id);
      const own = pong || packet.topic === agentTopics.sync(id);
      if (pong) onPong(id, packet.payload as Buffer);
      done(own ? null : new Error('a device may publish on its own topics only'));
    },
  };
}

function trackClients(aedes: Aedes, { onConnected }: EmbeddedBrokerOptions): Map<string, Client> {
  const connected = new Map<string, Client>();
  // Watches the socket, because aedes reports no disconnect if the same client has connected again.
  aedes.on('client', (client) => {
    if (client.closed) return;
    connected.set(client.id, client);
    onConnected(client.id, true);
    client.conn.once('close', () => {
      if (connected.get(client.id) !== client) return;
      connected.delete(client.id);
      onConnected(client.id, false);
    });
  });
  return connected;
}

const ignore = () => {};
