/** What the robots of one process share to reach one platform: HTTP connections, the keep-alive wheel, time, randomness. */
import { arch, hostname, platform } from 'node:os';
import { AGENT_API_VERSION, DIALECT_NAMES, type Dialect } from '../../../harness/contract/versions.ts';
import type { Clock } from '../../common/clock.ts';
import { type Random, random } from '../../common/random.ts';
import { PlatformHttp } from './http.ts';
import type { MqttEndpoint } from './mqtt/connection.ts';
import { KeepAlive } from './mqtt/keep-alive.ts';
import { systemTime, type Time, timeOf } from './time.ts';

/** The subset of a pino logger that is used; secrets are never passed to it. */
export interface UplinkLogger {
  debug(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface AgentUplinkOptions {
  kind: 'agent';
  /** URL of the platform host; the agent API lies below it at `/agent/v1`. */
  platform: string;
  /** Provisioning token, needed until the robot has an identity on disk. */
  token?: string;
  /** `mqtt://host:port` or `mqtts://…`. Default: the platform's host, port 8883 with TLS; 1883 without where it is a loopback address. */
  mqtt?: string;
  /** Certificate authority of platform and broker, PEM. */
  ca?: string | Buffer;
  /** Size of the RSA key to make. Default 2048. */
  keyBits?: number;
  dialect?: Dialect;
  agentVersion?: string;
  /** HTTP connections to the platform, shared by all robots of this uplink. Default 32. */
  connections?: number;
  clock?: Clock;
  /** Timers and clock together, for tests. */
  time?: Time;
  random?: Random;
  log?: UplinkLogger;
}

const DEFAULT_KEY_BITS = 2048;
export const DEFAULT_AGENT_VERSION = 'v0.1.0';

export interface UplinkHub {
  readonly http: PlatformHttp;
  readonly keepAlive: KeepAlive;
  readonly mqtt: MqttEndpoint;
  readonly headers: Record<string, string>;
  readonly token: string | undefined;
  readonly keyBits: number;
  readonly agentVersion: string;
  readonly time: Time;
  readonly random: Random;
  readonly log: UplinkLogger | undefined;
  /** Each running robot holds the hub; its connections close with the last one. */
  acquire(): void;
  release(): Promise<void>;
}

export function createHub(options: AgentUplinkOptions): UplinkHub {
  const { agentVersion = DEFAULT_AGENT_VERSION, ca, log } = options;
  const time = options.time ?? (options.clock ? timeOf(options.clock) : systemTime);
  const randomness = options.random ?? random('uplink');
  const baseUrl = new URL(options.platform);
  const httpOptions = {
    baseUrl,
    ca,
    time,
    random: randomness,
    ...(options.connections !== undefined && { connections: options.connections }),
  };
  let http: PlatformHttp | undefined;
  let users = 0;
  return {
    get http() {
      http ??= new PlatformHttp(httpOptions);
      return http;
    },
    keepAlive: new KeepAlive(time),
    mqtt: { ...mqttEndpoint(options.mqtt, baseUrl), ca },
    headers: agentHeaders(options.dialect ?? 'spec', agentVersion),
    token: options.token,
    keyBits: options.keyBits ?? DEFAULT_KEY_BITS,
    agentVersion,
    time,
    random: randomness,
    log,
    acquire: () => {
      users++;
    },
    release: async () => {
      users--;
      if (users > 0) return;
      const unused = http;
      http = undefined;
      await unused?.close();
    },
  };
}

function mqttEndpoint(mqtt: string | undefined, platformUrl: URL): { host: string; port: number; tls: boolean } {
  if (mqtt === undefined) {
    const host = bare(platformUrl.hostname);
    const loopback = host === 'localhost' || host === '::1' || host.startsWith('127.');
    return { host, port: loopback ? 1883 : 8883, tls: !loopback };
  }
  const url = new URL(mqtt);
  if (url.protocol !== 'mqtt:' && url.protocol !== 'mqtts:') {
    throw new Error(`${mqtt} is no MQTT address: mqtt://host:port or mqtts://host:port is accepted`);
  }
  const tls = url.protocol === 'mqtts:';
  return { host: bare(url.hostname), port: Number(url.port || (tls ? 8883 : 1883)), tls };
}

/** `[::1]` as sockets take it. */
const bare = (hostname: string) => hostname.replace(/^\[|\]$/g, '');

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
