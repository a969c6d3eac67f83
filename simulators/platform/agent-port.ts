/** The store as the agent side sees it. */
import type { AgentConfigInstance } from '../../harness/contract/agent.ts';
import type { StrictDeployment, StrictGitCommit, StrictRelease } from '../../harness/contract/agent-strict.ts';
import { timestamp } from '../common/clock.ts';
import type { Core } from './core.ts';
import { contentOf } from './domain/config-instances.ts';
import { applyReport } from './domain/deployments.ts';
import { find } from './domain/find.ts';
import { provision, reprovision } from './domain/provisioning.ts';
import { VIEWS } from './domain/views.ts';
import { type AgentDeviceRecord, type AgentPort, PlatformError } from './ports.ts';
import type { DeploymentRow, DeviceRow, ReleaseRow } from './store/rows.ts';

/** Gives the agent side access to the store of `core`. */
export function agentPort(core: Core): AgentPort {
  const { collections } = core.store;
  const deploymentOf = (deviceId: string, id: string): DeploymentRow => {
    const row = find(core, 'deployment', id);
    // A device must not learn which deployments of other devices exist.
    if (row.device_id !== deviceId) find(core, 'deployment', '');
    return row;
  };
  return {
    provision: (token, { name, ...credentials }) => record(provision(core, token, name, credentials)),
    reprovision: (token, credentials) => record(reprovision(core, token, credentials)),
    deviceByFingerprint: (fingerprint) => maybeRecord(collections.device.first({ key_fingerprint: fingerprint })),
    deviceById: (id) => maybeRecord(collections.device.byId(id)),
    updateDevice: (id, { agent_version }) => {
      const row = find(core, 'device', id);
      if (agent_version === undefined || agent_version === row.agent_version) return record(row);
      return record(collections.device.update(row, { agent_version, updated_at: timestamp(core.clock) }));
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
      // A device asks for what was deployed to it last.
      const uses = collections.deployment.newest('device_id = ?', [deviceId]);
      if (!uses.some((each) => (JSON.parse(each.config_instance_ids) as string[]).includes(id))) {
        throw new PlatformError(403, 'not_for_this_device', 'no deployment of this device has that config instance');
      }
      return { format: row.content_format, data: contentOf(core, id) };
    },
    release: (id) => agentRelease(core, find(core, 'release', id), false),
    gitCommit: (id) => agentGitCommit(core, id),
  };
}

/** What an agent keeps as archived is most of a device's deployments after a while, and hardly ever asked for. */
const NOT_ARCHIVED = `device_id = ? AND (activity_status <> 'archived' OR coalesce(agent_activity, 'archived') <> 'archived')`;

function listedTo({ store }: Core, deviceId: string, activity: readonly string[]): DeploymentRow[] {
  const { deployment } = store.collections;
  if (activity.length === 0) return deployment.where({ device_id: deviceId });
  const rows = activity.includes('archived')
    ? deployment.where({ device_id: deviceId })
    : [...deployment.newest(NOT_ARCHIVED, [deviceId])].reverse();
  return rows.filter((row) => activity.includes(lastReported(row)));
}

/** Online and offline follow the broker's connections. */
function setConnected(core: Core, id: string, connected: boolean): void {
  const row = core.store.collections.device.byId(id);
  if (row === undefined || row.status === 'archived' || row.status === 'inactive') return;
  // An agent takes the place of its stand-in.
  core.standIns.delete(id);
  const now = timestamp(core.clock);
  core.store.write(() =>
    core.store.collections.device.update(
      row,
      connected
        ? { status: 'online', last_connected_at: now, updated_at: now }
        : { status: 'offline', last_disconnected_at: now, updated_at: now },
    ),
  );
}

function record(row: DeviceRow): AgentDeviceRecord {
  const { id, name, status, agent_version, public_key_pem, last_connected_at, last_disconnected_at } = row;
  return {
    id,
    name,
    status,
    session_id: row.session_id ?? '',
    agent_version,
    public_key_pem,
    last_connected_at,
    last_disconnected_at,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

const maybeRecord = (row: DeviceRow | undefined) => (row === undefined ? undefined : record(row));

function agentDeployment(core: Core, row: DeploymentRow, expand: readonly string[]): StrictDeployment {
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

function agentRelease(core: Core, row: ReleaseRow, withCommit: boolean): StrictRelease {
  const shown = VIEWS.release(core, row);
  if (!withCommit) return shown;
  return { ...shown, git_commit: row.git_commit_id === null ? null : agentGitCommit(core, row.git_commit_id) };
}

const agentGitCommit = (core: Core, id: string): StrictGitCommit =>
  VIEWS.git_commit(core, find(core, 'git_commit', id));

/** The agent knows of targets from now on, and has to hear what becomes of them. */
function tell({ store }: Core, rows: readonly DeploymentRow[]): readonly DeploymentRow[] {
  const isNews = (row: DeploymentRow) => row.target_status === 'deployed' && row.agent_activity === null;
  if (!rows.some(isNews)) return rows;
  const { deployment } = store.collections;
  return store.write(() =>
    rows.map((row) => (isNews(row) ? deployment.update(row, { agent_activity: row.activity_status }) : row)),
  );
}

/**
 * What the platform has archived by itself (replaced while it was queued, say) is shown to an agent that knows it as the agent
 * knows it, with the target `archived`: an agent that is not told keeps it as a target beside the new one.
 */
function activityForAgent({ activity_status, agent_activity }: DeploymentRow): DeploymentRow['activity_status'] {
  return activity_status === 'archived' && agent_activity !== null ? agent_activity : activity_status;
}

/**
 * An agent that stopped after removing a deployment, and before reporting it, must be able to report it later. So a deployment that
 * is being removed is listed to its agent as deployed.
 */
function lastReported(row: DeploymentRow): DeploymentRow['activity_status'] {
  const activity = activityForAgent(row);
  return activity === 'removing' ? 'deployed' : activity;
}
