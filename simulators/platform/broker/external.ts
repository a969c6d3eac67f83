/**
 * A broker that runs elsewhere (Mosquitto, EMQX, a cloud's), reached as one MQTT 3.1.1 client. Who may connect and which topics
 * are open to whom is that broker's own configuration; the platform's user needs to publish on `cmd/devices/+/sync` and
 * `v1/cmd/devices/+/ping`, and to subscribe to `cmd/devices/+/sync` and `v1/resp/devices/+/pong`.
 */
import { randomUUID } from 'node:crypto';
import { connectAsync, type MqttClient } from 'mqtt';
import { agentTopics, syncMessage } from '../../../harness/contract/agent.ts';
import type { Clock } from '../../common/clock.ts';
import type { Broker, BrokerEvents } from './broker.ts';
import { presence } from './presence.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const RECONNECT_MS = 1_000;

export interface ExternalBrokerOptions {
  /** `mqtt://host:port` or `mqtts://…`. */
  url: string;
  username?: string;
  password?: string;
  /** Certificate authority of the broker, PEM. */
  ca?: string | Buffer;
}

interface ExternalBrokerEvents extends BrokerEvents {
  /** Anybody whom the broker lets publish may name a device that does not exist. */
  isDevice(deviceId: string): boolean;
  /** Sends a ping whose answer shows that the device is there. */
  probe(deviceId: string): void;
}

/** Rejects when the broker cannot be reached within 10 s, or refuses. Reconnects by itself afterwards. */
export async function externalBroker(
  options: ExternalBrokerOptions,
  events: ExternalBrokerEvents,
  clock: Clock,
): Promise<Broker> {
  const { url, ...credentials } = options;
  const address = new URL(url);
  if (address.protocol !== 'mqtt:' && address.protocol !== 'mqtts:') {
    throw new Error(`${address.protocol}//${address.host} is no MQTT address: mqtt:// and mqtts:// are accepted`);
  }
  let client: MqttClient;
  try {
    client = await connectAsync(
      url,
      {
        ...credentials,
        protocolVersion: 4,
        clientId: `platform-${randomUUID()}`,
        connectTimeout: CONNECT_TIMEOUT_MS,
        reconnectPeriod: RECONNECT_MS,
      },
      false,
    );
  } catch (error) {
    throw new Error(`the MQTT broker at ${address.host} cannot be used: ${(error as Error).message}`, { cause: error });
  }
  const devices = presence({ clock, onConnected: events.onConnected, probe: events.probe });
  client.on('error', () => {});
  client.on('message', (topic, payload, { retain }) => {
    const deviceId = topic.split('/').at(-2) ?? '';
    const pong = topic === agentTopics.pong(deviceId);
    // A retained message says nothing about now, and the platform's own requests come back here too.
    const synced = topic === agentTopics.sync(deviceId) && !retain && isSynced(payload);
    if (!(pong || synced) || !events.isDevice(deviceId)) return;
    devices.seen(deviceId);
    if (pong) events.onPong(deviceId, payload);
  });
  await client.subscribeAsync([agentTopics.pong('+'), agentTopics.sync('+')], { qos: 1 });

  return {
    url: `${address.protocol}//${address.host}`,
    publish: (_deviceId, topic, message, publishOptions) => {
      client.publish(topic, JSON.stringify(message), publishOptions);
    },
    heard: devices.seen,
    // Its token is not taken any more; the connection is the broker's.
    disconnect: devices.gone,
    stop: async () => {
      devices.stop();
      await client.endAsync(true);
    },
  };
}

function isSynced(payload: Buffer): boolean {
  try {
    const message: unknown = JSON.parse(payload.toString());
    return syncMessage.is(message) && message.is_synced;
  } catch {
    return false;
  }
}
