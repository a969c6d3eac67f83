import { randomUUID } from 'node:crypto';
import { jsonOf } from '../../../harness/common/lenient.ts';
import { agentTopics, pingMessage } from '../../../harness/contract/agent.ts';
import { type Clock, timestamp } from '../../common/clock.ts';
import type { DeviceMessenger } from '../ports.ts';

export interface Broker {
  readonly url: string;
  publish(deviceId: string, topic: string, message: object, options: { qos: 0 | 1; retain: boolean }): void;
  /** Records an HTTP request as a sign of life. */
  heard(deviceId: string): void;
  /** Closes the connection of a device; with an external broker, only marks the device as offline. */
  disconnect(deviceId: string): void;
  stop(): Promise<void>;
}

/** Events of a broker; `payload` is valid only during the call. */
export interface BrokerEvents {
  onPong(deviceId: string, payload: Buffer): void;
  onConnected(deviceId: string, connected: boolean): void;
}

type PingOutcome = Awaited<ReturnType<DeviceMessenger['ping']>>;

export function mqttMessenger(clock: Clock) {
  let broker: Broker | undefined;
  const pending = new Map<
    string,
    { deviceId: string; sentAt: bigint; timer: NodeJS.Timeout; resolve(outcome: PingOutcome): void }
  >();
  const settle = (id: string, outcome: PingOutcome) => {
    const ping = pending.get(id);
    if (!ping) return;
    pending.delete(id);
    clearTimeout(ping.timer);
    ping.resolve(outcome);
  };

  // QoS 0 and not retained, because a late ping is useless.
  const sendPing = (deviceId: string, message_id: string) => {
    const message = { message_id, timestamp: timestamp(clock) };
    broker?.publish(deviceId, agentTopics.ping(deviceId), message, { qos: 0, retain: false });
  };

  return {
    use: (given: Broker): void => {
      broker = given;
    },
    ping: (deviceId: string, timeoutNanos: number) =>
      new Promise<PingOutcome>((resolve) => {
        const id = randomUUID();
        const timer = setTimeout(settle, timeoutNanos / 1e6, id, { code: 'timeout' });
        pending.set(id, { deviceId, sentAt: process.hrtime.bigint(), timer, resolve });
        sendPing(deviceId, id);
      }),
    probe: (deviceId: string): void => sendPing(deviceId, randomUUID()),
    requestSync: (deviceId: string): void =>
      broker?.publish(deviceId, agentTopics.sync(deviceId), { is_synced: false }, { qos: 1, retain: true }),
    disconnect: (deviceId: string): void => broker?.disconnect(deviceId),
    onPong: (deviceId: string, payload: Buffer): void => {
      const pong = jsonOf(payload);
      if (!pingMessage.is(pong)) return;
      const ping = pending.get(pong.message_id);
      if (ping?.deviceId !== deviceId) return;
      settle(pong.message_id, { code: 'success', round_trip_nanos: Number(process.hrtime.bigint() - ping.sentAt) });
    },
    stop: (): void => {
      for (const id of [...pending.keys()]) settle(id, { code: 'timeout' });
    },
  };
}
