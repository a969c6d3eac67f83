/** What a robot remembers of its deployments: one small JSON file that is replaced as a whole. */
import { readFileSync } from 'node:fs';
import type { AgentRelease } from '../../../harness/contract/agent.ts';
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
