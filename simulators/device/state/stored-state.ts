/** What a robot remembers: records of its deployments, in one small JSON file that is replaced as a whole. */
import { readFileSync } from 'node:fs';
import type { AgentDeployment, AgentRelease } from '../../../harness/contract/agent.ts';
import type { ControlDeployment } from '../../../harness/contract/control.ts';
import type {
  DeploymentActivityStatus,
  DeploymentErrorStatus,
  DeploymentTargetStatus,
} from '../../../harness/contract/enums.ts';
import { type DiskIo, ifPresent, replaceFile } from '../log/io.ts';
import type { EventDraft } from '../log/line.ts';

export interface DeploymentRecord {
  id: string;
  description: string;
  activity_status: DeploymentActivityStatus;
  error_status: DeploymentErrorStatus;
  target_status: DeploymentTargetStatus;
  device_id: string;
  release_id: string;
  created_at: string;
  deployed_at?: string;
  archived_at?: string;
}

export interface StoredState {
  /** Id of the deployment that is shown as current. */
  current: string | undefined;
  /** The set of config files that belongs to this state. */
  set: string | undefined;
  /** Oldest first. */
  records: DeploymentRecord[];
  /** Newest last. */
  releases: AgentRelease[];
  /** Events of this state that were not in the log yet when it was saved; `after` is the newest id of that time. */
  unpublished: { after: number; events: EventDraft[] } | undefined;
}

export const STATE_FILE = 'state.json';

/** Archived deployments, and releases, that are remembered. */
const REMEMBERED = 64;

/** The state of a new robot. */
export const emptyState = (): StoredState => ({
  current: undefined,
  set: undefined,
  records: [],
  releases: [],
  unpublished: undefined,
});

/** The state in `directory`; undefined when there is none. Throws when the file cannot be read. */
export function readState(directory: string): StoredState | undefined {
  const path = `${directory}/${STATE_FILE}`;
  const text = ifPresent(path, () => readFileSync(path, 'utf8'));
  if (text === undefined) return undefined;
  try {
    return { ...emptyState(), ...(JSON.parse(text) as Partial<StoredState>) };
  } catch (error) {
    throw new Error(`${path} is not the state of a robot; remove it to start without deployments`, { cause: error });
  }
}

/** Replaces the file in one step. Drops from `state` the oldest archived deployments and releases. */
export async function writeState(io: DiskIo, directory: string, state: StoredState, durable: boolean): Promise<void> {
  const done = state.records.filter(({ activity_status }) => activity_status === 'archived');
  const forgotten = new Set(
    done.slice(0, Math.max(0, done.length - REMEMBERED)).filter(({ id }) => id !== state.current),
  );
  if (forgotten.size > 0) state.records = state.records.filter((record) => !forgotten.has(record));
  state.releases.splice(0, Math.max(0, state.releases.length - REMEMBERED));
  await replaceFile(io, directory, STATE_FILE, `${JSON.stringify(state)}\n`, durable);
}

/** The target status of each activity, when none is asked for. */
const TARGET_OF: Record<DeploymentRecord['activity_status'], DeploymentTargetStatus> = {
  drifted: 'staged',
  staged: 'staged',
  queued: 'deployed',
  deployed: 'deployed',
  removing: 'archived',
  archived: 'archived',
};

/** The record of a deployment that the platform sent. */
export function recordFrom(wanted: AgentDeployment): DeploymentRecord {
  const { id, description, activity_status, error_status, target_status, device_id, release_id, created_at } = wanted;
  return { id, description, activity_status, error_status, target_status, device_id, release_id, created_at };
}

/** The record of a deployment that the control API asks for. */
export function recordOf(
  wanted: ControlDeployment,
  ids: { id: string; release: string; device: string },
  now: string,
): DeploymentRecord {
  const activity = wanted.activity_status ?? 'deployed';
  return {
    id: ids.id,
    description: wanted.description ?? 'Driven by the control API',
    activity_status: activity,
    error_status: wanted.error_status ?? 'none',
    target_status: wanted.target_status ?? TARGET_OF[activity],
    device_id: ids.device,
    release_id: wanted.release_id ?? ids.release,
    created_at: now,
    ...(activity === 'archived' ? { archived_at: now } : {}),
  };
}

/** Whether its config files are on the device. */
export const isActive = ({ deployed_at, archived_at }: DeploymentRecord): boolean => {
  return deployed_at !== undefined && archived_at === undefined;
};

/** Ends a deployment: archived at that time. */
export function markArchived(record: DeploymentRecord, now: string): void {
  record.activity_status = 'archived';
  record.target_status = 'archived';
  record.archived_at = now;
}
