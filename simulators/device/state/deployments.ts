/**
 * The deployments of one robot: target × activity × error (specification section 2.2), the files that belong to the active
 * one, and the events that tell of it. Changes happen one at a time, and in this order: files in place, state on disk, events
 * in the log. A crash between two of them is made good at the next start.
 */
import { mkdirSync } from 'node:fs';
import type { AgentDeployment, AgentGitCommit, AgentRelease } from '../../../harness/contract/agent.ts';
import type { ControlDeployment } from '../../../harness/contract/control.ts';
import type { Deployment } from '../../../harness/contract/deployment.ts';
import type { DeploymentTargetStatus } from '../../../harness/contract/enums.ts';
import { type Clock, timestamp } from '../../common/clock.ts';
import type { Random } from '../../common/random.ts';
import type { DeviceBehaviour } from '../behaviour.ts';
import type { EventLog } from '../log/event-log.ts';
import type { DiskIo } from '../log/io.ts';
import { type ConfigFile, DeployError, type DeploymentPort } from '../ports.ts';
import type { ConfigFiles } from './config-files.ts';
import { deployedEvent, deploymentOf, removedEvent } from './payloads.ts';
import { type DeploymentRecord, type StoredState, writeState } from './stored-state.ts';

export interface DeploymentsOptions {
  directory: string;
  deviceId: string;
  durable: boolean;
  io: DiskIo;
  clock: Clock;
  random: () => Random;
  log: EventLog;
  files: ConfigFiles;
  behaviour: DeviceBehaviour;
}

const TARGET_OF: Record<DeploymentRecord['activity_status'], DeploymentTargetStatus> = {
  drifted: 'staged',
  staged: 'staged',
  queued: 'deployed',
  deployed: 'deployed',
  removing: 'archived',
  archived: 'archived',
};

/** No deployment of that id is known here. */
export class UnknownDeploymentError extends Error {
  override name = 'UnknownDeploymentError';
}

export class Deployments implements DeploymentPort {
  readonly #options: DeploymentsOptions;
  #state: StoredState;
  #turn: Promise<unknown> = Promise.resolve();

  /** Reads the state in the robot's directory; `settle` makes good what a crash interrupted. */
  constructor(options: DeploymentsOptions, state: StoredState) {
    this.#options = options;
    this.#state = state;
  }

