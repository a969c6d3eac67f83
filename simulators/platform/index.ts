/** Muster's simulated platform: every published version of the Platform API, an agent side, state in SQLite. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { DIALECT_NAMES, type Dialect } from '../../harness/contract/versions.ts';
import { type Clock, systemClock } from '../common/clock.ts';
import { agentPort } from './agent-port.ts';
import type { PlatformBehaviour } from './behaviour.ts';
import type { Core } from './core.ts';
import { BASE_PATH, buildServer } from './http/server.ts';
import { idsFrom } from './ids.ts';
import { type KeyOption, KeyRing } from './keys.ts';
import { nullLink } from './null-link.ts';
import type { AgentPort } from './ports.ts';
import { Renderer } from './render.ts';
import { rightBehaviour } from './right.ts';
import { Store } from './store/store.ts';

export interface PlatformOptions {
  /** Default 0: any free port. Always on loopback. */
  port?: number;
  /** Default: one generated key with every scope. */
  keys?: readonly KeyOption[];
  /** SQLite file; default `:memory:`. */
  db?: string;
  /** Seeds a workspace of that many devices, unless the database already holds some. */
  devices?: number;
  /** Drives ids and seeded data: the same for the same seed. Default: drawn. */
  seed?: number | string;
  /** Header and claim names. Default `spec`. */
  dialect?: Dialect;
  behaviour?: PlatformBehaviour;
  clock?: Clock;
  log?: Logger;
}

export interface SimulatedPlatform extends AsyncDisposable {
  /** Base of the Platform API, e.g. `http://127.0.0.1:4010/beta`. */
  readonly url: string;
  /** Host of the agent API, which is served under `/agent/v1`. */
  readonly agentUrl: string;
  /** A key that may do everything; the first one of the options when they give keys. */
  readonly apiKey: string;
  /** The store as the agent side sees it. */
  readonly port: AgentPort;
  /** Ends connections and closes the database. Idempotent. */
  stop(): Promise<void>;
}

/** Starts a platform; resolves when it serves. Rejects when the port is taken or the database cannot be opened. */
export async function simulatePlatform(options: PlatformOptions = {}): Promise<SimulatedPlatform> {
  const { clock = systemClock, dialect = 'spec', behaviour = rightBehaviour } = options;
  const keys: readonly KeyOption[] = options.keys ?? [
    { key: `key_${randomBytes(24).toString('base64url')}`, name: 'Generated key', scopes: 'all' },
  ];
  const ring = new KeyRing(keys);
  const store = new Store(options.db ?? ':memory:');
  const core: Core = {
    store,
    behaviour,
    clock,
    names: DIALECT_NAMES[dialect],
    link: nullLink,
    newId: idsFrom(String(options.seed ?? randomUUID())),
  };
  const app = buildServer({
    core,
    renderer: new Renderer(core),
    keys: ring,
    ...(options.log && { log: options.log }),
  });
  await app.listen({ host: '127.0.0.1', port: options.port ?? 0 });
  const { port } = app.server.address() as AddressInfo;
  const agentUrl = `http://127.0.0.1:${port}`;
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= (async () => {
      await app.close();
      store.close();
    })();
    return stopping;
  };
  return {
    url: `${agentUrl}${BASE_PATH}`,
    agentUrl,
    apiKey: keys[0]?.key ?? '',
    port: agentPort(core),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
