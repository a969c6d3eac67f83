/**
 * A broker that runs elsewhere (Mosquitto, EMQX, a cloud's), reached as one MQTT 3.1.1 client. Who may connect and
 * which topics are open to whom is that broker's own configuration; the platform's user needs to publish on
 * `cmd/devices/+/sync` and `v1/cmd/devices/+/ping`, and to subscribe to `cmd/devices/+/sync` and
 * `v1/resp/devices/+/pong`.
 */

import { randomUUID } from 'node:crypto';
import { connectAsync, type MqttClient } from 'mqtt';
import { agentTopics, syncMessage } from '../../../harness/contract/agent.ts';
import { type Clock, steadyClock } from '../../common/clock.ts';
import type { Broker, BrokerEvents } from './messenger.ts';

// Who is online, where the broker cannot tell: on an external broker the published protocol has neither a last will nor
// a birth message. A device counts as online for a minute after each message from it: an HTTP request, a pong, a report
// of a sync. Every device that has been online is pinged twice a minute, so that an idle one gives such signs.

const OFFLINE_AFTER_MS = 60_000;
const PROBE_EVERY_MS = 30_000;
/** Probes are spread over their period: devices are taken in turn, a share of them each second. */
const TICK_MS = 1_000;

/** Starts watching; `stop` ends it. */
export function presence(options: {
  /** One that never jumps. */
  clock: Clock;
  onConnected(deviceId: string, connected: boolean): void;
  probe(deviceId: string): void;
}) {
  const { clock, onConnected, probe } = options;
  const known = new Map<string, { seenAt: number; probedAt: number; online: boolean }>();

  const timer = setInterval(() => {
    const now = clock.now();
    let share = Math.ceil((known.size * TICK_MS) / PROBE_EVERY_MS);
    for (const [deviceId, state] of known) {
      if (state.online && now - state.seenAt >= OFFLINE_AFTER_MS) {
        state.online = false;
        onConnected(deviceId, false);
      }
      if (share === 0 || now - state.probedAt < PROBE_EVERY_MS) continue;
      share--;
      state.probedAt = now;
      probe(deviceId);
    }
  }, TICK_MS);

  return {
    seen: (deviceId: string): void => {
      const now = clock.now();
      const state = known.get(deviceId);
      if (!state) known.set(deviceId, { seenAt: now, probedAt: now, online: true });
      else state.seenAt = now;
      if (state?.online) return;
      if (state) state.online = true;
      onConnected(deviceId, true);
    },
    /** The device's session ended. */
    gone: (deviceId: string): void => {
      const state = known.get(deviceId);
      known.delete(deviceId);
      if (state?.online) onConnected(deviceId, false);
    },
    /** Every device is offline from now on. */
    stop: (): void => {
      clearInterval(timer);
      for (const [deviceId, { online }] of known) if (online) onConnected(deviceId, false);
      known.clear();
    },
  };
}

const CONNECT_TIMEOUT_MS = 10_000;
const RECONNECT_MS = 1_000;
/** A connection whose other end is gone is found within one and a half of these. */
const KEEP_ALIVE_S = 20;
const SUBSCRIPTION_REFUSED = 128;

export interface ExternalBrokerOptions {
  /** `mqtt://host:port` or `mqtts://…`. */
  url: string;
  username?: string;
  password?: string;
  /** Certificate authority of the broker, PEM. */
  ca?: string | Buffer;
}

/** The broker cannot be used; the message says which, and why. */
export class BrokerError extends Error {
  override name = 'BrokerError';
}

interface ExternalBrokerEvents extends BrokerEvents {
  /** Whether the device exists: a broker may let other clients publish on topics of unknown devices. */
  isDevice(deviceId: string): boolean;
  /** Sends a ping whose answer shows that the device is there. */
  probe(deviceId: string): void;
}

/**
 * Rejects with BrokerError when the broker cannot be reached within 10 s, or refuses. Reconnects by itself afterwards.
 */
export async function externalBroker(options: ExternalBrokerOptions, events: ExternalBrokerEvents): Promise<Broker> {
  const address = new URL(options.url);
  if (address.protocol !== 'mqtt:' && address.protocol !== 'mqtts:') {
    throw new BrokerError(`${address.protocol}//${address.host} is no MQTT address: mqtt:// and mqtts:// are accepted`);
  }
  const client = await open(options, address.host);
  const devices = presence({ clock: steadyClock, onConnected: events.onConnected, probe: events.probe });
  client.on('message', (topic, payload, { retain }) => {
    const deviceId = topic.split('/').at(-2) ?? '';
    const pong = topic === agentTopics.pong(deviceId);
    // A retained message says nothing about now, and the platform's own requests come back here too.
    const synced = topic === agentTopics.sync(deviceId) && !retain && isSynced(payload);
    if (!(pong || synced) || !events.isDevice(deviceId)) return;
    devices.seen(deviceId);
    if (pong) events.onPong(deviceId, payload);
  });

  return {
    url: `${address.protocol}//${address.host}`,
    publish: (_deviceId, topic, message, publishOptions) => {
      client.publish(topic, JSON.stringify(message), publishOptions);
    },
    heard: devices.seen,
    // Its token is refused from now on; only the broker can end the connection.
    disconnect: devices.gone,
    stop: async () => {
      devices.stop();
      await client.endAsync(true);
    },
  };
}

/** A ping that was meant for the time of an outage is of no use after it. */
const NOTHING_LATE = { queueQoSZero: false };

/** Connected and subscribed; mqtt subscribes again by itself when it reconnects. */
async function open({ url, ...credentials }: ExternalBrokerOptions, host: string): Promise<MqttClient> {
  let client: MqttClient | undefined;
  try {
    const protocol = { protocolVersion: 4 as const, clientId: `platform-${randomUUID()}` };
    const patience = { connectTimeout: CONNECT_TIMEOUT_MS, reconnectPeriod: RECONNECT_MS, keepalive: KEEP_ALIVE_S };
    client = await connectAsync(url, { ...credentials, ...protocol, ...patience, ...NOTHING_LATE }, false);
    client.on('error', () => {});
    const granted = await client.subscribeAsync([agentTopics.pong('+'), agentTopics.sync('+')], { qos: 1 });
    if (granted.some(({ qos }) => qos === SUBSCRIPTION_REFUSED)) throw new Error('it refuses the subscriptions');
    return client;
  } catch (error) {
    await client?.endAsync(true);
    throw new BrokerError(`the MQTT broker at ${host} cannot be used: ${(error as Error).message}`, { cause: error });
  }
}

function isSynced(payload: Buffer): boolean {
  try {
    const message: unknown = JSON.parse(payload.toString());
    return syncMessage.is(message) && message.is_synced;
  } catch {
    return false;
  }
}
