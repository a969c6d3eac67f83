/**
 * MQTT packets against the platform's broker, and against the client of simulated robots: whole ones of every kind,
 * mismatched fields, and damaged bytes.
 */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import fc from 'fast-check';
import mqtt from 'mqtt';
import { generate, type Packet } from 'mqtt-packet';
import { KeepAlive, MqttConnection } from '../../../simulators/device/uplink/mqtt.ts';
import { ManualTime } from '../../../simulators/device/uplink/testing/uplinks.ts';
import { deviceJwt, robotKey } from '../../../simulators/platform/agent/testing/agent-host.ts';
import { defined } from '../../common/defined.ts';
import { AGENT_BASE_PATH, agentTopics } from '../../contract/agent.ts';
import { AGENT_API_VERSION } from '../../contract/versions.ts';
import {
  anyBytes,
  bytesOf,
  cuts,
  type Damage,
  damagesFrom,
  type End,
  endWith,
  isClosedWithin,
  piecesOf,
  utf8,
  withDamages,
  writeParts,
} from './bytes.ts';
import { fuzzer, type Subject } from './engine.ts';
import { Servers } from './servers.ts';

const text = fc.oneof(
  fc.constantFrom('', '#', '+', '$SYS/#', '$share/g/t', 'a/b', '/', 'a//b', '\u0000', '😀', 'x'.repeat(300)),
  fc.string({ maxLength: 12 }),
);
const id = fc.oneof(fc.constantFrom(1, 65_535), fc.integer({ min: 1, max: 65_535 }));
const qos = fc.constantFrom(0 as const, 1 as const, 2 as const);
const flag = fc.boolean();
const payload = fc.oneof(anyBytes(30), fc.constantFrom('{}', '{"is_synced":false}', '{"message_id":1}', '[', 'null'));

/** Packets that a client sends; `topics` are tried among others. */
const packet = (topics: readonly string[]): fc.Arbitrary<object> => {
  const topic = fc.oneof(text, ...(topics.length > 0 ? [fc.constantFrom(...topics)] : []));
  return fc.oneof(
    fc.record({ cmd: fc.constant('publish'), topic, payload, qos, retain: flag, dup: flag, messageId: id }),
    fc.record({
      cmd: fc.constant('subscribe'),
      messageId: id,
      subscriptions: fc.array(fc.record({ topic, qos }), { minLength: 1, maxLength: 5 }),
    }),
    fc.record({
      cmd: fc.constant('unsubscribe'),
      messageId: id,
      unsubscriptions: fc.array(topic, { minLength: 1, maxLength: 3 }),
    }),
    fc.record({ cmd: fc.constantFrom('puback', 'pubrec', 'pubrel', 'pubcomp', 'unsuback'), messageId: id }),
    fc.record({
      cmd: fc.constant('suback'),
      messageId: id,
      granted: fc.array(fc.constantFrom(0, 1, 2, 128), { maxLength: 4 }),
    }),
    fc.record({ cmd: fc.constant('connack'), returnCode: fc.nat(255), sessionPresent: flag }),
    fc.constantFrom({ cmd: 'pingreq' }, { cmd: 'pingresp' }, { cmd: 'disconnect' }),
    fc.record({
      cmd: fc.constant('connect'),
      protocolId: fc.constantFrom('MQTT', 'MQIsdp'),
      protocolVersion: fc.constantFrom(3, 4),
      clean: flag,
      clientId: text,
      keepalive: fc.constantFrom(0, 1, 65_535),
      username: text,
      password: text,
      will: fc.option(fc.record({ topic, payload, qos, retain: flag }), { nil: undefined }),
    }),
  );
};

function bytesOfPacket(fields: object): string {
  try {
    return generate(fields as Packet).toString('latin1');
  } catch {
    // The generator refuses to write some of them: the bytes of a reserved kind instead.
    return '\u00f0\u0000';
  }
}

/** A length of up to five bytes: the protocol takes four. */
const header = fc
  .tuple(
    fc.nat(255),
    fc.array(fc.constantFrom(0xff, 0x80, 0x7f, 0x00, 0x02), { minLength: 1, maxLength: 5 }),
    anyBytes(40),
  )
  .map(([first, length, rest]) => String.fromCharCode(first, ...length) + rest);

/** Bytes of some packets, their damage and cuts, and the end of the connection. */
interface PacketsInput {
  /** Whether it begins correctly: with CONNECT of a robot, or the broker's answer to that. */
  begun: boolean;
  packets: string[];
  damages: Damage[];
  cuts: number[];
  end: End;
}

/** Packets in a row, most of them whole. */
const packetsInput = (topics: readonly string[]): fc.Arbitrary<PacketsInput> =>
  fc.record({
    begun: flag,
    packets: fc.array(
      fc.oneof(
        { weight: 6, arbitrary: packet(topics.map(utf8)).map(bytesOfPacket) },
        { weight: 1, arbitrary: header },
        { weight: 1, arbitrary: anyBytes(60) },
      ),
      { maxLength: 10 },
    ),
    damages: fc.array(damagesFrom(['\u00ff\u00ff\u00ff\u007f', '\u0000', '\u0010', '\u0030']), { maxLength: 3 }),
    cuts,
    end: fc.constantFrom('end', 'reset'),
  });

/**
 * Placeholders for the attacker's own topics and for those of the other robot, as long as an id, so that lengths stay
 * right.
 */
const OWN = 'dvc_own_own_own_own_own_own_';
const OTHER = 'dvc_other_other_other_other_';
const topics = [OWN, OTHER].flatMap((id) => Object.values(agentTopics).map((topic) => topic(id)));

interface Robot {
  id: string;
  clientId: string;
  username: string;
  password: string;
}

const LONGEST_MS = 20_000;

