/** Where the platform of a fleet is. */
import type { Dialect } from '../../../harness/contract/versions.ts';

/** The API key travels over the channel between processes, never in arguments or the environment. */
export interface PlatformAddress {
  /** Base URL of the Platform API. */
  url: string;
  /** Base URL of the agent API, without `/agent/v1`. */
  agentUrl: string;
  /** URL of the MQTT broker. Default: the host of `agentUrl`, port 8883 with TLS, 1883 on loopback. */
  mqttUrl?: string | undefined;
  apiKey: string;
  /** Names of the API's headers. Default `spec`. */
  dialect?: Dialect;
}

/** `text` without the API key: a platform may repeat in its answer what it was sent. */
export const masked = (text: string, platform: Pick<PlatformAddress, 'apiKey'> | undefined): string =>
  platform === undefined || platform.apiKey === '' ? text : text.replaceAll(platform.apiKey, '***');
