/** The platform's commands to devices: a ping and its pong, and the request to sync. */

import { randomUUID } from 'node:crypto';
import { agentTopics, pingMessage } from '../../../harness/contract/agent.ts';
import { type Clock, timestamp } from '../../common/clock.ts';
import type { DeviceMessenger } from '../ports.ts';

// What the platform needs of an MQTT broker, whether it runs in this process or elsewhere.

export interface PublishOptions {
  qos: 0 | 1;
  retain: boolean;
}

export interface Broker {
  /** Where devices connect: `mqtt://…` or `mqtts://…`, without credentials. */
  readonly url: string;
  /** Publishes on a topic of that device. */
  publish(deviceId: string, topic: string, message: object, options: PublishOptions): void;
  /** The device is alive: it sent something that did not pass this broker. */
  heard(deviceId: string): void;
  /** The device's session ended: ends its connection if the broker allows that. */
  disconnect(deviceId: string): void;
  stop(): Promise<void>;
}

/** What a broker reports to the platform. `payload` is only valid during the call. */
export interface BrokerEvents {
  /** A device published on its pong topic. */
  onPong(deviceId: string, payload: Buffer): void;
  /** A device came online or went offline. */
  onConnected(deviceId: string, connected: boolean): void;
}

type PingOutcome = Awaited<ReturnType<DeviceMessenger['ping']>>;

interface PendingPing {
  deviceId: string;
  sentAt: bigint;
  timer: NodeJS.Timeout;
  resolve(outcome: PingOutcome): void;
}

export interface MqttMessenger extends DeviceMessenger {
  /** Sends through this broker from now on; nothing is sent before. */
  use(broker: Broker): void;
  /** A ping whose answer only shows that the device is there. */
  probe(deviceId: string): void;
  onPong(deviceId: string, payload: Buffer): void;
  /** Ends every ping that still waits, as timed out. */
  stop(): void;
}

/** It sends nothing until a broker has been given with `use`. */
export function mqttMessenger(clock: Clock): MqttMessenger {
  let broker: Broker | undefined;
  const pending = new Map<string, PendingPing>();
  const settle = (id: string, outcome: PingOutcome) => {
    const ping = pending.get(id);
    if (!ping) return;
    pending.delete(id);
    clearTimeout(ping.timer);
    ping.resolve(outcome);
  };

  // A late ping is of no use, so it is sent with QoS 0 and not retained.
  const sendPing = (deviceId: string, message_id: string) => {
    const message = { message_id, timestamp: timestamp(clock) };
    broker?.publish(deviceId, agentTopics.ping(deviceId), message, { qos: 0, retain: false });
  };

  return {
    use: (given) => {
      broker = given;
    },
    ping: (deviceId, timeoutNanos) =>
      new Promise((resolve) => {
        const id = randomUUID();
        const timer = setTimeout(settle, timeoutNanos / 1e6, id, { code: 'timeout' });
        pending.set(id, { deviceId, sentAt: process.hrtime.bigint(), timer, resolve });
        sendPing(deviceId, id);
      }),
    probe: (deviceId) => sendPing(deviceId, randomUUID()),
    requestSync: (deviceId) => {
      broker?.publish(deviceId, agentTopics.sync(deviceId), { is_synced: false }, { qos: 1, retain: true });
    },
    disconnect: (deviceId) => broker?.disconnect(deviceId),
    onPong: (deviceId, payload) => {
      const pong = parse(payload);
      if (!pingMessage.is(pong)) return;
      const ping = pending.get(pong.message_id);
      if (ping?.deviceId !== deviceId) return;
      settle(pong.message_id, { code: 'success', round_trip_nanos: Number(process.hrtime.bigint() - ping.sentAt) });
    },
    stop: () => {
      for (const id of [...pending.keys()]) settle(id, { code: 'timeout' });
    },
  };
}

function parse(payload: Buffer): unknown {
  try {
    return JSON.parse(payload.toString());
  } catch {
    return undefined;
  }
}
