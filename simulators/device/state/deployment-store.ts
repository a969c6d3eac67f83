/** Stores deployments, releases and unpublished events, so that an agent can publish the events after a crash. */

import { readFileSync } from 'node:fs';
import type { AgentDeployment, AgentGitCommit, AgentRelease } from '../../../harness/contract/agent.ts';
import type { ControlDeployment } from '../../../harness/contract/control.ts';
import type { DeployedPayload, Deployment, RemovedPayload } from '../../../harness/contract/device-api.ts';
import type { DeploymentTargetStatus } from '../../../harness/contract/enums.ts';
import { type Clock, timestamp } from '../../common/clock.ts';
import type { DeploymentBehaviour, DeploymentChange } from '../behaviour.ts';
import type { EventLog } from '../log/event-log.ts';
import { type DiskIo, ifPresent, replaceFile } from '../log/io.ts';
import type { EventDraft } from '../log/line.ts';
import type { Incarnation } from '../log/log-file.ts';
import { storedAfter } from '../stream/reader.ts';

function deploymentOf(record: DeploymentRecord, { mergeStatus }: DeploymentBehaviour): Deployment {
  const { id, description, activity_status, error_status, target_status, device_id, release_id, created_at } = record;
  const status = mergeStatus(activity_status, error_status);
  const statuses = { status, activity_status, error_status, target_status };
  return { object: 'deployment', id, description, ...statuses, device_id, release_id, created_at };
}

function common({ id, release_id, status, activity_status, error_status, target_status }: Deployment) {
  return { deployment_id: id, release_id, status, activity_status, error_status, target_status };
}

export const deployedEvent = (deployment: Deployment, deployed_at: string): EventDraft => ({
  type: 'deployment.deployed',
  data: { ...common(deployment), deployed_at } satisfies DeployedPayload,
});

export const removedEvent = (deployment: Deployment, archived_at: string): EventDraft => ({
  type: 'deployment.removed',
  data: { ...common(deployment), archived_at } satisfies RemovedPayload,
});

/** Removes fields that a platform sends and the Device API does not show. */
function releaseOf({ object, id, version, git_commit_id, created_at, git_commit }: AgentRelease): AgentRelease {
  const release = { object, id, version, git_commit_id, created_at };
  if (git_commit == null) return release;
  const { object: kind, id: commit, sha, message, commit_url } = git_commit;
  const known = { object: kind, id: commit, sha, message, commit_url, created_at: git_commit.created_at };
  return { ...release, git_commit: known };
}

/** Creates events of invented deployments, each deployed and then removed, for tests and load. */
export function fillerEvents(latest: number, count: number, clock: Clock): EventDraft[] {
  const now = timestamp(clock);
  return Array.from({ length: count }, (_, at) => {
    const pair = latest + at - (at % 2);
    const removed = at % 2 === 1;
    const activity = removed ? 'archived' : 'deployed';
    const statuses = {
      status: activity,
      activity_status: activity,
      error_status: 'none',
      target_status: activity,
    } as const;
    const ids = { id: `dpl_filler${pair}`, device_id: '', release_id: `rls_filler${pair}` };
    const deployment = { object: 'deployment' as const, ...ids, description: '', ...statuses, created_at: now };
    return removed ? removedEvent(deployment, now) : deployedEvent(deployment, now);
  });
}

export type DeploymentRecord = Omit<Deployment, 'object' | 'status'> & { deployed_at?: string; archived_at?: string };

export interface StoredState {
  current: string | undefined;
  set: string | undefined;
  /** Known deployments, oldest first. */
  records: DeploymentRecord[];
  /** Known releases, newest last. */
  releases: AgentRelease[];
  /** Events that the log may lack after a crash. `after`: newest id in the log before the events. */
  unpublished: { after: number; events: EventDraft[] } | undefined;
}

const STATE_FILE = 'state.json';

const REMEMBERED = 64;

const emptyState = (): StoredState => {
  return { current: undefined, set: undefined, records: [], releases: [], unpublished: undefined };
};

/** Reads the stored state, undefined without a file. Throws for an unreadable file. */
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

/** Saves the state without the oldest archived deployments and releases, so that the file stays small. */
async function writeState(io: DiskIo, directory: string, state: StoredState, durable: boolean): Promise<void> {
  const done = state.records.filter(({ activity_status }) => activity_status === 'archived');
  const forgotten = new Set(
    done.slice(0, Math.max(0, done.length - REMEMBERED)).filter(({ id }) => id !== state.current),
  );
  if (forgotten.size > 0) state.records = state.records.filter((record) => !forgotten.has(record));
  state.releases.splice(0, Math.max(0, state.releases.length - REMEMBERED));
  await replaceFile(io, directory, STATE_FILE, `${JSON.stringify(state)}\n`, durable);
}

