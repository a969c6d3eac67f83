/** Options of agent uplinks, and what all their robots share: the broker's address, keep-alive, and identifying headers. */
import { arch, hostname, platform } from 'node:os';
import { AGENT_API_VERSION, DIALECT_NAMES, type Dialect } from '../../../harness/contract/versions.ts';
import type { AgentHabits } from './habits.ts';
import type { MqttEndpoint } from './mqtt/connection.ts';
import { KeepAlive } from './mqtt/keep-alive.ts';
import { type CommonOptions, parseUrl, type Shared, share } from './shared.ts';

export interface AgentUplinkOptions extends CommonOptions {
  kind: 'agent';
  /** URL of the platform. Only its host counts: the agent API lies at `/agent/v1`. */
  platform: string;
  /**
   * Provisioning token, needed until the robot has an identity on disk. A function is called when one is needed, because tokens
   * are valid for minutes only, and once more with a token that the platform refused. `start` rejects with its rejection.
   */
  token?: string | ((refused?: string) => string | Promise<string>);
  /** `mqtt://host:port` or `mqtts://…`. Default: the platform's host, with TLS at port 8883; without TLS at 1883 on a loopback address. */
  mqtt?: string;
  /** Size of the RSA key to make. Default 2048. */
  keyBits?: number;
  dialect?: Dialect;
  agentVersion?: string;
  /** How these agents differ from the reference. */
  habits?: AgentHabits;
}

const DEFAULT_KEY_BITS = 2048;
const DEFAULT_AGENT_VERSION = 'v0.1.0';
const MQTT_PORT = 1883;
const MQTT_TLS_PORT = 8883;

export interface AgentHub extends Shared {
  readonly keepAlive: KeepAlive;
  readonly mqtt: MqttEndpoint;
  readonly headers: Record<string, string>;
  readonly token: AgentUplinkOptions['token'];
  readonly keyBits: number;
  readonly agentVersion: string;
  readonly habits: AgentHabits;
}

/** Throws when an option is not a valid address. */
export function createAgentHub(options: AgentUplinkOptions): AgentHub {
  const { agentVersion = DEFAULT_AGENT_VERSION, ca, dialect = 'spec', habits = {} } = options;
  const { keyBits = DEFAULT_KEY_BITS, token } = options;
  const { origin, hostname: host } = parseUrl('platform', options.platform, ['http:', 'https:']);
  const shared = share(options, new URL(origin));
  return Object.assign(shared, {
    keepAlive: new KeepAlive(shared.time),
    mqtt: { ...mqttAddress(options.mqtt, host), ca },
    headers: agentHeaders(dialect, agentVersion),
    token,
    keyBits,
    agentVersion,
    habits,
  });
}

function mqttAddress(mqtt: string | undefined, platformHost: string): { host: string; port: number; tls: boolean } {
  if (mqtt === undefined) {
    const host = bare(platformHost);
    const loopback = host === 'localhost' || host === '::1' || host.startsWith('127.');
    return { host, port: loopback ? MQTT_PORT : MQTT_TLS_PORT, tls: !loopback };
  }
  const url = parseUrl('mqtt', mqtt, ['mqtt:', 'mqtts:']);
  const tls = url.protocol === 'mqtts:';
  return { host: bare(url.hostname), port: Number(url.port || (tls ? MQTT_TLS_PORT : MQTT_PORT)), tls };
}

/** A host without the brackets of an IPv6 address in a URL. */
const bare = (host: string) => host.replace(/^\[|\]$/g, '');

function agentHeaders(dialect: Dialect, agentVersion: string): Record<string, string> {
  const { versionHeader, agentHeaderPrefix } = DIALECT_NAMES[dialect];
  return {
    [versionHeader]: AGENT_API_VERSION,
    [`${agentHeaderPrefix}-Version`]: agentVersion,
    [`${agentHeaderPrefix}-Host-Name`]: hostname(),
    [`${agentHeaderPrefix}-Arch`]: arch(),
    [`${agentHeaderPrefix}-Language`]: `node ${process.version}`,
    [`${agentHeaderPrefix}-OS`]: platform(),
  };
}
