/**
 * MQTT 3.1.1 client, hand-written to save memory in a fleet: 21 KiB per robot, against 36 to 42 KiB with the `mqtt`
 * package.
 */

import { connect as connectTcp, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { generate, type Packet, parser, writeToStream } from 'mqtt-packet';
import { tls as nodeTls } from '../../../harness/common/node-tls.ts';
import { networkErrorMessage } from '../../common/platform-http.ts';
import { type Time, Wheel, type WheelMember } from './time.ts';

// Disables the cache of encoded numbers, which takes 7 MB, because an agent sends few numbers.
writeToStream.cacheNumbers = false;

export const KEEP_ALIVE_SECONDS = 20;
/** Interval of PINGREQ, below the keep-alive so that no PINGREQ is late. */
export const BEAT_SECONDS = KEEP_ALIVE_SECONDS - 2;

export class KeepAlive extends Wheel {
  constructor(time: Time) {
    super(time, BEAT_SECONDS * 1000, BEAT_SECONDS);
  }

  /** One tick even after a stall, because two PINGREQ in a row would close a healthy connection. */
  protected override due(): number {
    return 1;
  }
}

// All connections of the process share one parser, which receives only whole packets.

/** Maximum bytes of a packet, as protection from a broken or hostile broker. */
const MAX_PACKET_BYTES = 256 * 1024;

let shared: ((bytes: Buffer) => Packet) | undefined;

function packetParser(): (bytes: Buffer) => Packet {
  const stream = parser({ protocolVersion: 4 });
  let parsed: Packet | undefined;
  let failure: Error | undefined;
  stream.on('packet', (packet) => (parsed = packet));
  stream.on('error', (error: Error) => (failure = error));
  return (bytes) => {
    parsed = undefined;
    const left = stream.parse(bytes);
    if (failure) throw failure;
    if (!parsed || left > 0) throw new Error('malformed MQTT packet');
    return parsed;
  };
}

function parse(bytes: Buffer): Packet {
  shared ??= packetParser();
  try {
    return shared(bytes);
  } catch (error) {
    // Discards the parser, because half a packet in it must not reach another connection.
    shared = undefined;
    throw error;
  }
}

function packetLength(bytes: Buffer, start: number): number | undefined {
  let length = 0;
  for (let index = 0; index < 4; index++) {
    const byte = bytes[start + 1 + index];
    if (byte === undefined) return undefined;
    length += (byte & 0x7f) * 128 ** index;
    if (byte < 0x80) {
      if (length > MAX_PACKET_BYTES)
        throw new Error(`MQTT packet of ${length} bytes; at most ${MAX_PACKET_BYTES} are taken`);
      return 2 + index + length;
    }
  }
  throw new Error('malformed MQTT packet length');
}

/**
 * Passes each complete packet to `onPacket`, which must not keep the packet; returns a copy of the remaining bytes.
 * Throws for a stream that is not MQTT.
 */
export function readPackets(rest: Buffer | undefined, chunk: Buffer, onPacket: (packet: Packet) => void) {
  const bytes = rest ? Buffer.concat([rest, chunk]) : chunk;
  let start = 0;
  while (start < bytes.length) {
    const length = packetLength(bytes, start);
    if (length === undefined || start + length > bytes.length) break;
    onPacket(parse(bytes.subarray(start, start + length)));
    start += length;
  }
  return start === bytes.length ? undefined : Buffer.from(bytes.subarray(start));
}

export class MqttRefused extends Error {
  override name = 'MqttRefused';
  readonly returnCode: number;
  constructor(returnCode: number) {
    super(`the MQTT broker refused the connection with return code ${returnCode}`);
    this.returnCode = returnCode;
  }
  get credentials(): boolean {
    return this.returnCode === 4 || this.returnCode === 5;
  }
}

export class NotMqtt extends Error {
  override name = 'NotMqtt';
  constructor(cause: Error) {
    super(`what was answered is no MQTT (${cause.message})`, { cause });
  }
}

export class BrokerError extends Error {
  override name = 'BrokerError';
  constructor({ host, port, tls }: Pick<MqttEndpoint, 'host' | 'port' | 'tls'>, cause: Error) {
    const address = `${tls ? 'mqtts' : 'mqtt'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
    super(`no connection to the MQTT broker at ${address}: ${networkErrorMessage(cause)}`, { cause });
  }

  get credentials(): boolean {
    return this.cause instanceof MqttRefused && this.cause.credentials;
  }
}

export interface MqttEndpoint {
  host: string;
  port: number;
  tls: boolean;
  ca: string | Buffer | undefined;
}

export interface MqttListener {
  /** `payload` is valid only during the call. `retained`: the message is older than the subscription. */
  onMessage(connection: MqttConnection, topic: string, payload: Buffer, retained: boolean): void;
  onClose(connection: MqttConnection, reason: Error): void;
}

/** One buffer serves all connections, because each consumes its bytes before the next read. */
const sharedReadBuffer = Buffer.allocUnsafeSlow(64 * 1024);

export class MqttConnection implements WheelMember {
  readonly #socket: Socket;
  readonly #listener: MqttListener;
  readonly #keepAlive: KeepAlive;
  #slot = -1;
  #rest: Buffer | undefined;
  #messageId = 0;
  #awaitingPong = false;
  #step: { command: 'connack' | 'suback'; resolve(packet: Packet): void; reject(error: Error): void } | undefined;
  #failure: Error | undefined;

  private constructor(endpoint: MqttEndpoint, listener: MqttListener, keepAlive: KeepAlive) {
    this.#listener = listener;
    this.#keepAlive = keepAlive;
    this.#socket = this.#connect(endpoint);
    this.#socket.setNoDelay(true);
    this.#socket.on('error', (error) => (this.#failure ??= error));
    this.#socket.on('close', () => {
      const reason = this.#reason();
      this.#step?.reject(reason);
      this.#step = undefined;
      if (this.#slot < 0) return;
      this.#keepAlive.delete(this, this.#slot);
      this.#listener.onClose(this, reason);
    });
  }

  /** Connects and subscribes; rejects with MqttRefused, NotMqtt, a connection error or the reason of `signal`. */
  static async open(options: {
    endpoint: MqttEndpoint;
    clientId: string;
    username: string;
    password: string;
    topics: string[];
    listener: MqttListener;
    keepAlive: KeepAlive;
    signal: AbortSignal;
    subscribeAfterMs?: number;
  }): Promise<MqttConnection> {
    const { endpoint, clientId, username, password, topics, listener, keepAlive, signal } = options;
    signal.throwIfAborted();
    const connection = new MqttConnection(endpoint, listener, keepAlive);
    const abort = () => connection.close(signal.reason as Error);
    signal.addEventListener('abort', abort, { once: true });
    // A timer instead of the socket's timeout, whose removed listener would cost each robot 0.8 KB.
    const late = setTimeout(() => connection.close(new Error('the MQTT broker does not answer')), 30_000);
    try {
      const connected = connection.#await('connack');
      connection.#send({
        cmd: 'connect',
        protocolId: 'MQTT',
        protocolVersion: 4,
        clean: true,
        keepalive: KEEP_ALIVE_SECONDS,
        clientId,
        username,
        password: Buffer.from(password),
      });
      const connack = await connected;
      late.refresh();
      const returnCode = connack.cmd === 'connack' ? (connack.returnCode ?? 0) : 0;
      if (returnCode !== 0) throw new MqttRefused(returnCode);
      if (options.subscribeAfterMs) await delay(options.subscribeAfterMs, undefined, { signal });
      if (topics.length > 0) await connection.#subscribe(topics);
    } catch (error) {
      connection.close(error as Error);
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
      clearTimeout(late);
    }
    connection.#slot = keepAlive.add(connection);
    return connection;
  }

  async #subscribe(topics: readonly string[]): Promise<void> {
    const subscribed = this.#await('suback');
    const subscriptions = topics.map((topic) => ({ topic, qos: 1 as const }));
    this.#send({ cmd: 'subscribe', messageId: this.#nextId(), subscriptions });
    const suback = await subscribed;
    // 0x80 refuses a subscription.
    const refused = suback.cmd === 'suback' && suback.granted.includes(0x80);
    if (refused) throw new Error('the MQTT broker refused a subscription to a topic of this device');
  }

  get closed(): boolean {
    return this.#socket.destroyed;
  }

  publish(topic: string, message: object, options: { retain: boolean }): void {
    const payload = Buffer.from(JSON.stringify(message));
    this.#send({ cmd: 'publish', topic, payload, qos: 1, dup: false, messageId: this.#nextId(), ...options });
  }

  beat(): void {
    if (this.#awaitingPong) this.close(new Error('the MQTT broker answered no PINGREQ'));
    this.#awaitingPong = true;
    this.#send({ cmd: 'pingreq' });
  }

  close(reason?: Error): void {
    this.#failure ??= reason;
    this.#socket.destroy();
  }

  async end(): Promise<void> {
    if (this.#socket.closed) return;
    const closed = new Promise((resolve) => this.#socket.once('close', resolve));
    this.#send({ cmd: 'disconnect' });
    this.#socket.destroySoon();
    // Destroys the socket after a second of silence, because a stalled broker may never read the remaining bytes.
    this.#socket.setTimeout(1_000, () => this.#socket.destroy());
    await closed;
  }

  #connect({ host, port, tls, ca }: MqttEndpoint): Socket {
    if (tls) return nodeTls.connect({ host, port, ...(ca !== undefined && { ca }) }).on('data', this.#read);
    if (process.platform === 'win32') return connectTcp({ host, port }).on('data', this.#read);
    const callback = (bytesRead: number) => {
      this.#read(sharedReadBuffer.subarray(0, bytesRead));
      return true;
    };
    return connectTcp({ host, port, onread: { buffer: sharedReadBuffer, callback } });
  }

  async #await(command: 'connack' | 'suback'): Promise<Packet> {
    // A closed socket emits no event that would end the wait.
    if (this.closed) throw this.#reason();
    return await new Promise((resolve, reject) => {
      this.#step = { command, resolve, reject };
    });
  }

  #send(packet: Packet): void {
    if (this.#socket.writable) this.#socket.write(generate(packet));
  }

  #nextId(): number {
    this.#messageId = (this.#messageId % 0xffff) + 1;
    return this.#messageId;
  }

  #read = (chunk: Buffer): void => {
    try {
      this.#rest = readPackets(this.#rest, chunk, this.#receive);
    } catch (error) {
      this.close(new NotMqtt(error as Error));
    }
  };

  #receive = (packet: Packet): void => {
    switch (packet.cmd) {
      case 'publish':
        if (packet.qos > 0) this.#send({ cmd: 'puback', messageId: packet.messageId ?? 0 });
        this.#listener.onMessage(this, packet.topic, packet.payload as Buffer, packet.retain);
        break;
      case 'pingresp':
        this.#awaitingPong = false;
        break;
      case this.#step?.command: {
        const step = this.#step;
        this.#step = undefined;
        step?.resolve(packet);
      }
    }
  };

  #reason(): Error {
    return this.#failure ?? new Error('the MQTT broker closed the connection');
  }
}
