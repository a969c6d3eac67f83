/**
 * The records of a robot's deployments and releases, and the events that announce changes to them. A change is saved together
 * with its events; the events are appended to the log after that. So a start after a crash in between can publish the missing ones.
 */
import type { AgentGitCommit, AgentRelease } from '../../../harness/contract/agent.ts';
import type { Deployment } from '../../../harness/contract/deployment.ts';
import type { DeploymentBehaviour, DeploymentChange } from '../behaviour.ts';
import type { EventLog } from '../log/event-log.ts';
import type { DiskIo } from '../log/io.ts';
import type { EventDraft } from '../log/line.ts';
import { LogReader } from '../stream/reader.ts';
import { deploymentOf, releaseOf } from './payloads.ts';
import { type DeploymentRecord, emptyState, isActive, type StoredState, writeState } from './stored-state.ts';

export interface BookOptions {
  directory: string;
  durable: boolean;
  io: DiskIo;
  log: EventLog;
  behaviour: DeploymentBehaviour;
}

/** The book of one incarnation. Its callers see to it that changes happen one at a time. */
export class DeploymentBook {
  readonly #options: BookOptions;
  #state: StoredState;
  /** The last attempt to save failed. */
  #unsaved = false;

  /** `state` is what the last incarnation left; undefined on a new robot. */
  constructor(options: BookOptions, state: StoredState | undefined) {
    this.#options = options;
    this.#state = state ?? emptyState();
  }

  get records(): readonly DeploymentRecord[] {
    return this.#state.records;
  }

  /** Records whose config files are on the device. */
  get active(): DeploymentRecord[] {
    return this.#state.records.filter(isActive);
  }

  /** The set of config files that belongs to this state. */
  get set(): string | undefined {
    return this.#state.set;
  }

  set set(name: string | undefined) {
    this.#state.set = name;
  }

  find(id: string): DeploymentRecord | undefined {
    return this.#state.records.find((record) => record.id === id);
  }

  /** The deployment as clients see it. */
  view(record: DeploymentRecord): Deployment {
    return deploymentOf(record, this.#options.behaviour);
  }

  /** The record shown as current. */
  current(): DeploymentRecord | undefined {
    const { current } = this.#state;
    return current === undefined ? undefined : this.find(current);
  }

  add(record: DeploymentRecord): void {
    this.#state.records.push(record);
  }

  /** Puts the record last, and shows it as current. */
  show(record: DeploymentRecord): void {
    this.#state.records = [...this.#state.records.filter(({ id }) => id !== record.id), record];
    this.#state.current = record.id;
  }

  /** Shows the record as current no more. */
  hide(record: DeploymentRecord): void {
    if (this.#state.current === record.id) this.#state.current = undefined;
  }

  remember(release: AgentRelease): void {
    this.#state.releases = [...this.#state.releases.filter(({ id }) => id !== release.id), releaseOf(release)];
  }

  release(id: string): AgentRelease | undefined {
    const found = this.#state.releases.find((release) => release.id === id);
    if (found === undefined) return undefined;
    const { git_commit: _separate, ...release } = found;
    return release;
  }

  gitCommit(id: string): AgentGitCommit | undefined {
    return this.#state.releases.find(({ git_commit }) => git_commit?.id === id)?.git_commit ?? undefined;
  }

  /** Adds the events of a change; the next `save` stores them, `publish` appends them to the log. */
  announce(due: readonly EventDraft[], change: DeploymentChange): void {
    const events = this.#options.behaviour.announce(due, change);
    if (events.length === 0) return;
    const before = this.#state.unpublished ?? { after: this.#options.log.latest, events: [] };
    this.#state.unpublished = { after: before.after, events: [...before.events, ...events] };
  }

  async save(): Promise<void> {
    const { io, directory, durable } = this.#options;
    this.#unsaved = true;
    await writeState(io, directory, this.#state, durable);
    this.#unsaved = false;
  }

  /** Appends the announced events to the log. Rejects with EventLogError when they could not be stored; they stay announced. */
  async publish(): Promise<void> {
    const pending = this.#state.unpublished;
    if (!pending) return;
    if (this.#unsaved) await this.save();
    await this.#options.log.append(pending.events);
    this.#state.unpublished = undefined;
  }

  /** After a crash: publishes the announced events that did not reach the log. */
  async publishMissing(): Promise<void> {
    const { unpublished } = this.#state;
    if (!unpublished) return;
    const missing = this.#missing(unpublished.after, unpublished.events);
    this.#state.unpublished = missing.length > 0 ? { ...unpublished, events: missing } : undefined;
    await this.publish();
  }

  /** Those of `events` that are not in the log after id `after`. */
  #missing(after: number, events: readonly EventDraft[]): EventDraft[] {
    const { log, io } = this.#options;
    const found = new Set<string>();
    const reader = new LogReader(log, io, Math.max(after, log.earliest - 1));
    try {
      for (let portion = reader.read(); portion !== 'overtaken' && portion.length > 0; portion = reader.read()) {
        for (const { type, json } of portion) found.add(nameOf(type, (JSON.parse(json) as { data: object }).data));
      }
    } finally {
      reader.close();
    }
    return events.filter(({ type, data }) => !found.has(nameOf(type, data)));
  }
}

const nameOf = (type: string, data: object): string =>
  `${type} ${'deployment_id' in data ? String(data.deployment_id) : JSON.stringify(data)}`;
