/** Client of an external MQTT 3.1.1 broker, which must let the platform publish commands and read replies. */

import { randomUUID } from 'node:crypto';
import type { MqttClient } from 'mqtt';
import { jsonOf } from '../../../harness/common/lenient.ts';
import { agentTopics, syncMessage } from '../../../harness/contract/agent.ts';
import { type Clock, steadyClock } from '../../common/clock.ts';
import type { Broker, BrokerEvents } from './messenger.ts';

// A device counts as online for a minute after each message, because the agent protocol reports no disconnect. Two
// pings a minute make an idle device answer.

const PROBE_EVERY_MS = 30_000;
/** Each tick pings a share of the devices, to spread the load. */
const TICK_MS = 1_000;

export function presence(options: {
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
      if (state.online && now - state.seenAt >= 60_000) {
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
    gone: (deviceId: string): void => {
      const state = known.get(deviceId);
      known.delete(deviceId);
      if (state?.online) onConnected(deviceId, false);
    },
    stop: (): void => {
      clearInterval(timer);
      for (const [deviceId, { online }] of known) if (online) onConnected(deviceId, false);
      known.clear();
    },
  };
}

const SUBSCRIPTION_REFUSED = 128;

export interface ExternalBrokerOptions {
  url: string;
  username?: string;
  password?: string;
  ca?: string | Buffer;
}

export class BrokerError extends Error {
  override name = 'BrokerError';
}

/**
 * Rejects with BrokerError for a URL without MQTT scheme, an unreachable or refusing broker, or no connection within
 * 10 s. `isDevice`: false for other clients.
 */
export async function externalBroker(
  options: ExternalBrokerOptions,
  events: BrokerEvents & { isDevice(deviceId: string): boolean; probe(deviceId: string): void },
): Promise<Broker> {
  const address = new URL(options.url);
  if (address.protocol !== 'mqtt:' && address.protocol !== 'mqtts:')
    throw new BrokerError(`${address.protocol}//${address.host} is no MQTT address: mqtt:// and mqtts:// are accepted`);
  const client = await open(options, address.host);
  const devices = presence({ clock: steadyClock, onConnected: events.onConnected, probe: events.probe });
  client.on('message', (topic, payload, { retain }) => {
    const deviceId = topic.split('/').at(-2) ?? '';
    const pong = topic === agentTopics.pong(deviceId);
    // Ignores retained messages, which may be old, and `is_synced: false`, which the platform itself sends.
    const message = topic === agentTopics.sync(deviceId) && !retain ? jsonOf(payload) : undefined;
    const synced = syncMessage.is(message) && message.is_synced;
    if (!(pong || synced) || !events.isDevice(deviceId)) return;
    devices.seen(deviceId);
    if (pong) events.onPong(deviceId, payload);
  });

  return {
    url: `${address.protocol}//${address.host}`,
    publish: (_deviceId, topic, message, publishOptions) =>
      void client.publish(topic, JSON.stringify(message), publishOptions),
    heard: devices.seen,
    // Marks the device as offline, because the platform cannot close its connection to the broker.
    disconnect: devices.gone,
    stop: async () => {
      devices.stop();
      await client.endAsync(true);
    },
  };
}

/** The mqtt package repeats the subscriptions after a reconnect. */
async function open({ url, ...credentials }: ExternalBrokerOptions, host: string): Promise<MqttClient> {
  let client: MqttClient | undefined;
  try {
    const { connectAsync } = await import('mqtt');
    const protocol = { protocolVersion: 4 as const, clientId: `platform-${randomUUID()}` };
    // `keepalive` is in seconds, other times in milliseconds. Queues no QoS 0 message, because a late ping is useless.
    const patience = { connectTimeout: 10_000, reconnectPeriod: 1_000, keepalive: 20, queueQoSZero: false };
    client = await connectAsync(url, { ...credentials, ...protocol, ...patience }, false);
    client.on('error', () => {});
    const granted = await client.subscribeAsync([agentTopics.pong('+'), agentTopics.sync('+')], { qos: 1 });
    if (granted.some(({ qos }) => qos === SUBSCRIPTION_REFUSED)) throw new Error('it refuses the subscriptions');
    return client;
  } catch (error) {
    await client?.endAsync(true);
    throw new BrokerError(`the MQTT broker at ${host} cannot be used: ${(error as Error).message}`, { cause: error });
  }
}
