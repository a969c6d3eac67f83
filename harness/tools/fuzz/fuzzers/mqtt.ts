/** MQTT packets against the platform's broker, before and after CONNECT: it lives on, and another robot sees nothing of it. */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import fc from 'fast-check';
import mqtt, { type MqttClient } from 'mqtt';
import { generate } from 'mqtt-packet';
import { deviceJwt, robotKey } from '../../../../simulators/platform/agent/testing/robot-keys.ts';
import { defined } from '../../../common/defined.ts';
import { AGENT_BASE_PATH, agentTopics } from '../../../contract/agent.ts';
import { AGENT_API_VERSION } from '../../../contract/versions.ts';
import { bytesOf, cuts, damaged, pieces } from '../bytes.ts';
import { type Fuzzer, fuzzer, type Subject } from '../fuzzer.ts';
import { Servers } from '../servers.ts';
import { type PacketsInput, packetsInput } from './mqtt-packets.ts';

interface MqttInput extends PacketsInput {
  /** Whether the attacker first connects as a robot of the platform. */
  robot: boolean;
  cuts: number[];
  end: 'end' | 'reset';
}

/** Stand for the attacker's own topics and for those of the other robot; as long as an id, so that lengths stay right. */
const OWN = 'dvc_own_own_own_own_own_own_';
const OTHER = 'dvc_other_other_other_other_';
const topics = [OWN, OTHER].flatMap((id) => Object.values(agentTopics).map((topic) => topic(id)));

const inputs: fc.Arbitrary<MqttInput> = fc
  .tuple(packetsInput(topics), fc.boolean(), cuts, fc.constantFrom('end' as const, 'reset' as const))
  .map(([sent, robot, at, end]) => ({ ...sent, robot, cuts: at, end }));

interface Robot {
  id: string;
  clientId: string;
  username: string;
  password: string;
}

const LONGEST_MS = 20_000;

class BrokerUnderAttack implements Subject<MqttInput> {
  readonly #servers: Servers;
  readonly #robot: Robot;
  readonly #other: Robot;
  readonly #client: MqttClient;
  #foreign = 0;
  #lost = false;
  unharmed = true;

  private constructor(servers: Servers, robot: Robot, other: Robot, client: MqttClient) {
    this.#servers = servers;
    this.#robot = robot;
    this.#other = other;
    this.#client = client;
    client.on('message', () => {
      this.#foreign += 1;
    });
    client.on('error', () => {});
    client.on('close', () => {
      this.#lost = true;
    });
  }

  static async start(): Promise<BrokerUnderAttack> {
    const servers = await Servers.start();
    const [robot, other] = [await provision(servers, 'attacker'), await provision(servers, 'other')];
    const { id, ...credentials } = other;
    const client = await mqtt.connectAsync(servers.mqttUrl, { protocolVersion: 4, reconnectPeriod: 0, ...credentials });
    const { sync, ping } = agentTopics;
    await client.subscribeAsync([sync(id), ping(id)], { qos: 1 });
    return new BrokerUnderAttack(servers, robot, other, client);
  }

  async attack({ packets, damages, robot, cuts: at, end }: MqttInput): Promise<string | undefined> {
    const { hostname, port } = new URL(this.#servers.mqttUrl);
    const socket = connect({ host: hostname, port: Number(port) });
    socket.on('error', () => {});
    const text = damaged(packets.join(''), damages).replaceAll(OWN, this.#robot.id).replaceAll(OTHER, this.#other.id);
    const ended = await send(socket, robot ? this.#connected(text) : bytesOf(text), at, end);
    const wrong = await this.#wrong();
    this.unharmed = wrong === undefined;
    return wrong ?? (ended ? undefined : 'the broker does not hang up');
  }

  #connected(text: string): Buffer {
    const { clientId, username, password } = this.#robot;
    const hello = { cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clean: true, keepalive: 60 } as const;
    const bytes = generate({ ...hello, clientId, username, password: Buffer.from(password) });
    return Buffer.concat([bytes, bytesOf(text)]);
  }

  /** What the other robot has noticed, after a message of its own has gone to the broker and back. */
  async #wrong(): Promise<string | undefined> {
    const trouble = await this.#servers.trouble();
    if (trouble !== undefined) return trouble;
    if (this.#lost) return 'the connection of another robot was closed';
    const late = AbortSignal.timeout(LONGEST_MS);
    const sent = this.#client.publishAsync(agentTopics.pong(this.#other.id), '{}', { qos: 1 });
    const answered = await Promise.race([sent.then(() => true), once(late, 'abort').then(() => false)]);
    if (!answered) return 'the broker no longer answers another robot';
    if (this.#foreign > 0) return 'another robot got a message';
    return undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.endAsync(true);
    await this.#servers[Symbol.asyncDispose]();
  }
}

/** Resolves with whether the broker has closed the connection. */
async function send(socket: Socket, bytes: Buffer, at: readonly number[], end: MqttInput['end']): Promise<boolean> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), LONGEST_MS);
  const closed = once(socket, 'close', { signal: late.signal }).then(
    () => true,
    () => !late.signal.aborted,
  );
  socket.resume();
  for (const part of pieces(bytes, at)) {
    if (socket.destroyed) break;
    await new Promise<void>((resolve) => socket.write(part, () => resolve()));
  }
  if (end === 'end') socket.end();
  else socket.resetAndDestroy();
  const ended = await closed;
  clearTimeout(timer);
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

const it: Fuzzer<MqttInput> = {
  name: 'mqtt',
  about: "MQTT packets against the platform's broker, with another robot as a witness",
  slow: true,
  inputs,
  open: () => BrokerUnderAttack.start(),
};

export const mqttBroker = fuzzer(it);
