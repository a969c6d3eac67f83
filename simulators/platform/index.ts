/** Muster's simulated platform: every published version of the Platform API, an agent side, state in SQLite. */

import { randomBytes, randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { defined } from '../../harness/common/defined.ts';
import '../../harness/common/node22.ts';
import type { AgentConfigInstance, AgentDeployment, AgentRelease } from '../../harness/contract/agent.ts';
import { DIALECT_NAMES, type Dialect } from '../../harness/contract/versions.ts';
import { type Clock, systemClock } from '../common/clock.ts';
import { newControlToken } from '../common/control-guard.ts';
import { BACKLOG, LOOPBACK, toldHost } from './address.ts';
import { type AgentSide, createAgentSide } from './agent/index.ts';
import type { PlatformBehaviour } from './behaviour.ts';
import type { Exchanges } from './console/exchanges.ts';
import { PlatformControl } from './control/control.ts';
import { Plans } from './control/plans.ts';
import { type PlatformControlServer, serveControl } from './control/server.ts';
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
    // Answers as for an unknown id, because a device must not learn of others' deployments.
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
    // Takes a device online while it is connected to the broker; an agent replaces its stand-in.
    setConnected: (id, connected) => {
      const row = collections.device.byId(id);
      if (row === undefined || row.status === 'archived' || row.status === 'inactive') return;
      core.standIns.delete(id);
      markConnected(core, row, connected);
    },
    deployments: (deviceId, { activity, limit, offset, expand }) => {
      const listed = listedTo(core, deviceId, activity);
      const told = tell(core, listed.slice(offset, offset + limit));
      return { items: told.map((row) => agentDeployment(core, row, expand)), total: listed.length };
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
    gitCommit: (id) => VIEWS.git_commit(core, find(core, 'git_commit', id)),
  };
}

/** Leaves out archived deployments, which become most of a device's and are rarely requested. */
const NOT_ARCHIVED =
  "device_id = ? AND (activity_status <> 'archived' OR coalesce(agent_activity, 'archived') <> 'archived')";

function listedTo({ store }: Core, deviceId: string, activity: readonly string[]): DeploymentRow[] {
  const { deployment } = store.collections;
  if (activity.length === 0) return deployment.where({ device_id: deviceId });
  const isWhole = activity.includes('archived');
  const rows = isWhole ? deployment.where({ device_id: deviceId }) : deployment.select(NOT_ARCHIVED, [deviceId]);
  return rows.filter((row) => {
    const known = activityForAgent(row);
    // Lists a deployment under removal as deployed, so that an agent that stopped before its report can report later.
    return activity.includes(known === 'removing' ? 'deployed' : known);
  });
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
  const { git_commit_id: id } = row;
  return { ...shown, git_commit: id === null ? null : VIEWS.git_commit(core, find(core, 'git_commit', id)) };
}

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
 * Activity of a deployment for its agent. A deployment that the platform archived by itself, e.g. replaced while
 * queued, keeps the activity that the agent knows, with the target `archived`, because the agent would otherwise keep
 * it as a target beside the new one.
 */
function activityForAgent({ activity_status, agent_activity }: DeploymentRow): DeploymentRow['activity_status'] {
  return activity_status === 'archived' && agent_activity !== null ? agent_activity : activity_status;
}

/**
 * Answers pings of stand-ins, which are devices online without an agent that apply no deployment. Passes everything
 * else to `messenger`.
 */
function answering(standIns: ReadonlySet<string>, messenger: DeviceMessenger): DeviceMessenger {
  return {
    ping: (id, timeoutNanos) =>
      standIns.has(id)
        ? Promise.resolve({ code: 'success', round_trip_nanos: 1_000_000 })
        : messenger.ping(id, timeoutNanos),
    requestSync: (id) => messenger.requestSync(id),
    disconnect: (id) => messenger.disconnect(id),
  };
}

export interface PlatformOptions {
  /**
   * Listen address of Platform API, agent API and embedded broker. Default loopback, where the control API and the page
   * always stay.
   */
  host?: string;
  /** Default 0: any free port. */
  port?: number;
  keys?: readonly KeyOption[];
  /** SQLite file. Default `:memory:`. */
  db?: string;
  /** Number of seeded devices, in a database without any. */
  devices?: number;
  /** Text of a seed file (YAML), for an empty database. */
  seedFile?: string;
  /** Seed of ids, seeded data and faults. Default: random. */
  seed?: number | string;
  /** Port of the embedded broker (default 0), an external broker, or false for no agent side. */
  mqtt?: { port?: number } | { url: string; username?: string; password?: string; ca?: string } | false;
  /** PEM texts, with which HTTP and the embedded broker use TLS. */
  tls?: { cert: string; key: string };
  /** Header and claim names. Default `spec`. */
  dialect?: Dialect;
  /** Smallest RSA key accepted for provisioning, bits. Default 2048. */
  minKeyBits?: number;
  /** Default: the reference. Defects and variants: `simulators/defects/platform`. */
  behaviour?: PlatformBehaviour;
  faults?: PlatformFaults;
  /**
   * Control API on this loopback port, which keeps the initial state for `reset`. Port 0 picks a free one; `token`
   * defaults to a new one.
   */
  control?: { port: number; token?: string };
  /** Page to watch and drive the platform, on this loopback port; 0 picks a free one. */
  ui?: { port: number };
  clock?: Clock;
  log?: Logger;
}

