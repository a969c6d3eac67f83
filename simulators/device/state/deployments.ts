/**
 * Deployments (section 2.2 of the specification). A change writes config files, saves the state and logs events; the
 * next start completes an interrupted change.
 */

import { backoffMs } from '../../../harness/common/waiting.ts';
import type { AgentDeployment, AgentRelease } from '../../../harness/contract/agent.ts';
import type { ControlDeployment } from '../../../harness/contract/control.ts';
import type { Deployment } from '../../../harness/contract/device-api.ts';
import { timestamp } from '../../common/clock.ts';
import type { DeploymentBehaviour } from '../behaviour.ts';
import type { EventLog } from '../log/event-log.ts';
import type { Incarnation } from '../log/log-file.ts';
import { type ConfigFile, DeployError, type DeploymentPort } from '../ports.ts';
import type { ConfigFiles } from './config-files.ts';
import {
  DeploymentBook,
  type DeploymentRecord,
  deployedEvent,
  isActive,
  markArchived,
  recordFrom,
  removedEvent,
  type StoredState,
} from './deployment-store.ts';

export interface DeploymentsOptions extends Incarnation {
  deviceId(): string;
  newId(): string;
  log: EventLog;
  files: ConfigFiles;
  retryMs: number;
  failedMs: number;
}

const TARGET_OF: Record<DeploymentRecord['activity_status'], DeploymentRecord['target_status']> = {
  drifted: 'staged',
  staged: 'staged',
  queued: 'deployed',
  deployed: 'deployed',
  removing: 'archived',
  archived: 'archived',
};

export class UnknownDeploymentError extends Error {
  override name = 'UnknownDeploymentError';
}

