/** The platform's agent side: HTTP under `/agent/v1`, and MQTT 3.1.1 through an embedded or an external broker. */
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { AGENT_BASE_PATH } from '../../../harness/contract/agent.ts';
import { DIALECT_NAMES, type Dialect } from '../../../harness/contract/versions.ts';
import { type Clock, systemClock } from '../../common/clock.ts';
import { LOOPBACK } from '../address.ts';
import { embeddedBroker } from '../broker/embedded.ts';
import { type ExternalBrokerOptions, externalBroker } from '../broker/external.ts';
import { mqttMessenger } from '../broker/messenger.ts';
import type { AgentPort, DeviceMessenger } from '../ports.ts';
import { DEFAULT_MIN_KEY_BITS, deviceJwtVerifier, sessionTokens } from './credentials.ts';
import { type AgentContext, agentPlugin } from './routes.ts';

export interface AgentSideOptions {
  /** The embedded broker's address (default: loopback, any free port), or a broker that runs elsewhere. */
  mqtt?: { host?: string; port?: number } | ExternalBrokerOptions;
  /** Certificate and key of the embedded broker, PEM; without them it speaks plain TCP. */
  tls?: { cert: string | Buffer; key: string | Buffer } | undefined;
  dialect: Dialect;
  /** Smallest RSA key a device may be provisioned with. Default 2048. */
  minKeyBits?: number | undefined;
  /** Lifetime of a device token. Default one hour. */
  tokenLifetimeMs?: number;
  clock?: Clock;
  log?: Logger | undefined;
}

export interface AgentSide {
  readonly messenger: DeviceMessenger;
  /** Where devices connect. */
  readonly mqttUrl: string;
  /** Serves the agent API under `/agent/v1`. */
  register(app: FastifyInstance): void;
  /** Closes every device's connection; pings that still wait time out. Idempotent. */
  stop(): Promise<void>;
}

/** Starts or connects to the broker. Rejects when that fails. */
export async function createAgentSide(port: AgentPort, options: AgentSideOptions): Promise<AgentSide> {
  const clock = options.clock ?? systemClock;
  const tokens = sessionTokens({
    deviceById: (id) => port.deviceById(id),
    issuer: DIALECT_NAMES[options.dialect].tokenIssuer,
    clock,
    lifetimeMs: options.tokenLifetimeMs,
  });

  const messenger = mqttMessenger(clock);
  const events = {
    onPong: messenger.onPong,
    onConnected: (deviceId: string, connected: boolean) => port.setConnected(deviceId, connected),
  };
  const { mqtt = {}, tls, log } = options;
  const broker =
    'url' in mqtt
      ? await externalBroker(mqtt, {
          ...events,
          isDevice: (id) => port.deviceById(id) !== undefined,
          probe: messenger.probe,
        })
      : await embeddedBroker({
          ...events,
          host: mqtt.host ?? LOOPBACK,
          port: mqtt.port ?? 0,
          tls,
          onError: (error) => log?.error(error, 'the MQTT broker failed'),
          authenticate: (deviceId, sessionId, token) => {
            const device = tokens.verify(token);
            return device?.id === deviceId && device.session_id === sessionId;
          },
        });
  messenger.use(broker);

  const context: AgentContext = {
    port,
    tokens,
    verifyDeviceJwt: deviceJwtVerifier({
      deviceByFingerprint: (fingerprint) => port.deviceByFingerprint(fingerprint),
      clock,
    }),
    minKeyBits: options.minKeyBits ?? DEFAULT_MIN_KEY_BITS,
    onSessionEnded: broker.disconnect,
    onSeen: broker.heard,
  };
  let stopping: Promise<void> | undefined;
  return {
    messenger,
    mqttUrl: broker.url,
    register: (app) => {
      void app.register(agentPlugin(context, options.dialect), { prefix: AGENT_BASE_PATH });
    },
    stop: () => {
      stopping ??= (async () => {
        messenger.stop();
        await broker.stop();
      })();
      return stopping;
    },
  };
}