const TARGET_OF: Record<DeploymentRecord['activity_status'], DeploymentTargetStatus> = {
  drifted: 'staged',
  staged: 'staged',
  queued: 'deployed',
  deployed: 'deployed',
  removing: 'archived',
  archived: 'archived',
};

export function recordFrom(wanted: AgentDeployment): DeploymentRecord {
  const { id, description, activity_status, error_status, target_status, device_id, release_id, created_at } = wanted;
  return { id, description, activity_status, error_status, target_status, device_id, release_id, created_at };
}

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

export const isActive = ({ deployed_at, archived_at }: DeploymentRecord): boolean => {
  return deployed_at !== undefined && archived_at === undefined;
};

export function markArchived(record: DeploymentRecord, now: string): void {
  record.activity_status = 'archived';
  record.target_status = 'archived';
  record.archived_at = now;
}

export class DeploymentBook {
  readonly #options: Incarnation & { log: EventLog };
  readonly state: StoredState;
  #unsaved = false;

  constructor(options: Incarnation & { log: EventLog }, state: StoredState | undefined) {
    this.#options = options;
    this.state = state ?? emptyState();
  }

  get active(): DeploymentRecord[] {
    return this.state.records.filter(isActive);
  }

  find(id: string): DeploymentRecord | undefined {
    return this.state.records.find((record) => record.id === id);
  }

  view(record: DeploymentRecord): Deployment {
    return deploymentOf(record, this.#options.behaviour.deployments);
  }

  show(record: DeploymentRecord): void {
    this.state.records = [...this.state.records.filter(({ id }) => id !== record.id), record];
    this.state.current = record.id;
  }

  remember(release: AgentRelease): void {
    this.state.releases = [...this.state.releases.filter(({ id }) => id !== release.id), releaseOf(release)];
  }

  release(id: string): AgentRelease | undefined {
    const found = this.state.releases.find((release) => release.id === id);
    if (found === undefined) return undefined;
    const { git_commit: _separate, ...release } = found;
    return release;
  }

  gitCommit(id: string): AgentGitCommit | undefined {
    return this.state.releases.find(({ git_commit }) => git_commit?.id === id)?.git_commit ?? undefined;
  }

  announce(due: readonly EventDraft[], change: DeploymentChange): void {
    const events = this.#options.behaviour.deployments.announce(due, change);
    if (events.length === 0) return;
    const before = this.state.unpublished ?? { after: this.#options.log.latest, events: [] };
    this.state.unpublished = { after: before.after, events: [...before.events, ...events] };
  }

  async save(): Promise<void> {
    const { io, directory, durable } = this.#options;
    this.#unsaved = true;
    await writeState(io, directory, this.state, durable);
    this.#unsaved = false;
  }

  /** Appends unpublished events to the log. After EventLogError, the next call tries the events again. */
  async publish(): Promise<void> {
    const pending = this.state.unpublished;
    if (!pending) return;
    if (this.#unsaved) await this.save();
    await this.#options.log.append(pending.events);
    this.state.unpublished = undefined;
  }

  async publishMissing(): Promise<void> {
    const { unpublished } = this.state;
    if (!unpublished) return;
    const missing = this.#missing(unpublished.after, unpublished.events);
    this.state.unpublished = missing.length > 0 ? { ...unpublished, events: missing } : undefined;
    await this.publish();
  }

  #missing(after: number, events: readonly EventDraft[]): EventDraft[] {
    const { log, io, behaviour } = this.#options;
    const found = new Map<string, number>();
    for (const { type, json } of storedAfter(log, io, Math.max(after, log.earliest - 1))) {
      const name = nameOf(type, (JSON.parse(json) as { data: object }).data);
      found.set(name, (found.get(name) ?? 0) + 1);
    }
    return events.filter((event) => {
      // Applies the behaviour's change to the event, because the log contains the changed event.
      const { type, data } = behaviour.deployments.event(event);
      const left = found.get(nameOf(type, data)) ?? 0;
      found.set(nameOf(type, data), left - 1);
      return left <= 0;
    });
  }
}

const nameOf = (type: string, data: object): string =>
  `${type} ${'deployment_id' in data ? String(data.deployment_id) : JSON.stringify(data)}`;
