/** Muster's simulated platform: all published versions of the Platform API, an API for agents, and state in SQLite. */

import { randomBytes, randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { defined } from '../../harness/common/defined.ts';
import '../../harness/common/node22.ts';
import type { AgentDeployment, AgentRelease } from '../../harness/contract/agent.ts';
import { type Dialect, NAMES_BY_DIALECT } from '../../harness/contract/versions.ts';
import { type Clock, systemClock } from '../common/clock.ts';
import { newControlToken } from '../common/control-guard.ts';
import { BACKLOG, LOOPBACK, reachableHost } from './address.ts';
import { createAgentSide } from './agent/index.ts';
import type { PlatformBehaviour } from './behaviour.ts';
import type { Exchanges } from './console/exchanges.ts';
import { PlatformControl, serveControl } from './control/control.ts';
import { Plans } from './control/plans.ts';
import { type Core, idsFrom } from './core.ts';
import { contentOf } from './domain/configs.ts';
import { applyReport } from './domain/deployments.ts';
import { archiveDevice, assignGroup, disconnectAll, markConnected } from './domain/devices.ts';
import { change, findRow } from './domain/find.ts';
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
  const deploymentOf = (deviceId: string, id: string): DeploymentRow =>
    findRow(core, 'deployment', id, (row) => row.device_id === deviceId);
  return {
    provision: (token, { name, ...credentials }) => provision(core, token, name, credentials),
    reprovision: (token, credentials) => reprovision(core, token, credentials),
    deviceByFingerprint: (fingerprint) => collections.device.first({ key_fingerprint: fingerprint }),
    deviceById: (id) => collections.device.byId(id),
    updateDevice: (id, { agent_version }) => {
      const row = findRow(core, 'device', id);
      if (agent_version === undefined || agent_version === row.agent_version) return row;
      return change(core, 'device', row, { agent_version });
    },
    // An agent that connects or disconnects replaces the stand-in, which answers pings without an agent.
    setConnected: (id, connected) => {
      const row = collections.device.byId(id);
      if (row === undefined || row.status === 'archived' || row.status === 'inactive') return;
      core.standIns.delete(id);
      markConnected(core, row, connected);
    },
    deployments: (deviceId, { activity, limit, offset, expand }) => {
      const { deployment } = collections;
      const isWhole = activity.length === 0 || activity.includes('archived');
      const rows = isWhole ? deployment.where({ device_id: deviceId }) : deployment.select(NOT_ARCHIVED, [deviceId]);
      const listed = rows.filter((row) => {
        const known = activityForAgent(row);
        // Counts `removing` as `deployed`, so that an agent that stopped during a removal finds the deployment again.
        return activity.length === 0 || activity.includes(known === 'removing' ? 'deployed' : known);
      });
      const told = tell(core, listed.slice(offset, offset + limit));
      return { items: told.map((row) => agentDeployment(core, row, expand)), total: listed.length };
    },
    deployment: (deviceId, id, expand) => {
      const told = tell(core, [deploymentOf(deviceId, id)]);
      return agentDeployment(core, told[0] as DeploymentRow, expand);
    },
    report: (deviceId, id, report) => agentDeployment(core, applyReport(core, deploymentOf(deviceId, id), report), []),
    content: (deviceId, id) => {
      const row = findRow(core, 'config_instance', id);
      const isUsed = core.store
        .prepare('SELECT 1 FROM deployments, json_each(config_instance_ids) WHERE device_id = ? AND value = ? LIMIT 1')
        .get(deviceId, id);
      if (isUsed === undefined)
        throw new PlatformError(403, 'not_for_this_device', 'no deployment of this device has that config instance');
      return { format: row.content_format, data: contentOf(core, id) };
    },
    release: (id) => agentRelease(core, findRow(core, 'release', id), false),
    gitCommit: (id) => VIEWS.git_commit(core, findRow(core, 'git_commit', id)),
  };
}

/** Excludes archived deployments in SQL, because most are archived; includes a deployment that the agent still has. */
const NOT_ARCHIVED =
  "device_id = ? AND (activity_status <> 'archived' OR coalesce(agent_activity, 'archived') <> 'archived')";