  /** Finishes, or undoes, what was under way when the robot went down. */
  settle(): Promise<void> {
    return this.#exclusively(async () => {
      const { files } = this.#options;
      const { set } = this.#state;
      if (set !== undefined && files.current !== set && files.has(set)) await files.swap(set);
      files.prune();
      await this.#publishPending();
    });
  }

  active(): Deployment[] {
    return this.#active().map((record) => this.#view(record));
  }

  get(id: string): Deployment | undefined {
    const record = this.#state.records.find((known) => known.id === id);
    return record && this.#view(record);
  }

  current(): Deployment | undefined {
    const { current } = this.#state;
    const shown = current === undefined ? undefined : this.get(current);
    return shown ?? this.active().at(-1);
  }

  deploy(wanted: AgentDeployment, files: ConfigFile[]): Promise<{ deployment: Deployment; replaced: Deployment[] }> {
    return this.#exclusively(async () => {
      const known = this.#state.records.find(({ id }) => id === wanted.id);
      if (known?.activity_status === 'archived') {
        throw new DeployError(`deployment ${wanted.id} is archived; a deployment is used once`, false);
      }
      const record = known ?? recordOf(wanted);
      if (known?.activity_status === 'deployed') {
        await this.#publishOrExplain();
        return { deployment: this.#view(known), replaced: [] };
      }
      return this.#enter({ ...record, target_status: 'deployed', error_status: 'none' }, files);
    });
  }

  remove(id: string): Promise<Deployment> {
    return this.#exclusively(async () => {
      const record = this.#record(id);
      if (record.activity_status !== 'archived') {
        await this.#archive(record, true);
        await this.#publishOrExplain();
      }
      return this.#view(record);
    });
  }

  fail(wanted: AgentDeployment, error: 'retrying' | 'failed'): Promise<Deployment> {
    return this.#exclusively(async () => {
      let record = this.#state.records.find(({ id }) => id === wanted.id);
      if (!record) {
        record = recordOf(wanted);
        this.#state.records.push(record);
      }
      record.error_status = error;
      if (error === 'failed' && record.activity_status !== 'archived') await this.#archive(record, false);
      else await this.#save();
      await this.#publishOrExplain();
      return this.#view(record);
    });
  }

  /** Puts a new deployment into the state asked for, as current. Throws DeployError as `deploy` does. */
  drive(wanted: ControlDeployment): Promise<Deployment> {
    return this.#exclusively(async () => {
      const { clock, random, deviceId } = this.#options;
      const activity = wanted.activity_status ?? 'deployed';
      const source = random();
      const record: DeploymentRecord = {
        id: `dpl_${source.text(12)}`,
        description: wanted.description ?? 'Driven by the control API',
        activity_status: activity,
        error_status: wanted.error_status ?? 'none',
        target_status: wanted.target_status ?? TARGET_OF[activity],
        device_id: deviceId,
        release_id: wanted.release_id ?? `rls_${source.text(12)}`,
        created_at: timestamp(clock),
      };
      const files = (wanted.config_instances ?? []).map(({ filepath, content }) => ({
        filepath,
        content: Buffer.from(content),
      }));
      if (activity === 'deployed') return (await this.#enter(record, files)).deployment;
      if (activity === 'archived') record.archived_at = timestamp(clock);
      this.#state.records.push(record);
      this.#state.current = record.id;
      await this.#save();
      return this.#view(record);
    });
  }

  remember(release: AgentRelease): void {
    this.#state.releases = [...this.#state.releases.filter(({ id }) => id !== release.id), release];
  }

  release(id: string): AgentRelease | undefined {
    return this.#state.releases.find((release) => release.id === id);
  }

  gitCommit(id: string): AgentGitCommit | undefined {
    return this.#state.releases.find(({ git_commit }) => git_commit?.id === id)?.git_commit ?? undefined;
  }

  /** Resolves when the change under way, if any, is over. */
  async idle(): Promise<void> {
    await this.#turn;
  }

  async #enter(record: DeploymentRecord, files: readonly ConfigFile[]) {
    const { clock, files: disk, log } = this.#options;
    const set = await disk.stage(files);
    await disk.swap(set);
    const now = timestamp(clock);
    const replaced = this.#active().filter(({ id }) => id !== record.id);
    for (const old of replaced) markArchived(old, now);
    Object.assign(record, { activity_status: 'deployed', deployed_at: now });
    const state = this.#state;
    state.records = [...state.records.filter(({ id }) => id !== record.id), record];
    state.current = record.id;
    state.set = set;
    const events = [
      ...replaced.map((old) => removedEvent(this.#view(old), now)),
      deployedEvent(this.#view(record), now),
    ];
    state.unpublished = { after: log.latest, events: [...(state.unpublished?.events ?? []), ...events] };
    await this.#save();
    disk.prune();
    await this.#publishOrExplain();
    return { deployment: this.#view(record), replaced: replaced.map((old) => this.#view(old)) };
  }

  /** Takes the files away when they are this deployment's, archives, and leaves the event (`tell`: in any case) to be published. */
  async #archive(record: DeploymentRecord, tell: boolean): Promise<void> {
    const { clock, files, log } = this.#options;
    const state = this.#state;
    const wasActive = this.#active().includes(record);
    if (wasActive) {
      state.set = await files.stage([]);
      await files.swap(state.set);
    }
    const now = timestamp(clock);
    markArchived(record, now);
    if (state.current === record.id && record.error_status !== 'failed') state.current = undefined;
    const pending = state.unpublished?.events ?? [];
    if (wasActive || tell) {
      state.unpublished = { after: log.latest, events: [...pending, removedEvent(this.#view(record), now)] };
    }
    await this.#save();
    if (wasActive) files.prune();
  }

  async #publishOrExplain(): Promise<void> {
    try {
      await this.#publishPending();
    } catch (error) {
      throw new DeployError(error instanceof Error ? error.message : String(error), true, { cause: error });
    }
  }

  async #publishPending(): Promise<void> {
    const pending = this.#state.unpublished;
    if (!pending) return;
    await this.#options.log.append(pending.events);
    this.#state.unpublished = undefined;
  }

  #active(): DeploymentRecord[] {
    return this.#state.records.filter(({ deployed_at, archived_at, activity_status }) => {
      return deployed_at !== undefined && archived_at === undefined && activity_status !== 'archived';
    });
  }

  #record(id: string): DeploymentRecord {
    const record = this.#state.records.find((known) => known.id === id);
    if (!record) throw new UnknownDeploymentError(`this robot knows no deployment ${JSON.stringify(id)}`);
    return record;
  }

  #view(record: DeploymentRecord): Deployment {
    return deploymentOf(record, this.#options.behaviour.deployments);
  }

  async #save(): Promise<void> {
    const { io, directory, durable } = this.#options;
    mkdirSync(directory, { recursive: true });
    await writeState(io, directory, this.#state, durable);
  }

  #exclusively<T>(change: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(change);
    this.#turn = result.catch(() => undefined);
    return result;
  }
}

function markArchived(record: DeploymentRecord, now: string): void {
  record.activity_status = 'archived';
  record.target_status = 'archived';
  record.archived_at = now;
}

function recordOf(wanted: AgentDeployment): DeploymentRecord {
  const { id, description, activity_status, error_status, target_status, device_id, release_id, created_at } = wanted;
  return { id, description, activity_status, error_status, target_status, device_id, release_id, created_at };
}