export type { PlatformBehaviour } from './behaviour.ts';
export type { KeyOption } from './keys.ts';
export { referenceBehaviour } from './reference.ts';

export interface SimulatedPlatform extends AsyncDisposable {
  /** Base of the Platform API, e.g. `http://127.0.0.1:4010/beta`. */
  readonly url: string;
  /** Host of the agent API, which is below `/agent/v1`. */
  readonly agentUrl: string;
  /** Broker for devices; undefined without an agent side (`mqtt: false`). */
  readonly mqttUrl: string | undefined;
  /** First given key, or a generated key with every scope. */
  readonly apiKey: string;
  readonly controlUrl: string | undefined;
  /** Bearer token of the control API; undefined without one. */
  readonly controlToken: string | undefined;
  /** Page to watch and drive the platform, open to anyone with this URL; undefined without `ui`. */
  readonly uiUrl: string | undefined;
  readonly port: AgentPort;
  /** Archives without a published operation. Throws PlatformError for an unknown id. */
  archiveDevice(id: string): void;
  assignGroup(deviceId: string, groupId: string | null): void;
  /** Ends connections and closes the database. Idempotent. */
  stop(): Promise<void>;
}

/** Resolves once the platform serves. Rejects for a taken port or a database that cannot be opened. */
export async function simulatePlatform(options: PlatformOptions = {}): Promise<SimulatedPlatform> {
  const { clock = systemClock, dialect = 'spec', behaviour = referenceBehaviour, host = LOOPBACK, log, tls } = options;
  const { control: asked, ui, faults, keys = [generatedKey()] } = options;
  const ring = new KeyRing(keys);
  const seed = String(options.seed ?? randomUUID());
  await using starting = new AsyncDisposableStack();
  const store = new Store(options.db ?? ':memory:');
  starting.defer(() => store.close());
  const standIns = new Set<string>();
  const messenger = answering(standIns, noMessenger);
  const core: Core = {
    store,
    behaviour,
    clock,
    names: DIALECT_NAMES[dialect],
    standIns,
    messenger,
    newId: idsFrom(seed),
  };
  seedEmpty(core, options, seed);
  const port = agentPort(core);
  const agentSide = options.mqtt === false ? undefined : await agentSideOf(port, options);
  if (agentSide) core.messenger = answering(standIns, agentSide.messenger);
  const renderer = new Renderer(core);
  const plans = asked || ui ? new Plans() : undefined;
  const exchanges = ui && (await exchangesOf(core, ring, keys));
  const registerAgent = agentSide?.register;
  const app = buildServer({ core, renderer, keys: ring, seed, log, tls, plans, exchanges, faults, registerAgent });
  starting.defer(() => app.close());
  // Ends the agent side before its server, whose requests may wait for pings.
  if (agentSide) starting.defer(() => agentSide.stop());
  await app.listen({ host, port: options.port ?? 0, backlog: BACKLOG });
  const { port: bound } = app.server.address() as AddressInfo;
  const agentUrl = `${tls ? 'https' : 'http'}://${toldHost(host)}:${bound}`;
  const url = `${agentUrl}${BASE_PATH}`;
  const info = { url, agent_url: agentUrl, ...defined({ mqtt: agentSide?.mqttUrl }), dialect };
  let server: PlatformControlServer | undefined;
  let uiUrl: string | undefined;
  const controlToken = asked && (asked.token ?? newControlToken());
  if (plans) {
    const control = starting.use(new PlatformControl(core, renderer, plans));
    if (asked && controlToken !== undefined) {
      server = starting.use(await serveControl(control, core, info, { port: asked.port, token: controlToken }));
    }
    if (ui && exchanges) {
      const { PlatformConsole } = await import('./console/platform-console.ts');
      const page = starting.use(new PlatformConsole(core, control, exchanges));
      uiUrl = await page.serve({ ...info, ...defined({ control: server?.url }) }, ui.port);
    }
  }
  const running = starting.move();
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= running.disposeAsync();
    return stopping;
  };
  return {
    ...{ url, agentUrl, mqttUrl: agentSide?.mqttUrl, controlUrl: server?.url, controlToken, uiUrl, port, stop },
    apiKey: keys[0]?.key ?? '',
    archiveDevice: (id) => void archiveDevice(core, id),
    assignGroup: (deviceId, groupId) => void assignGroup(core, deviceId, groupId),
    [Symbol.asyncDispose]: stop,
  };
}

/** Takes all devices offline, and seeds an empty database, where nothing can conflict. */
function seedEmpty(core: Core, { devices, seedFile }: PlatformOptions, seed: string): void {
  disconnectAll(core);
  if (devices) seedWorkspace(core, { devices, seed });
  const isEmpty = Object.values(core.store.collections).every(({ size }) => size === 0);
  if (seedFile !== undefined && isEmpty) applySeed(core, readSeed(seedFile));
}

function agentSideOf(port: AgentPort, options: PlatformOptions): Promise<AgentSide> {
  const { mqtt, host, dialect = 'spec', clock = systemClock, tls, minKeyBits, log } = options;
  const broker = mqtt && 'url' in mqtt ? mqtt : { ...mqtt, ...defined({ host }) };
  return createAgentSide(port, { dialect, clock, mqtt: broker, tls, minKeyBits, log });
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