function agentDeployment(core: Core, row: DeploymentRow, expand: readonly string[]): AgentDeployment {
  const known = { ...row, activity_status: activityForAgent(row) };
  const { parent_id, queued_at, deployed_at, archived_at, ...shown } = VIEWS.deployment(core, known);
  const withRelease = expand.some((name) => name === 'release' || name.startsWith('release.'));
  return {
    ...shown,
    ...(withRelease && {
      release: agentRelease(core, findRow(core, 'release', row.release_id), expand.includes('release.git_commit')),
    }),
    ...(expand.includes('config_instances') && {
      config_instances: (JSON.parse(row.config_instance_ids) as string[]).map((id) => {
        const { slot_key, ...instance } = VIEWS.config_instance(core, findRow(core, 'config_instance', id));
        return instance;
      }),
    }),
  };
}

function agentRelease(core: Core, row: ReleaseRow, withCommit: boolean): AgentRelease {
  const shown = VIEWS.release(core, row);
  if (!withCommit) return shown;
  const { git_commit_id: id } = row;
  return { ...shown, git_commit: id === null ? null : VIEWS.git_commit(core, findRow(core, 'git_commit', id)) };
}

/** Records deployments as known to the agent, which must learn later when they end. */
function tell({ store }: Core, rows: readonly DeploymentRow[]): readonly DeploymentRow[] {
  const isNews = (row: DeploymentRow) => row.target_status === 'deployed' && row.agent_activity === null;
  if (!rows.some(isNews)) return rows;
  const { deployment } = store.collections;
  return store.write(() =>
    rows.map((row) => (isNews(row) ? deployment.update(row, { agent_activity: row.activity_status }) : row)),
  );
}

/** An archived deployment keeps the activity that the agent knows, until the agent reports the end. */
const activityForAgent = ({ activity_status, agent_activity }: DeploymentRow): DeploymentRow['activity_status'] =>
  activity_status === 'archived' && agent_activity !== null ? agent_activity : activity_status;

function answering(standIns: ReadonlySet<string>, messenger: DeviceMessenger): DeviceMessenger {
  return {
    ...messenger,
    ping: (id, timeoutNanos) =>
      standIns.has(id)
        ? Promise.resolve({ code: 'success', round_trip_nanos: 1_000_000 })
        : messenger.ping(id, timeoutNanos),
  };
}

export interface PlatformOptions {
  /** Address on which the APIs and the embedded broker listen. Default: loopback. */
  host?: string;
  /** Port of the APIs. Default 0: any free port. */
  port?: number;
  keys?: readonly KeyOption[];
  /** Path of the SQLite file. Default `:memory:`. */
  db?: string;
  /** Number of devices to create in a database without devices. */
  devices?: number;
  /** YAML text of a seed file, which fills an empty database. */
  seedFile?: string;
  /** Seed of ids, of created data, and of faults. Default: random. */
  seed?: number | string;
  /** Embedded MQTT broker (default: on any free port), external MQTT broker, or false for a platform without agents. */
  mqtt?: { port?: number } | { url: string; username?: string; password?: string; ca?: string } | false;
  /** Certificate and key (PEM) for TLS in HTTP and in the embedded broker. Default: no TLS. */
  tls?: { cert: string; key: string };
  /** Set of names of headers and JWT claims. Default `spec`. */
  dialect?: Dialect;
  /** Minimum number of bits in a device's RSA key. Default 2048. */
  minKeyBits?: number;
  /** Decisions of the platform, e.g. a defect of `simulators/defects/platform`. Default: the reference. */
  behaviour?: PlatformBehaviour;
  faults?: PlatformFaults;
  /** Control API on a loopback port; port 0 takes any free port. Default of `token`: a random token. */
  control?: { port: number; token?: string };
  /** Page that shows and controls the platform, on a loopback port; port 0 takes any free port. */
  ui?: { port: number };
  clock?: Clock;
  log?: Logger;
}

export type { PlatformBehaviour } from './behaviour.ts';
export type { KeyOption } from './keys.ts';
export { referenceBehaviour } from './reference.ts';

export interface SimulatedPlatform extends AsyncDisposable {
  /** Base URL of the Platform API, e.g. `http://127.0.0.1:4010/beta`. */
  readonly url: string;
  /** Base URL of the agent API, without `/agent/v1`. */
  readonly agentUrl: string;
  /** URL of the MQTT broker for devices; undefined for a platform without agents (`mqtt: false`). */
  readonly mqttUrl: string | undefined;
  /** First of the given API keys, or a generated key with all scopes. */
  readonly apiKey: string;
  readonly controlUrl: string | undefined;
  /** Bearer token of the control API; undefined without `control`. */
  readonly controlToken: string | undefined;
  /** URL of the page, open to anyone who knows the URL; undefined without `ui`. */
  readonly uiUrl: string | undefined;
  readonly port: AgentPort;
  /** Archives a device, which no published operation can do. Throws PlatformError for an unknown id. */
  archiveDevice(id: string): void;
  assignGroup(deviceId: string, groupId: string | null): void;
  /** Closes all connections and the database. Idempotent. */
  stop(): Promise<void>;
}

