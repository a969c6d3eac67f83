/** Why there is no connection to the broker: which one was asked, and what it, or the network, said. */
import { networkErrorMessage } from '../../../common/platform-http.ts';
import { type MqttEndpoint, MqttRefused } from './connection.ts';

export class BrokerError extends Error {
  override name = 'BrokerError';
  constructor({ host, port, tls }: Pick<MqttEndpoint, 'host' | 'port' | 'tls'>, cause: Error) {
    const address = `${tls ? 'mqtts' : 'mqtt'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
    super(`no connection to the MQTT broker at ${address}: ${networkErrorMessage(cause)}`, { cause });
  }

  /** Bad user name or password, or not authorized. */
  get credentials(): boolean {
    return this.cause instanceof MqttRefused && this.cause.credentials;
  }
}
