/** Muster's simulated platform: every published version of the Platform API, an agent side, state in SQLite. */

import { randomBytes, randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { defined } from '../../harness/common/defined.ts';
import type {
  AgentConfigInstance,
  AgentDeployment,
  AgentGitCommit,
  AgentRelease,
} from '../../harness/contract/agent.ts';
import { DIALECT_NAMES, type Dialect } from '../../harness/contract/versions.ts';
import { type Clock, systemClock } from '../common/clock.ts';
import { newControlToken } from '../common/control-guard.ts';
import { BACKLOG, LOOPBACK, toldHost } from './address.ts';
import { type AgentSide, createAgentSide } from './agent/index.ts';
import type { PlatformBehaviour } from './behaviour.ts';
import type { Exchanges } from './console/exchanges.ts';
import { PlatformControl } from './control/control.ts';
import { Plans } from './control/plans.ts';
import { type PlatformControlServer, type PlatformInfo, serveControl } from './control/server.ts';
import { type Core, idsFrom } from './core.ts';
import { contentOf } from './domain/config-instances.ts';
import { applyReport } from './domain/deployments.ts';
import { archiveDevice, assignGroup, disconnectAll, markConnected } from './domain/devices.ts';
import { change, find } from './domain/find.ts';
import { provision, reprovision } from './domain/provisioning.ts';
import { VIEWS } from './domain/views.ts';
import type { PlatformFaults } from './faults.ts';
import { BASE_PATH, buildServer } from './http/server.ts';
import { type KeyOption, KeyRing } from './keys.ts';
import { type AgentPort, type DeviceMessenger, noMessenger, PlatformError } from './ports.ts';
import { referenceBehaviour } from './reference.ts';
import { Renderer } from './render.ts';
import { applySeed, readSeed } from './seed/seed-file.ts';
import { seedWorkspace } from './seed/workspace.ts';
import type { DeploymentRow, ReleaseRow } from './store/rows.ts';
import { Store } from './store/store.ts';

function agentPort(core: Core): AgentPort {
  const { collections } = core.store;
  const deploymentOf = (deviceId: string, id: string): DeploymentRow => {
    const row = find(core, 'deployment', id);
    // A device must not learn which deployments other devices have.
    if (row.device_id !== deviceId) find(core, 'deployment', '');
    return row;
  };
  return {
    provision: (token, { name, ...credentials }) => provision(core, token, name, credentials),
    reprovision: (token, credentials) => reprovision(core, token, credentials),
    deviceByFingerprint: (fingerprint) => collections.device.first({ key_fingerprint: fingerprint }),
    deviceById: (id) => collections.device.byId(id),
    updateDevice: (id, { agent_version }) => {
      const row = find(core, 'device', id);
      if (agent_version === undefined || agent_version === row.agent_version) return row;
      return change(core, 'device', row, { agent_version });
    },
    setConnected: (id, connected) => setConnected(core, id, connected),
    deployments: (deviceId, { activity, limit, offset, expand }) => {
      const all = listedTo(core, deviceId, activity);
      const told = tell(core, all.slice(offset, offset + limit));
      return { items: told.map((row) => agentDeployment(core, row, expand)), total: all.length };
    },
    deployment: (deviceId, id, expand) => {
      const told = tell(core, [deploymentOf(deviceId, id)]);
      return agentDeployment(core, told[0] as DeploymentRow, expand);
    },
    report: (deviceId, id, report) => agentDeployment(core, applyReport(core, deploymentOf(deviceId, id), report), []),
    configInstance: (id) => agentConfigInstance(core, id),
    content: (deviceId, id) => {
      const row = find(core, 'config_instance', id);
      const isUsed = core.store.database
        .prepare('SELECT 1 FROM deployments, json_each(config_instance_ids) WHERE device_id = ? AND value = ? LIMIT 1')
        .get(deviceId, id);
      if (isUsed === undefined) {
        throw new PlatformError(403, 'not_for_this_device', 'no deployment of this device has that config instance');
      }
      return { format: row.content_format, data: contentOf(core, id) };
    },
    release: (id) => agentRelease(core, find(core, 'release', id), false),
    gitCommit: (id) => agentGitCommit(core, id),
  };
}

/** Archived deployments become most of a device's over time, and are rarely requested. */
const NOT_ARCHIVED =
  "device_id = ? AND (activity_status <> 'archived' OR coalesce(agent_activity, 'archived') <> 'archived')";

function listedTo({ store }: Core, deviceId: string, activity: readonly string[]): DeploymentRow[] {
  const { deployment } = store.collections;
  if (activity.length === 0) return deployment.where({ device_id: deviceId });
  const rows = activity.includes('archived')
    ? deployment.where({ device_id: deviceId })
    : deployment.select(NOT_ARCHIVED, [deviceId]);
  return rows.filter((row) => activity.includes(lastReported(row)));
}

/** Devices are online while connected to the broker. */
function setConnected(core: Core, id: string, connected: boolean): void {
  const row = core.store.collections.device.byId(id);
  if (row === undefined || row.status === 'archived' || row.status === 'inactive') return;
  // An agent replaces its stand-in.
  core.standIns.delete(id);
  markConnected(core, row, connected);
}

function agentDeployment(core: Core, row: DeploymentRow, expand: readonly string[]): AgentDeployment {
  const known = { ...row, activity_status: activityForAgent(row) };
  const { parent_id, queued_at, deployed_at, archived_at, ...shown } = VIEWS.deployment(core, known);
  const withRelease = expand.some((name) => name === 'release' || name.startsWith('release.'));
  return {
    ...shown,
    ...(withRelease && {
      release: agentRelease(core, find(core, 'release', row.release_id), expand.includes('release.git_commit')),
    }),
    ...(expand.includes('config_instances') && {
      config_instances: (JSON.parse(row.config_instance_ids) as string[]).map((id) => agentConfigInstance(core, id)),
    }),
  };
}

function agentConfigInstance(core: Core, id: string): AgentConfigInstance {
  const { slot_key, ...shown } = VIEWS.config_instance(core, find(core, 'config_instance', id));
  return shown;
}

function agentRelease(core: Core, row: ReleaseRow, withCommit: boolean): AgentRelease {
  const shown = VIEWS.release(core, row);
  if (!withCommit) return shown;
  return { ...shown, git_commit: row.git_commit_id === null ? null : agentGitCommit(core, row.git_commit_id) };
}

const agentGitCommit = (core: Core, id: string): AgentGitCommit => VIEWS.git_commit(core, find(core, 'git_commit', id));

/** Marks targets as known to the agent, which must then learn of their fate. */
function tell({ store }: Core, rows: readonly DeploymentRow[]): readonly DeploymentRow[] {
  const isNews = (row: DeploymentRow) => row.target_status === 'deployed' && row.agent_activity === null;
  if (!rows.some(isNews)) return rows;
  const { deployment } = store.collections;
  return store.write(() =>
    rows.map((row) => (isNews(row) ? deployment.update(row, { agent_activity: row.activity_status }) : row)),
  );
}

/**
 * Activity of a deployment for its agent. One archived by the platform itself (e.g. replaced while queued) keeps the
 * activity known to the agent, with the target `archived`: an uninformed agent would keep it as a target beside the new
 * one.
 */
function activityForAgent({ activity_status, agent_activity }: DeploymentRow): DeploymentRow['activity_status'] {
  return activity_status === 'archived' && agent_activity !== null ? agent_activity : activity_status;
}

/**
 * Lists a deployment under removal as deployed, so that an agent that stopped between removal and report can report
 * later.
 */
function lastReported(row: DeploymentRow): DeploymentRow['activity_status'] {
  const activity = activityForAgent(row);
  return activity === 'removing' ? 'deployed' : activity;
}

/** Round trip reported for a ping of a stand-in, nanoseconds. */
const PING_NANOS = 1_000_000;

/**
 * Answers pings of stand-ins, devices that are online without an agent and apply no deployment; passes everything else
 * to `messenger`.
 */
function answering(standIns: ReadonlySet<string>, messenger: DeviceMessenger): DeviceMessenger {
  return {
    ping: (id, timeoutNanos) =>
      standIns.has(id)
        ? Promise.resolve({ code: 'success', round_trip_nanos: PING_NANOS })
        : messenger.ping(id, timeoutNanos),
    requestSync: (id) => messenger.requestSync(id),
    disconnect: (id) => messenger.disconnect(id),
  };
}

export interface PlatformOptions {
  /**
   * Listen address of the Platform API, the agent API and the embedded broker. Default loopback. The control API and
   * the page stay on loopback.
   */
  host?: string;
  /** Default 0: any free port. */
  port?: number;
  keys?: readonly KeyOption[];
  /** SQLite file; default `:memory:`. */
  db?: string;
  /** Seeds a workspace of `devices`, unless the database already holds some. */
  devices?: number;
  /** Text of a seed file (YAML); creates its workspace, unless the database already holds anything. */
  seedFile?: string;
  /** Drives ids, seeded data and faults. Default: random. */
  seed?: number | string;
  /** Port of the embedded broker (default 0), an external broker, or false for no agent side. */
  mqtt?: { port?: number } | { url: string; username?: string; password?: string; ca?: string } | false;
  /** PEM; HTTP and the embedded broker then use TLS. */
  tls?: { cert: string; key: string };
  /** Header and claim names. Default `spec`. */
  dialect?: Dialect;
  /** Smallest RSA key accepted for provisioning, bits. Default 2048. */
  minKeyBits?: number;
  /** Default: the reference. Defects and variants pass another. */
  behaviour?: PlatformBehaviour;
  faults?: PlatformFaults;
  /**
   * Serves the control API on this loopback port (0 picks a free one), and keeps the initial state for its `reset`.
   * Default token: a new one.
   */
  control?: { port: number; token?: string };
  /** Serves a page to watch and drive the platform on this loopback port (0 picks a free one). */
  ui?: { port: number };
  clock?: Clock;
  log?: Logger;
}

type Outside = Pick<SimulatedPlatform, 'controlUrl' | 'controlToken' | 'uiUrl'> & { close(): Promise<void> };

interface Parts {
  core: Core;
  renderer: Renderer;
  plans: Plans;
  exchanges: Exchanges | undefined;
  info: PlatformInfo;
}

/** Rejects with the system's error if a port cannot be used, and leaves nothing open then. */
async function openOutside(
  { core, renderer, plans, exchanges, info }: Parts,
  { control: asked, ui }: Pick<PlatformOptions, 'control' | 'ui'>,
): Promise<Outside> {
  const control = new PlatformControl(core, renderer, plans);
  let server: PlatformControlServer | undefined;
  let page: AsyncDisposable | undefined;
  const close = async (): Promise<void> => {
    await page?.[Symbol.asyncDispose]();
    await server?.close();
    control[Symbol.dispose]();
  };
  try {
    const controlToken = asked && (asked.token ?? newControlToken());
    if (asked && controlToken !== undefined) {
      server = await serveControl(control, core, info, { port: asked.port, token: controlToken });
    }
    const controlUrl = server?.url;
    let uiUrl: string | undefined;
    if (ui !== undefined && exchanges !== undefined) {
      const { PlatformConsole } = await import('./console/platform-console.ts');
      const opened = new PlatformConsole(core, control, exchanges);
      page = opened;
      uiUrl = await opened.serve({ ...info, ...defined({ control: controlUrl }) }, ui.port);
    }
    return { controlUrl, controlToken, uiUrl, close };
  } catch (error) {
    await close();
    throw error;
  }
}

export type { PlatformBehaviour } from './behaviour.ts';
export type { KeyOption } from './keys.ts';
export { referenceBehaviour } from './reference.ts';

export interface SimulatedPlatform extends AsyncDisposable {
  /** Base of the Platform API, e.g. `http://127.0.0.1:4010/beta`. */
  readonly url: string;
  /** Host of the agent API, which is served under `/agent/v1`. */
  readonly agentUrl: string;
  /** Broker for devices; undefined without an agent side (`mqtt: false`). */
  readonly mqttUrl: string | undefined;
  /** First given key, or a generated one with every scope. */
  readonly apiKey: string;
  /** Undefined without `control`. */
  readonly controlUrl: string | undefined;
  /** Bearer token of its requests (`Authorization`). */
  readonly controlToken: string | undefined;
  /** Page to watch and drive it; undefined without `ui`. Anyone with this URL may use it. */
  readonly uiUrl: string | undefined;
  readonly port: AgentPort;
  /** Changes without a published operation. Throws PlatformError for an unknown id. */
  archiveDevice(id: string): void;
  assignGroup(deviceId: string, groupId: string | null): void;
  /** Ends connections and closes the database. Idempotent. */
  stop(): Promise<void>;
}

/** Starts a platform; resolves once it serves. Rejects if a port is taken or the database cannot be opened. */
export async function simulatePlatform(options: PlatformOptions = {}): Promise<SimulatedPlatform> {
  const { clock = systemClock, dialect = 'spec', behaviour = referenceBehaviour, host = LOOPBACK, log, tls } = options;
  const keys: readonly KeyOption[] = options.keys ?? [generatedKey()];
  const ring = new KeyRing(keys);
  const seed = String(options.seed ?? randomUUID());
  const store = new Store(options.db ?? ':memory:');
  const names = DIALECT_NAMES[dialect];
  const standIns = new Set<string>();
  const messenger = answering(standIns, noMessenger);
  const core: Core = { store, behaviour, clock, names, standIns, messenger, newId: idsFrom(seed) };
  const port = agentPort(core);
  let agentSide: AgentSide | undefined;
  let app: FastifyInstance | undefined;
  let outside: Outside | undefined;
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= stopAll([() => outside?.close(), () => agentSide?.stop(), () => app?.close(), () => store.close()]);
    return stopping;
  };
  try {
    disconnectAll(core);
    if (options.devices) seedWorkspace(core, { devices: options.devices, seed });
    if (options.seedFile !== undefined && isEmpty(core)) applySeed(core, readSeed(options.seedFile));
    if (options.mqtt !== false) {
      const { mqtt = {}, minKeyBits } = options;
      const broker = 'url' in mqtt ? mqtt : { ...mqtt, host };
      agentSide = await createAgentSide(port, { dialect, clock, mqtt: broker, tls, minKeyBits, log });
      core.messenger = answering(core.standIns, agentSide.messenger);
    }
    const side = agentSide;
    const renderer = new Renderer(core);
    const plans = options.control || options.ui ? new Plans() : undefined;
    const exchanges = options.ui && (await exchangesOf(core, ring, keys));
    const { faults } = options;
    const registerAgent = side && ((server: FastifyInstance) => side.register(server));
    app = buildServer({ core, renderer, keys: ring, seed, log, tls, plans, exchanges, faults, registerAgent });
    await app.listen({ host, port: options.port ?? 0, backlog: BACKLOG });
    if (plans) {
      const info = { ...addressesOf(app, options, agentSide), dialect };
      outside = await openOutside({ core, renderer, plans, exchanges, info }, options);
    }
  } catch (error) {
    await stop().catch(() => {});
    throw error;
  }
  const { url, agent_url: agentUrl } = addressesOf(app, options, agentSide);
  return {
    url,
    agentUrl,
    mqttUrl: agentSide?.mqttUrl,
    controlUrl: outside?.controlUrl,
    controlToken: outside?.controlToken,
    uiUrl: outside?.uiUrl,
    apiKey: keys[0]?.key ?? '',
    port,
    archiveDevice: (id) => void archiveDevice(core, id),
    assignGroup: (deviceId, groupId) => void assignGroup(core, deviceId, groupId),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Seeds only an empty database, where nothing can conflict. */
const isEmpty = ({ store }: Core): boolean => Object.values(store.collections).every(({ size }) => size === 0);

function addressesOf(app: FastifyInstance, { host, tls }: PlatformOptions, agentSide: AgentSide | undefined) {
  const { port } = app.server.address() as AddressInfo;
  const origin = `${tls ? 'https' : 'http'}://${toldHost(host ?? LOOPBACK)}:${port}`;
  return { url: `${origin}${BASE_PATH}`, agent_url: origin, ...defined({ mqtt: agentSide?.mqttUrl }) };
}

async function exchangesOf({ names }: Core, ring: KeyRing, keys: readonly KeyOption[]): Promise<Exchanges> {
  const { Exchanges } = await import('./console/exchanges.ts');
  const secrets = keys.map(({ key }) => key);
  return new Exchanges({ ring, secrets, versionHeader: names.versionHeader, basePath: BASE_PATH });
}

const generatedKey = (): KeyOption => ({
  key: `key_${randomBytes(24).toString('base64url')}`,
  name: 'Generated key',
  scopes: 'all',
});

/** Runs every step even if an earlier one failed. */
async function stopAll(steps: readonly (() => unknown)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw new AggregateError(errors, 'the platform did not stop cleanly');
}