/** Resolves when the platform serves. Rejects for invalid options, a taken port, or an unusable database or broker. */
export async function simulatePlatform(options: PlatformOptions = {}): Promise<SimulatedPlatform> {
  const { clock = systemClock, dialect = 'spec', behaviour = referenceBehaviour, host = LOOPBACK, log, tls } = options;
  const { control: asked, ui, faults, mqtt, minKeyBits, keys = [generatedKey()] } = options;
  const ring = new KeyRing(keys);
  const seed = String(options.seed ?? randomUUID());
  const names = NAMES_BY_DIALECT[dialect];
  await using starting = new AsyncDisposableStack();
  const store = starting.adopt(new Store(options.db ?? ':memory:'), (opened) => opened.close());
  const standIns = new Set<string>();
  const messenger = answering(standIns, noMessenger);
  const stored = behaviour.clock?.(clock) ?? clock;
  const core: Core = { store, behaviour, clock: stored, names, standIns, messenger, newId: idsFrom(seed) };
  disconnectAll(core);
  if (options.devices) seedWorkspace(core, { devices: options.devices, seed });
  const isEmpty = Object.values(store.collections).every(({ size }) => size === 0);
  if (options.seedFile !== undefined && isEmpty) applySeed(core, readSeed(options.seedFile));
  const port = agentPort(core);
  const broker = mqtt && 'url' in mqtt ? mqtt : { ...mqtt, host };
  const agentSide =
    mqtt === false ? undefined : await createAgentSide(port, { dialect, clock, mqtt: broker, tls, minKeyBits, log });
  if (agentSide) core.messenger = answering(standIns, agentSide.messenger);
  const renderer = new Renderer(core);
  const plans = asked || ui ? new Plans() : undefined;
  const exchanges = ui && (await exchangesOf(core, ring, keys));
  const registerAgent = agentSide?.register;
  const app = buildServer({ core, renderer, keys: ring, seed, log, tls, plans, exchanges, faults, registerAgent });
  starting.defer(() => app.close());
  // Stops the agent side before the HTTP server, because waiting pings keep HTTP requests open.
  if (agentSide) starting.defer(() => agentSide.stop());
  await app.listen({ host, port: options.port ?? 0, backlog: BACKLOG });
  const { port: bound } = app.server.address() as AddressInfo;
  const agentUrl = `${tls ? 'https' : 'http'}://${reachableHost(host)}:${bound}`;
  const url = `${agentUrl}${BASE_PATH}`;
  const info = { url, agent_url: agentUrl, ...defined({ mqtt: agentSide?.mqttUrl }), dialect };
  const control = plans && starting.use(new PlatformControl(core, renderer, plans));
  const controlToken = asked && (asked.token ?? newControlToken());
  const server =
    control && asked && controlToken !== undefined
      ? starting.use(await serveControl(control, core, info, { port: asked.port, token: controlToken }))
      : undefined;
  let uiUrl: string | undefined;
  if (ui && control && exchanges) {
    const { PlatformConsole } = await import('./console/platform-console.ts');
    const page = starting.use(new PlatformConsole(core, control, exchanges));
    uiUrl = await page.serve({ ...info, ...defined({ control: server?.url }) }, ui.port);
  }
  const running = starting.move();
  let stopping: Promise<void> | undefined;
  const stop = () => (stopping ??= running.disposeAsync());
  return {
    url,
    agentUrl,
    mqttUrl: agentSide?.mqttUrl,
    controlUrl: server?.url,
    controlToken,
    uiUrl,
    port,
    stop,
    apiKey: keys[0]?.key ?? '',
    archiveDevice: (id) => void archiveDevice(core, id),
    assignGroup: (deviceId, groupId) => void assignGroup(core, deviceId, groupId),
    [Symbol.asyncDispose]: stop,
  };
}

async function exchangesOf({ names }: Core, ring: KeyRing, keys: readonly KeyOption[]): Promise<Exchanges> {
  const { Exchanges } = await import('./console/exchanges.ts');
  const secrets = keys.map(({ key }) => key);
  return new Exchanges({ ring, secrets, versionHeader: names.versionHeader, basePath: BASE_PATH });
}

function generatedKey(): KeyOption {
  return { key: `key_${randomBytes(24).toString('base64url')}`, name: 'Generated key', scopes: 'all' };
}
