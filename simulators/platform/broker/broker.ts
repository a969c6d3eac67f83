/** What the platform needs of an MQTT broker, whether it runs in this process or elsewhere. */

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
