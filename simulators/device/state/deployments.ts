/**
 * The deployments of one robot: target × activity × error (specification section 2.2), the files that belong to the active
 * one, and the events that tell of it. Changes happen one at a time, and in this order: files in place, state on disk, events
 * in the log. A crash between two of them is made good at the next start.
 */
import type { AgentDeployment, AgentGitCommit, AgentRelease } from '../../../harness/contract/agent.ts';
import type { ControlDeployment } from '../../../harness/contract/control.ts';
import type { Deployment } from '../../../harness/contract/deployment.ts';
import { type Clock, timestamp } from '../../common/clock.ts';
import type { DeploymentBehaviour, DeploymentChange } from '../behaviour.ts';
import type { EventLog } from '../log/event-log.ts';
import type { DiskIo } from '../log/io.ts';
import type { EventDraft } from '../log/line.ts';
import { type ConfigFile, DeployError, type DeploymentPort } from '../ports.ts';
import type { ConfigFiles } from './config-files.ts';
import { deployedEvent, deploymentOf, releaseOf, removedEvent } from './payloads.ts';
import { notYetPublished } from './published.ts';
import { isActive, markArchived, recordFrom, recordOf } from './record.ts';
import { Retries } from './retry.ts';
import { type DeploymentRecord, emptyState, type StoredState, writeState } from './stored-state.ts';

export interface DeploymentsOptions {
  directory: string;
  deviceId(): string;
  durable: boolean;
  io: DiskIo;
  clock: Clock;
  /** Text for an id, never the same twice. */
  newId(): string;
  log: EventLog;
  files: ConfigFiles;
  behaviour: DeploymentBehaviour;
  /** First delay of a retry; doubles. */
  retryMs: number;
  /** How long a deployment that was driven to `failed` is seen in the state asked for, before it is archived and removed. */
  failedMs: number;
  onNotice(notice: string, error?: unknown): void;
}

/** No deployment of that id is known here. */
export class UnknownDeploymentError extends Error {
  override name = 'UnknownDeploymentError';
}

export class Deployments implements DeploymentPort {
  readonly #options: DeploymentsOptions;
  readonly #retries: Retries;
  readonly #timers = new Set<NodeJS.Timeout>();
  #state: StoredState;
  /** The last attempt to save failed. */
  #unsaved = false;
  #turn: Promise<unknown> = Promise.resolve();

  /** `state` is what the last incarnation left, undefined on a new robot. */
  constructor(options: DeploymentsOptions, state: StoredState | undefined) {
    this.#options = options;
    this.#retries = new Retries(options.retryMs);
    this.#state = state ?? emptyState();
  }