export class Deployments implements DeploymentPort {
  readonly #options: DeploymentsOptions;
  /** Undefined until first use, like `#retried`, because most robots of a fleet need neither. */
  #timers: Map<string, NodeJS.Timeout> | undefined;
  readonly book: DeploymentBook;
  #retried: Set<string> | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: DeploymentsOptions, state: StoredState | undefined) {
    this.#options = options;
    this.book = new DeploymentBook(options, state);
  }

  settle(): Promise<void> {
    return this.#exclusively(async () => {
      await this.#options.files.restore(this.book.state.set);
      await this.book.publishMissing();
      for (const record of this.book.state.records) await this.#finishFailed(record);
    });
  }

  active(): Deployment[] {
    return this.book.active.map((record) => this.book.view(record));
  }

  get(id: string): Deployment | undefined {
    const record = this.book.find(id);
    return record && this.book.view(record);
  }

  /**
   * Current deployment, even if queued or failed, or else the newest active deployment; undefined during retries of an
   * agent that never gives up.
   */
  current(): Deployment | undefined {
    if (!this.#behaviour.givesUp && this.#retried?.size) return undefined;
    const { current } = this.book.state;
    const record = (current === undefined ? undefined : this.book.find(current)) ?? this.book.active.at(-1);
    return record && this.book.view(record);
  }

  deploy(wanted: AgentDeployment, files: ConfigFile[]): Promise<{ deployment: Deployment; replaced: Deployment[] }> {
    return this.#exclusively(async () => {
      const { givesUp } = this.#behaviour;
      const known = this.book.find(wanted.id);
      if (known?.activity_status === 'archived')
        throw new DeployError(`deployment ${wanted.id} is archived; a deployment is used once`, false);
      try {
        if (known && isActive(known)) {
          if (known.error_status === 'retrying') {
            known.error_status = 'none';
            await this.book.save();
          }
          await this.book.publish();
          this.#retried?.clear();
          return { deployment: this.book.view(known), replaced: [] };
        }
        if (!givesUp && files.length === 0) throw new DeployError('there are no config files to deploy', true);
        const record = known ?? recordFrom(wanted);
        const done = await this.#enter({ ...record, target_status: 'deployed', error_status: 'none' }, files);
        this.#retried?.clear();
        return done;
      } catch (error) {
        if (error instanceof DeployError && (givesUp || error.retryable)) throw error;
        throw new DeployError(error instanceof Error ? error.message : String(error), true, { cause: error });
      }
    });
  }

  remove(id: string): Promise<Deployment> {
    return this.#exclusively(async () => {
      const record = this.book.find(id);
      if (!record) throw new UnknownDeploymentError(`this robot knows no deployment ${JSON.stringify(id)}`);
      this.#cancel(id);
      this.#retried?.delete(id);
      if (record.activity_status !== 'archived') await this.#archive(record, true);
      await this.book.publish();
      return this.book.view(record);
    });
  }

  fail(wanted: AgentDeployment, error: 'retrying' | 'failed'): Promise<Deployment> {
    return this.#exclusively(async () => {
      const known = this.book.find(wanted.id);
      const record = known ?? recordFrom(wanted);
      if (!known) this.book.state.records.push(record);
      record.error_status = error;
      if (error === 'retrying') this.#retried = (this.#retried ?? new Set()).add(wanted.id);
      if (error === 'retrying') await this.book.save();
      else await this.#finishFailed(record);
      return this.book.view(record);
    });
  }

  /**
   * Creates a deployment for the control API, with error status `retrying` if the disk rejects the files, `failed` if a
   * path is impossible. Rejects with EventLogError.
   */
  drive(wanted: ControlDeployment): Promise<Deployment> {
    return this.#exclusively(async () => {
      const { clock, deviceId, newId } = this.#options;
      const id = `dpl_${newId()}`;
      const newRelease = `rls_${newId()}`;
      const now = timestamp(clock);
      const { activity_status = 'deployed' } = wanted;
      const record: DeploymentRecord = {
        id,
        description: wanted.description ?? 'Driven by the control API',
        activity_status,
        error_status: wanted.error_status ?? 'none',
        target_status: wanted.target_status ?? TARGET_OF[activity_status],
        device_id: deviceId(),
        release_id: wanted.release_id ?? newRelease,
        created_at: now,
      };
      if (activity_status === 'archived') record.archived_at = now;
      const files = (wanted.config_instances ?? []).map((file) => ({ ...file, content: Buffer.from(file.content) }));
      if (record.activity_status === 'deployed') return this.#try(record, files);
      this.book.show(record);
      this.book.announce([], { kind: 'entered', deployment: this.book.view(record), replaced: [] });
      await this.book.save();
      await this.book.publish();
      if (record.error_status === 'failed') this.#finishLater(record);
      return this.book.view(record);
    });
  }

  remember(release: AgentRelease): void {
    this.book.remember(release);
  }

  publish(): Promise<void> {
    return this.#exclusively(() => this.book.publish());
  }

  async close(): Promise<void> {
    this.abandon();
    await this.#turn;
    // Cancels timers again, because the change under way may have set one.
    this.abandon();
  }

  abandon(): void {
    for (const id of this.#timers?.keys() ?? []) this.#cancel(id);
  }

  get #behaviour(): DeploymentBehaviour {
    return this.#options.behaviour.deployments;
  }

  /**
   * Applies a deployment; retries after a temporary error unless a newer deployment is active. `earlier`: ids known
   * before the first attempt.
   */
  async #try(
    record: DeploymentRecord,
    files: readonly ConfigFile[],
    attempt = 0,
    earlier = new Set(this.book.state.records.map(({ id }) => id)),
  ): Promise<Deployment> {
    const { error_status: wanted } = record;
    const { onNotice, retryMs } = this.#options;
    try {
      const { deployment } = await this.#enter(record, files);
      if (wanted === 'failed') this.#finishLater(record);
      return deployment;
    } catch (error) {
      if (!(error instanceof DeployError)) throw error;
      onNotice(`deployment ${record.id}: ${error.message}`, error);
      const retried = error.retryable || !this.#behaviour.givesUp;
      Object.assign(record, { activity_status: 'queued', error_status: retried ? 'retrying' : 'failed' });
      this.book.show(record);
      if (!retried) await this.#finishFailed(record);
      else {
        await this.book.save();
        const again: DeploymentRecord = { ...record, activity_status: 'deployed', error_status: wanted };
        const delay = backoffMs({ firstMs: retryMs, longestMs: 24 * 3_600_000 }, attempt);
        const failure = `deployment ${record.id} could not be tried again`;
        this.#later(record.id, delay, failure, async () => {
          const isReplaced = this.book.active.some(({ id }) => !earlier.has(id));
          if (!isReplaced) await this.#try(again, files, attempt + 1, earlier);
        });
      }
      return this.book.view(record);
    }
  }

  async #enter(record: DeploymentRecord, files: readonly ConfigFile[]) {
    const { clock, files: disk } = this.#options;
    const behaviour = this.#behaviour;
    const set = await disk.stage(behaviour.files(files));
    const replaced = this.book.active.filter(({ id }) => id !== record.id);
    await behaviour.enter({
      place: () => disk.swap(set),
      publish: async () => {
        const now = timestamp(clock);
        for (const old of replaced) markArchived(old, now);
        Object.assign(record, { activity_status: 'deployed', deployed_at: now });
        this.book.show(record);
        this.book.state.set = set;
        const left = replaced.map((old) => this.book.view(old));
        const deployment = this.book.view(record);
        const events = [...left.map((old) => removedEvent(old, now)), deployedEvent(deployment, now)];
        this.book.announce(events, { kind: 'entered', deployment, replaced: left });
        await this.book.save();
        disk.prune();
        await this.book.publish();
      },
    });
    return { deployment: this.book.view(record), replaced: replaced.map((old) => this.book.view(old)) };
  }

  async #archive(record: DeploymentRecord, always: boolean): Promise<void> {
    const { clock, files } = this.#options;
    const wasActive = isActive(record);
    if (wasActive && this.#behaviour.removesFiles) {
      const set = await files.stage([]);
      this.book.state.set = set;
      await files.swap(set);
    }
    const now = timestamp(clock);
    markArchived(record, now);
    const { state } = this.book;
    if (record.error_status !== 'failed' && state.current === record.id) state.current = undefined;
    const events = wasActive || always ? [removedEvent(this.book.view(record), now)] : [];
    this.book.announce(events, { kind: 'archived', deployment: this.book.view(record) });
    if (this.#behaviour.remembers !== 'no removal') await this.book.save();
    if (wasActive) files.prune();
  }

  /** Archives a failed deployment (section 2.2 of the specification). */
  async #finishFailed(record: DeploymentRecord): Promise<void> {
    if (record.error_status !== 'failed' || (record.activity_status === 'archived' && !isActive(record))) return;
    if (this.#behaviour.failedArchives) await this.#archive(record, false);
    else await this.book.save();
    await this.book.publish();
  }

  #finishLater(record: DeploymentRecord): void {
    const finish = () => this.#finishFailed(record);
    this.#later(record.id, this.#options.failedMs, 'cannot finish a deployment', finish);
  }

  #later(id: string, delayMs: number, failure: string, change: () => Promise<unknown>): void {
    const timer = setTimeout(() => {
      this.#timers?.delete(id);
      this.#exclusively(change).catch((error: unknown) => this.#options.onNotice(failure, error));
    }, delayMs).unref();
    this.#timers = (this.#timers ?? new Map()).set(id, timer);
  }

  #cancel(id: string): void {
    clearTimeout(this.#timers?.get(id));
    this.#timers?.delete(id);
  }

  #exclusively<T>(change: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(change);
    this.#turn = result.catch(() => undefined);
    return result;
  }
}
