/** What can be done to a platform that the published API has no operation for: in this process, or over `server.ts`. */
import { NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import { timestamp } from '../../common/clock.ts';
import type { Resource } from '../behaviour.ts';
import type { Core } from '../core.ts';
import { archiveDevice, assignGroup, disconnectAll } from '../domain/devices.ts';
import { conflict, find } from '../domain/find.ts';
import type { Renderer } from '../render.ts';
import type { DeviceRow } from '../store/rows.ts';
import { Plans } from './plans.ts';
import { Snapshots } from './snapshots.ts';

/** Name of the snapshot that `reset` goes back to. */
const START = 'start';

/** Throws PlatformError for what cannot be done. */
export class PlatformControl implements Disposable {
  readonly plans: Plans;
  /** Called when a plan was made, used or dropped, and when a snapshot was taken or dropped. */
  onChange: () => void = () => {};
  readonly #core: Core;
  readonly #renderer: Renderer;
  readonly #snapshots: Snapshots;
  /** By snapshot. */
  readonly #standIns = new Map<string, readonly string[]>();

  /** Takes the state as it is now for the one that `reset` goes back to. */
  constructor(core: Core, renderer: Renderer, plans = new Plans()) {
    this.#core = core;
    this.#renderer = renderer;
    this.plans = plans;
    plans.onChange = () => this.onChange();
    this.#snapshots = new Snapshots(core.store);
    this.#take(START);
  }

  /** Each of these gives the device in the newest API version. */
  archiveDevice(id: string): Resource {
    return this.#shown(archiveDevice(this.#core, id));
  }
  assignGroup(id: string, groupId: string | null): Resource {
    return this.#shown(assignGroup(this.#core, id, groupId));
  }

  /**
   * Makes a device online without an agent: it answers pings at once and applies no deployment. Or makes it offline, ending the
   * connection of an agent, which may come back.
   */
  setOnline(id: string, online: boolean): Resource {
    const row = find(this.#core, 'device', id);
    if (row.status === 'archived') throw conflict('device_archived', 'an archived device cannot be online or offline');
    if (online) this.#core.standIns.add(id);
    else if (!this.#core.standIns.delete(id)) this.#core.messenger.disconnect(id);
    const now = timestamp(this.#core.clock);
    const change = online
      ? { status: 'online' as const, last_connected_at: now, updated_at: now }
      : { status: 'offline' as const, last_disconnected_at: now, updated_at: now };
    return this.#shown(this.#core.store.write(() => this.#core.store.collections.device.update(row, change)));
  }

  get snapshots(): string[] {
    return this.#snapshots.names.filter((name) => name !== START);
  }
  snapshot(name: string): void {
    if (name === START) throw conflict('snapshot_exists', `${START} is the state at the start, which stays as it is`);
    this.#take(name);
  }
  removeSnapshot(name: string): void {
    if (name === START) throw conflict('snapshot_in_use', `${START} is the state at the start, which reset needs`);
    this.#snapshots.remove(name);
    this.onChange();
  }

  /** Goes back to a snapshot. Agents are disconnected, and are online again when they come back. */
  restore(name: string): void {
    const connected = this.#core.store.collections.device.where({ status: 'online' }).map(({ id }) => id);
    this.#snapshots.restore(name);
    this.#core.standIns.clear();
    for (const id of this.#standIns.get(name) ?? []) this.#core.standIns.add(id);
    disconnectAll(this.#core);
    for (const id of connected) this.#core.messenger.disconnect(id);
  }

  /** Goes back to the state at the start, and drops every plan. Snapshots stay. */
  reset(): void {
    this.restore(START);
    this.plans.clear();
  }

  [Symbol.dispose](): void {
    this.#snapshots[Symbol.dispose]();
  }

  #shown(row: DeviceRow): Resource {
    return this.#renderer.value('device', row, NEWEST_VERSION, {});
  }

  #take(name: string): void {
    this.#snapshots.take(name);
    this.#standIns.set(name, [...this.#core.standIns]);
    this.onChange();
  }
}