  /** Finishes, or undoes, what was under way when the robot went down. */
  settle(): Promise<void> {
    return this.#exclusively(async () => {
      const { files, io, log } = this.#options;
      const { set, unpublished } = this.#state;
      await files.restore(set);
      if (unpublished) {
        const missing = notYetPublished(log, io, unpublished.after, unpublished.events);
        this.#state.unpublished = missing.length > 0 ? { ...unpublished, events: missing } : undefined;
        await this.#publishPending();
      }
      for (const record of this.#state.records) await this.#finishFailed(record);
    });
  }

  active(): Deployment[] {
    return this.#active().map((record) => this.#view(record));
  }

  get(id: string): Deployment | undefined {
    const record = this.#find(id);
    return record && this.#view(record);
  }

  /** What `GET /deployments/current` shows: the one put there last, or else what is on the device. */
  current(): Deployment | undefined {
    const { current } = this.#state;
    return (current === undefined ? undefined : this.get(current)) ?? this.active().at(-1);
  }

  deploy(wanted: AgentDeployment, files: ConfigFile[]): Promise<{ deployment: Deployment; replaced: Deployment[] }> {
    return this.#exclusively(async () => {
      const known = this.#find(wanted.id);
      if (known?.activity_status === 'archived') {
        throw new DeployError(`deployment ${wanted.id} is archived; a deployment is used once`, false);
      }
      try {
        if (known && isActive(known)) {
          await this.#publishPending();
          return { deployment: this.#view(known), replaced: [] };
        }
        const record = known ?? recordFrom(wanted);
        return await this.#enter({ ...record, target_status: 'deployed', error_status: 'none' }, files);
      } catch (error) {
        if (error instanceof DeployError) throw error;
        throw new DeployError(error instanceof Error ? error.message : String(error), true, { cause: error });
      }
    });
  }

  remove(id: string): Promise<Deployment> {
    return this.#exclusively(async () => {
      const record = this.#find(id);
      if (!record) throw new UnknownDeploymentError(`this robot knows no deployment ${JSON.stringify(id)}`);
      this.#retries.cancel(id);
      if (record.activity_status !== 'archived') await this.#archive(record, true);
      await this.#publishPending();
      return this.#view(record);
    });
  }

  fail(wanted: AgentDeployment, error: 'retrying' | 'failed'): Promise<Deployment> {
    return this.#exclusively(async () => {
      const known = this.#find(wanted.id);
      const record = known ?? recordFrom(wanted);
      if (!known) this.#state.records.push(record);
      record.error_status = error;
      if (error === 'retrying') await this.#save();
      else await this.#finishFailed(record);
      return this.#view(record);
    });
  }

  /**
   * Puts a new deployment into the state asked for, as current. Files that can never be written make it `failed`, files that
   * the disk does not take now make it `retrying`. Rejects with EventLogError when its event could not be stored.
   */
  drive(wanted: ControlDeployment): Promise<Deployment> {
    return this.#exclusively(async () => {
      const { clock, deviceId, newId, failedMs } = this.#options;
      const ids = { id: `dpl_${newId()}`, release: `rls_${newId()}`, device: deviceId() };
      const record = recordOf(wanted, ids, timestamp(clock));
      const files = (wanted.config_instances ?? []).map(({ filepath, content }) => {
        return { filepath, content: Buffer.from(content) };
      });
      if (record.activity_status === 'deployed') return this.#try(record, files);
      this.#show(record);
      this.#announce([], { kind: 'entered', deployment: this.#view(record), replaced: [] });
      await this.#save();
      await this.#publishPending();
      if (record.error_status === 'failed') this.#afterwards(failedMs, () => this.#finishFailed(record));
      return this.#view(record);
    });
  }

  remember(release: AgentRelease): void {
    this.#state.releases = [...this.#state.releases.filter(({ id }) => id !== release.id), releaseOf(release)];
  }

  /** What tells this incarnation from any before it. */
  get history(): string {
    return this.#state.records.map(({ id }) => id).join();
  }

  release(id: string): AgentRelease | undefined {
    const found = this.#state.releases.find((release) => release.id === id);
    if (found === undefined) return undefined;
    const { git_commit: _apart, ...release } = found;
    return release;
  }

  gitCommit(id: string): AgentGitCommit | undefined {
    return this.#state.releases.find(({ git_commit }) => git_commit?.id === id)?.git_commit ?? undefined;
  }

  /** Ends what would happen later, and resolves when the change under way, if any, is over. */
  async close(): Promise<void> {
    this.abandon();
    await this.#turn;
  }

  abandon(): void {
    this.#retries.cancelAll();
    for (const timer of this.#timers) clearTimeout(timer);
  }

  /** One attempt of a driven deployment; the next one follows by itself. */
  async #try(record: DeploymentRecord, files: readonly ConfigFile[]): Promise<Deployment> {
    const { error_status: wanted } = record;
    try {
      const { deployment } = await this.#enter(record, files);
      this.#retries.cancel(record.id);
      if (wanted === 'failed') this.#afterwards(this.#options.failedMs, () => this.#finishFailed(record));
      return deployment;
    } catch (error) {
      if (!(error instanceof DeployError)) throw error;
      this.#options.onNotice(`deployment ${record.id}: ${error.message}`, error);
      Object.assign(record, { activity_status: 'queued', error_status: error.retryable ? 'retrying' : 'failed' });
      this.#show(record);
      if (!error.retryable) await this.#finishFailed(record);
      else {
        await this.#save();
        const again: DeploymentRecord = { ...record, activity_status: 'deployed', error_status: wanted };
        this.#retries.later(record.id, () => {
          this.#exclusively(() => this.#try(again, files)).catch((failure: unknown) => {
            this.#options.onNotice(`deployment ${record.id} could not be tried again`, failure);
          });
        });
      }
      return this.#view(record);
    }
  }

  async #enter(record: DeploymentRecord, files: readonly ConfigFile[]) {
    const { clock, files: disk, behaviour } = this.#options;
    const set = await disk.stage(behaviour.files(files));
    const replaced = this.#active().filter(({ id }) => id !== record.id);
    await behaviour.enter({
      place: () => disk.swap(set),
      publish: async () => {
        const now = timestamp(clock);
        for (const old of replaced) markArchived(old, now);
        Object.assign(record, { activity_status: 'deployed', deployed_at: now });
        this.#show(record);
        this.#state.set = set;
        const events = [
          ...replaced.map((old) => removedEvent(this.#view(old), now)),
          deployedEvent(this.#view(record), now),
        ];
        const left = replaced.map((old) => this.#view(old));
        this.#announce(events, { kind: 'entered', deployment: this.#view(record), replaced: left });
        await this.#save();
        disk.prune();
        await this.#publishPending();
      },
    });
    return { deployment: this.#view(record), replaced: replaced.map((old) => this.#view(old)) };
  }

  /** Takes the files away when they are this deployment's, archives, and tells of it if it was there (or `tell`). */
  async #archive(record: DeploymentRecord, tell: boolean): Promise<void> {
    const { clock, files, behaviour } = this.#options;
    const state = this.#state;
    const wasActive = isActive(record);
    if (wasActive && behaviour.removesFiles) {
      state.set = await files.stage([]);
      await files.swap(state.set);
    }
    const now = timestamp(clock);
    markArchived(record, now);
    if (state.current === record.id && record.error_status !== 'failed') state.current = undefined;
    const events = wasActive || tell ? [removedEvent(this.#view(record), now)] : [];
    this.#announce(events, { kind: 'archived', deployment: this.#view(record) });
    await this.#save();
    if (wasActive) files.prune();
  }

  /** `failed` ends archived, and not on the device (section 2.2). */
  async #finishFailed(record: DeploymentRecord): Promise<void> {
    const { behaviour } = this.#options;
    if (record.error_status !== 'failed' || (record.activity_status === 'archived' && !isActive(record))) return;
    if (behaviour.failedArchives) await this.#archive(record, false);
    else await this.#save();
    await this.#publishPending();
  }

  #afterwards(delayMs: number, change: () => Promise<void>): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#exclusively(change).catch((error: unknown) => this.#options.onNotice('cannot finish a deployment', error));
    }, delayMs).unref();
    this.#timers.add(timer);
  }

  #show(record: DeploymentRecord): void {
    this.#state.records = [...this.#state.records.filter(({ id }) => id !== record.id), record];
    this.#state.current = record.id;
  }

  /** Notes what is to be published with the next save. */
  #announce(due: readonly EventDraft[], change: DeploymentChange): void {
    const events = this.#options.behaviour.announce(due, change);
    if (events.length === 0) return;
    const before = this.#state.unpublished ?? { after: this.#options.log.latest, events: [] };
    this.#state.unpublished = { after: before.after, events: [...before.events, ...events] };
  }

  async #publishPending(): Promise<void> {
    const pending = this.#state.unpublished;
    if (!pending) return;
    if (this.#unsaved) await this.#save();
    await this.#options.log.append(pending.events);
    this.#state.unpublished = undefined;
  }

  #active(): DeploymentRecord[] {
    return this.#state.records.filter(isActive);
  }

  #find(id: string): DeploymentRecord | undefined {
    return this.#state.records.find((record) => record.id === id);
  }

  #view(record: DeploymentRecord): Deployment {
    return deploymentOf(record, this.#options.behaviour);
  }

  async #save(): Promise<void> {
    const { io, directory, durable } = this.#options;
    this.#unsaved = true;
    await writeState(io, directory, this.#state, durable);
    this.#unsaved = false;
  }

  #exclusively<T>(change: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(change);
    this.#turn = result.catch(() => undefined);
    return result;
  }
}
