/** Stores deployments, releases and unpublished events, so that an agent can publish the events after a crash. */

import { readFileSync } from 'node:fs';
import type { AgentDeployment, AgentGitCommit, AgentRelease } from '../../../harness/contract/agent.ts';
import type { DeployedPayload, Deployment, RemovedPayload } from '../../../harness/contract/device-api.ts';
import { type Clock, timestamp } from '../../common/clock.ts';
import type { DeploymentChange } from '../behaviour.ts';
import type { EventLog } from '../log/event-log.ts';
import { ifPresent, replaceFile } from '../log/io.ts';
import type { EventDraft } from '../log/line.ts';
import type { Incarnation } from '../log/log-file.ts';
import { storedAfter } from '../stream/reader.ts';

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

export function fillerEvents(latest: number, count: number, clock: Clock): EventDraft[] {
  const now = timestamp(clock);
  return Array.from({ length: count }, (_, at) => {
    const pair = latest + at - (at % 2);
    const state = at % 2 === 1 ? 'archived' : 'deployed';
    const statuses = { status: state, activity_status: state, error_status: 'none', target_status: state } as const;
    const ids = { id: `dpl_filler${pair}`, device_id: '', release_id: `rls_filler${pair}` };
    const deployment = { object: 'deployment' as const, ...ids, description: '', ...statuses, created_at: now };
    return state === 'archived' ? removedEvent(deployment, now) : deployedEvent(deployment, now);
  });
}

export type DeploymentRecord = Omit<Deployment, 'object' | 'status'> & { deployed_at?: string; archived_at?: string };

export interface StoredState {
  current: string | undefined;
  set: string | undefined;
  /** Oldest first. */
  records: DeploymentRecord[];
  /** Oldest first. */
  releases: AgentRelease[];
  /** Events that the log may lack after a crash. `after`: newest id in the log before the events. */
  unpublished: { after: number; events: EventDraft[] } | undefined;
}

const STATE_FILE = 'state.json';

const REMEMBERED = 64;

const emptyState = (): StoredState => {
  return { current: undefined, set: undefined, records: [], releases: [], unpublished: undefined };
};

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

export function recordFrom(wanted: AgentDeployment): DeploymentRecord {
  const { id, description, activity_status, error_status, target_status, device_id, release_id, created_at } = wanted;
  return { id, description, activity_status, error_status, target_status, device_id, release_id, created_at };
}

export const isActive = ({ deployed_at, archived_at }: DeploymentRecord): boolean =>
  deployed_at !== undefined && archived_at === undefined;

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
    const { id, description, activity_status, error_status, target_status, device_id, release_id, created_at } = record;
    const status = this.#options.behaviour.deployments.mergeStatus(activity_status, error_status);
    const statuses = { status, activity_status, error_status, target_status };
    return { object: 'deployment', id, description, ...statuses, device_id, release_id, created_at };
  }

  show(record: DeploymentRecord): void {
    this.state.records = [...this.state.records.filter(({ id }) => id !== record.id), record];
    this.state.current = record.id;
  }

  /** Stores a release without fields that a platform sends and the Device API does not show. */
  remember({ object, id, version, git_commit_id, created_at, git_commit }: AgentRelease): void {
    let release: AgentRelease = { object, id, version, git_commit_id, created_at };
    if (git_commit != null) {
      const { object: kind, id: commit, sha, message, commit_url } = git_commit;
      const known = { object: kind, id: commit, sha, message, commit_url, created_at: git_commit.created_at };
      release = { ...release, git_commit: known };
    }
    this.state.releases = [...this.state.releases.filter((other) => other.id !== id), release];
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

  /** Stores the state without the oldest archived deployments and releases, so that the file stays small. */
  async save(): Promise<void> {
    const { io, directory, durable } = this.#options;
    const { state } = this;
    const done = state.records.filter(({ activity_status }) => activity_status === 'archived');
    const forgotten = new Set(done.slice(0, -REMEMBERED).filter(({ id }) => id !== state.current));
    if (forgotten.size > 0) state.records = state.records.filter((record) => !forgotten.has(record));
    state.releases.splice(0, Math.max(0, state.releases.length - REMEMBERED));
    this.#unsaved = true;
    await replaceFile(io, directory, STATE_FILE, `${JSON.stringify(state)}\n`, durable);
    this.#unsaved = false;
  }

  /** Appends the unpublished events to the log; after EventLogError, the next call tries them again. */
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
    const { log, io, behaviour } = this.#options;
    // Counts the events as published, because a compaction may have removed them from the log.
    if (log.count > 0 && log.earliest > unpublished.after + behaviour.log.idStep) {
      this.state.unpublished = undefined;
      return;
    }
    const found = new Map<string, number>();
    for (const { type, json } of storedAfter(log, io, Math.max(unpublished.after, log.earliest - 1))) {
      const name = nameOf(type, (JSON.parse(json) as { data: object }).data);
      found.set(name, (found.get(name) ?? 0) + 1);
    }
    const events = unpublished.events.filter((event) => {
      // Looks for the event as changed by the behaviour, because the log contains that form.
      const { type, data } = behaviour.deployments.event(event);
      const left = found.get(nameOf(type, data)) ?? 0;
      found.set(nameOf(type, data), left - 1);
      return left <= 0;
    });
    this.state.unpublished = events.length > 0 ? { ...unpublished, events } : undefined;
    await this.publish();
  }
}

const nameOf = (type: string, data: object): string =>
  `${type} ${'deployment_id' in data ? String(data.deployment_id) : JSON.stringify(data)}`;
