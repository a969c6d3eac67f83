/** What can be done to a platform that the published API has no operation for: in this process, or over `server.ts`. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Type from 'typebox';
import { type Of, type Shape, shape } from '../../../harness/contract/shape.ts';
import { NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import type { Resource } from '../behaviour.ts';
import type { Core } from '../core.ts';
import { archiveDevice, assignGroup, disconnectAll, markConnected } from '../domain/devices.ts';
import { conflict, find } from '../domain/find.ts';
import { PlatformError } from '../ports.ts';
import type { Renderer } from '../render.ts';
import type { DeviceRow } from '../store/rows.ts';
import { Plans } from './plans.ts';

/** Name of the snapshot that `reset` goes back to. */
const START = 'start';

/** Throws PlatformError for what cannot be done. */
export class PlatformControl implements Disposable {
  readonly plans: Plans;
  /** Called when a plan was made, used or dropped, and when a snapshot was taken or dropped. */
  onChange: () => void = () => {};
  readonly #core: Core;
  readonly #renderer: Renderer;
  /** Copies of the whole state, in a folder of their own that is removed with them. */
  readonly #folder = mkdtempSync(join(tmpdir(), 'muster-snapshots-'));
  readonly #snapshots = new Map<string, { file: string; standIns: readonly string[] }>();
  #lastFile = 0;

  /** Takes the state as it is now for the one that `reset` goes back to. */
  constructor(core: Core, renderer: Renderer, plans = new Plans()) {
    this.#core = core;
    this.#renderer = renderer;
    this.plans = plans;
    plans.onChange = () => this.onChange();
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
   * Makes a device online without an agent: it answers pings at once and applies no deployment. Or makes it offline,
   * ending the connection of an agent, which may come back.
   */
  setOnline(id: string, online: boolean): Resource {
    const row = find(this.#core, 'device', id);
    if (row.status === 'archived') throw conflict('device_archived', 'an archived device cannot be online or offline');
    if (online) this.#core.standIns.add(id);
    else if (!this.#core.standIns.delete(id)) this.#core.messenger.disconnect(id);
    return this.#shown(markConnected(this.#core, row, online));
  }

  get snapshots(): string[] {
    return [...this.#snapshots.keys()].filter((name) => name !== START);
  }
  /** Replaces a snapshot of the same name. */
  snapshot(name: string): void {
    if (name === START) throw conflict('snapshot_exists', `${START} is the state at the start, which stays as it is`);
    this.#take(name);
  }
  removeSnapshot(name: string): void {
    if (name === START) throw conflict('snapshot_in_use', `${START} is the state at the start, which reset needs`);
    rmSync(this.#kept(name).file);
    this.#snapshots.delete(name);
    this.onChange();
  }

  /** Goes back to a snapshot. Agents are disconnected, and are online again when they come back. */
  restore(name: string): void {
    const connected = this.#core.store.collections.device.where({ status: 'online' }).map(({ id }) => id);
    const { file, standIns } = this.#kept(name);
    this.#core.store.restoreFrom(file);
    this.#core.standIns.clear();
    for (const id of standIns) this.#core.standIns.add(id);
    disconnectAll(this.#core);
    for (const id of connected) this.#core.messenger.disconnect(id);
  }

  /** Goes back to the state at the start, and drops every plan. Snapshots stay. */
  reset(): void {
    this.restore(START);
    this.plans.clear();
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #shown(row: DeviceRow): Resource {
    return this.#renderer.value('device', row, NEWEST_VERSION, {});
  }

  #take(name: string): void {
    const file = join(this.#folder, `${++this.#lastFile}.db`);
    this.#core.store.saveTo(file);
    const before = this.#snapshots.get(name);
    this.#snapshots.set(name, { file, standIns: [...this.#core.standIns] });
    if (before !== undefined) rmSync(before.file);
    this.onChange();
  }

  #kept(name: string) {
    const kept = this.#snapshots.get(name);
    if (kept !== undefined) return kept;
    const known = [...this.#snapshots.keys()].map((each) => JSON.stringify(each)).join(', ');
    const message = `there is no snapshot ${JSON.stringify(name)}; there are: ${known}`;
    throw new PlatformError(404, 'snapshot_not_found', message);
  }
}

// The bodies of the control API, which the console's actions take as well.

export const groupBody = shape('Group', Type.Object({ group_id: Type.Union([Type.String(), Type.Null()]) }));
export const snapshotBody = shape('Snapshot', Type.Object({ name: Type.String({ minLength: 1, maxLength: 200 }) }));
/** Throws PlatformError 400 for a body that is not of this shape. */
export function bodyOf<S extends Shape>(body: unknown, wanted: S): Of<S> {
  if (wanted.is(body)) return body as Of<S>;
  const problems = wanted
    .problems(body ?? {})
    .map(({ path, message }) => `${path === '' ? 'the body' : path} ${message}`);
  throw new PlatformError(400, 'invalid_body', problems.join('; '));
}