/**
 * MQTT packets against the platform's broker, before and after CONNECT: it must live on, and another robot see none of
 * them.
 */
async function openBroker(): Promise<Subject<PacketsInput>> {
  const servers = await Servers.start();
  const [robot, other] = [await provision(servers, 'attacker'), await provision(servers, 'other')];
  const witness = await watch(servers.mqttUrl, other);
  const { hostname, port } = new URL(servers.mqttUrl);
  const subject = {
    unharmed: true,
    attack: async ({ begun, packets, damages, cuts: at, end }: PacketsInput): Promise<string | undefined> => {
      const socket = connect({ host: hostname, port: Number(port) });
      socket.on('error', () => {});
      const text = withDamages(packets.join(''), damages).replaceAll(OWN, robot.id).replaceAll(OTHER, other.id);
      const bytes = Buffer.concat([...(begun ? [helloOf(robot)] : []), bytesOf(text)]);
      const ended = await send(socket, bytes, at, end);
      const wrong = (await servers.trouble()) ?? (await witness.noticed());
      subject.unharmed = wrong === undefined;
      return wrong ?? (ended ? undefined : 'the broker does not hang up');
    },
    [Symbol.asyncDispose]: async () => {
      await witness.client.endAsync(true);
      await servers[Symbol.asyncDispose]();
    },
  };
  return subject;
}

function helloOf({ clientId, username, password }: Robot): Buffer {
  const hello = { cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clean: true, keepalive: 60 } as const;
  return generate({ ...hello, clientId, username, password: Buffer.from(password) });
}

/** Another robot on the broker. */
async function watch(url: string, { id, ...credentials }: Robot) {
  const client = await mqtt.connectAsync(url, { protocolVersion: 4, reconnectPeriod: 0, ...credentials });
  const { sync, ping, pong } = agentTopics;
  await client.subscribeAsync([sync(id), ping(id)], { qos: 1 });
  let foreign = 0;
  let lost = false;
  client.on('message', () => {
    foreign += 1;
  });
  client.on('error', () => {});
  client.on('close', () => {
    lost = true;
  });
  /** Unexpected messages up to the echo of one of its own. */
  const noticed = async (): Promise<string | undefined> => {
    if (lost) return 'the connection of another robot was closed';
    const late = AbortSignal.timeout(LONGEST_MS);
    const sent = client.publishAsync(pong(id), '{}', { qos: 1 });
    const answered = await Promise.race([sent.then(() => true), once(late, 'abort').then(() => false)]);
    if (!answered) return 'the broker no longer answers another robot';
    return foreign > 0 ? 'another robot got a message' : undefined;
  };
  return { client, noticed };
}

/** Resolves with whether the broker has closed the connection. */
async function send(socket: Socket, bytes: Buffer, at: readonly number[], end: End): Promise<boolean> {
  const closed = isClosedWithin(socket.resume(), LONGEST_MS);
  await writeParts(socket, piecesOf(bytes, at));
  endWith(end, socket);
  const ended = await closed;
  socket.destroy();
  return ended;
}

async function provision(servers: Servers, name: string): Promise<Robot> {
  const key = robotKey(name);
  const made = await servers.client('platform').post('/provisioning_tokens', {});
  const ask = async (path: string, token: unknown, body?: object): Promise<Record<string, string>> => {
    const answer = await servers.client('platform').request({
      method: 'POST',
      path: AGENT_BASE_PATH + path,
      absolute: true,
      headers: { authorization: `Bearer ${String(token)}`, 'service-version': AGENT_API_VERSION },
      ...defined({ body }),
    });
    if (answer.status !== 200) throw new Error(`POST ${path} is answered ${answer.status} ${answer.text}`);
    return answer.json as Record<string, string>;
  };
  const { token } = made.json as { token: string };
  const device = await ask('/devices/provision', token, { name, agent_version: 'v1', public_key_pem: key.publicPem });
  const session = await ask('/devices/token', deviceJwt(key, Date.now()));
  const { id = '', session_id: username = '' } = device;
  return { id, clientId: id, username, password: session['token'] ?? '' };
}

export const mqttBroker = fuzzer<PacketsInput>({
  name: 'mqtt',
  about: "MQTT packets against the platform's broker, with another robot as a witness",
  slow: true,
  inputs: packetsInput(topics),
  open: openBroker,
});

const WELCOME = Buffer.concat([
  generate({ cmd: 'connack', returnCode: 0, sessionPresent: false }),
  generate({ cmd: 'suback', messageId: 1, granted: [1, 1] }),
]);

/** MQTT client of simulated robots against a hostile broker. */
async function openClients(): Promise<Subject<PacketsInput>> {
  let input: PacketsInput | undefined;
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => void (input && answer(socket, input)));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    attack: (next) => {
      input = next;
      return connectedTo(port);
    },
    [Symbol.asyncDispose]: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}

/** Failure of a client to connect, or to end. */
async function connectedTo(port: number): Promise<string | undefined> {
  const time = new ManualTime();
  let closed = 0;
  const isClosed = Promise.withResolvers<void>();
  const opened = await MqttConnection.open({
    endpoint: { host: '127.0.0.1', port, tls: false, ca: undefined },
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

async function answer(socket: Socket, { begun, packets, damages, cuts: at, end }: PacketsInput): Promise<void> {
  const bytes = bytesOf(withDamages(packets.join(''), damages));
  await writeParts(socket, piecesOf(begun ? Buffer.concat([WELCOME, bytes]) : bytes, at));
  endWith(end, socket);
}

export const mqttClient = fuzzer<PacketsInput>({
  name: 'mqtt-client',
  about: "packets of a broker against the robots' MQTT client",
  inputs: packetsInput(['a', 'b']),
  open: openClients,
});
