/** The MQTT client of simulated robots against a broker that sends anything. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import fc from 'fast-check';
import { generate } from 'mqtt-packet';
import { KeepAlive, MqttConnection } from '../../../../simulators/device/uplink/mqtt.ts';
import { ManualTime } from '../../../../simulators/device/uplink/testing/manual-time.ts';
import { bytesOf, cuts, damaged, pieces } from '../bytes.ts';
import { type Fuzzer, fuzzer, type Subject } from '../fuzzer.ts';
import { type PacketsInput, packetsInput } from './mqtt-packets.ts';

interface BrokerInput extends PacketsInput {
  /** Whether the broker first welcomes the client properly. */
  welcome: boolean;
  cuts: number[];
  end: 'end' | 'reset';
}

const WELCOME = Buffer.concat([
  generate({ cmd: 'connack', returnCode: 0, sessionPresent: false }),
  generate({ cmd: 'suback', messageId: 1, granted: [1, 1] }),
]);

const inputs: fc.Arbitrary<BrokerInput> = fc
  .tuple(packetsInput(['a', 'b']), fc.boolean(), cuts, fc.constantFrom('end' as const, 'reset' as const))
  .map(([sent, welcome, at, end]) => ({ ...sent, welcome, cuts: at, end }));

class Broker implements Subject<BrokerInput> {
  readonly #server;
  #serve: (socket: Socket) => void = () => {};

  constructor() {
    this.#server = createServer((socket) => {
      socket.on('error', () => {});
      this.#serve(socket);
    });
  }

  async listen(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  async attack(input: BrokerInput): Promise<string | undefined> {
    const time = new ManualTime();
    let closed = 0;
    const isClosed = Promise.withResolvers<void>();
    this.#serve = (socket) => socket.once('data', () => void send(socket, input));
    const opened = await MqttConnection.open({
      endpoint: { host: '127.0.0.1', port: (this.#server.address() as AddressInfo).port, tls: false, ca: undefined },
      clientId: 'dvc_1',
      username: 'session',
      password: 'token',
      topics: ['a', 'b'],
      listener: {
        onMessage: (_, topic, payload) => {
          if (typeof topic !== 'string' || !Buffer.isBuffer(payload))
            throw new Error('a message without topic or payload');
        },
        onClose: () => {
          closed += 1;
          isClosed.resolve();
        },
      },
      keepAlive: new KeepAlive(time),
      signal: AbortSignal.timeout(LONGEST_MS),
    }).catch((error: unknown) => error);
    if (opened instanceof MqttConnection) {
      await Promise.race([isClosed.promise, once(AbortSignal.timeout(LONGEST_MS), 'abort')]);
      if (closed !== 1) return `the end of the connection was told ${closed} times`;
    } else if (!(opened instanceof Error)) {
      return 'it was refused without an error';
    } else if (opened.name === 'TimeoutError') {
      return 'it still waits after the broker has hung up';
    } else if (opened instanceof TypeError || opened instanceof RangeError) {
      return `it fails inside: ${opened.message}`;
    }
    return time.waiting.length === 0 ? undefined : 'a timer is left';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    await once(this.#server, 'close');
  }
}

const LONGEST_MS = 20_000;

async function send(socket: Socket, { packets, damages, welcome, cuts: at, end }: BrokerInput): Promise<void> {
  const bytes = bytesOf(damaged(packets.join(''), damages));
  for (const part of pieces(welcome ? Buffer.concat([WELCOME, bytes]) : bytes, at)) {
    await new Promise<void>((resolve) => socket.write(part, () => resolve()));
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (end === 'end') socket.end();
  else socket.resetAndDestroy();
}

const it: Fuzzer<BrokerInput> = {
  name: 'mqtt-client',
  about: "packets of a broker against the robots' MQTT client",
  inputs,
  open: () => new Broker().listen(),
};

export const mqttClient = fuzzer(it);
