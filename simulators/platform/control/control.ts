/** Actions on a platform that the published API lacks, e.g. archiving a device. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { ownedFolder } from '../../../harness/common/owner.ts';
import { type Of, type Shape, shape } from '../../../harness/contract/shape.ts';
import { Type } from '../../../harness/contract/type.ts';
import { NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import type { Core } from '../core.ts';
import { archiveDevice, assignGroup, disconnectAll, markConnected } from '../domain/devices.ts';
import { conflict, findRow } from '../domain/find.ts';
import { PlatformError } from '../ports.ts';
import type { Renderer } from '../render.ts';
import type { DeviceRow } from '../store/rows.ts';
import { type Plan, Plans, planBody } from './plans.ts';

const START = 'start';

interface Done {
  said: string;
  status: 200 | 201 | 204;
  answer?: object;
}

const gone = (said: string): Done => ({ said, status: 204 });

/** Methods throw PlatformError for a refused action. */
export class PlatformControl implements Disposable {
  readonly plans: Plans;
  onChange: () => void = () => {};
  readonly #core: Core;
  readonly #renderer: Renderer;
  readonly #folder = ownedFolder('snapshots');
  readonly #snapshots = new Map<string, { file: string; standIns: readonly string[] }>();
  #lastFile = 0;

  constructor(core: Core, renderer: Renderer, plans = new Plans()) {
    this.#core = core;
    this.#renderer = renderer;
    this.plans = plans;
    plans.onChange = () => this.onChange();
    this.#take(START);
  }

  archiveDevice(id: string): Done {
    return this.#device(archiveDevice(this.#core, id), 'archived');
  }
  assignGroup(id: string, { group_id }: Of<typeof groupBody>): Done {
    const row = assignGroup(this.#core, id, group_id);
    return this.#device(row, `in ${group_id === null ? 'no group' : findRow(this.#core, 'group', group_id).name}`);
  }

  /**
   * Puts a device online without an agent: the device answers pings, but applies no deployment. Offline disconnects an
   * agent, which may reconnect.
   */
  setOnline(id: string, online: boolean): Done {
    const row = findRow(this.#core, 'device', id);
    if (row.status === 'archived') throw conflict('device_archived', 'an archived device cannot be online or offline');
    if (online) this.#core.standIns.add(id);
    else if (!this.#core.standIns.delete(id)) this.#core.messenger.disconnect(id);
    return this.#device(markConnected(this.#core, row, online), online ? 'online, without an agent' : 'offline');
  }

  get snapshots(): string[] {
    return [...this.#snapshots.keys()].filter((name) => name !== START);
  }
  snapshot({ name }: Of<typeof snapshotBody>): Done {
    if (name === START) throw conflict('snapshot_exists', `${START} is the state at the start, which stays as it is`);
    this.#take(name);
    return { said: `snapshot ${name} taken`, status: 201, answer: { name } };
  }
  removeSnapshot(name: string): Done {
    if (name === START) throw conflict('snapshot_in_use', `${START} is the state at the start, which reset needs`);
    rmSync(this.#kept(name).file);
    this.#snapshots.delete(name);
    this.onChange();
    return gone(`snapshot ${name} dropped`);
  }

  /** Restores a snapshot and disconnects all agents, which then reconnect by themselves. */
  restore(name: string): Done {
    const connected = this.#core.store.collections.device.where({ status: 'online' }).map(({ id }) => id);
    const { file, standIns } = this.#kept(name);
    this.#core.store.restoreFrom(file);
    this.#core.standIns.clear();
    for (const id of standIns) this.#core.standIns.add(id);
    disconnectAll(this.#core);
    for (const id of connected) this.#core.messenger.disconnect(id);
    return gone(`snapshot ${name} restored`);
  }

  reset(): Done {
    this.restore(START);
    this.plans.clear();
    return gone('reset to the start');
  }

  plan(body: Plan): Done {
    const answer = this.plans.add(body);
    return { said: `plan ${answer.id}: ${answer.method ?? 'every method'} ${answer.path}`, status: 201, answer };
  }
  unplan(id: number): Done {
    this.plans.remove(id);
    return gone(`plan ${id} dropped`);
  }
  unplanAll(): Done {
    this.plans.clear();
    return gone('all plans dropped');
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #device(row: DeviceRow, is: string): Done {
    const answer = this.#renderer.value('device', row, NEWEST_VERSION, {});
    return { said: `${answer['name']} is ${is}`, status: 200, answer };
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

const groupBody = shape('Group', Type.Object({ group_id: Type.Union([Type.String(), Type.Null()]) }));
const snapshotBody = shape('Snapshot', Type.Object({ name: Type.String({ minLength: 1, maxLength: 200 }) }));

function bodyOf<S extends Shape>(body: unknown, wanted: S): Of<S> {
  if (wanted.is(body)) return body as Of<S>;
  const problems = wanted
    .problems(body ?? {})
    .map(({ path, message }) => `${path === '' ? 'the body' : path} ${message}`);
  throw new PlatformError(400, 'invalid_body', problems.join('; '));
}

type Act = (control: PlatformControl, id: string, body: unknown) => Done;

/** Routes of the control API; `act` gets `id` from the path, and throws PlatformError. */
export const DEEDS: Readonly<Record<string, readonly [method: 'POST' | 'DELETE', path: string, act: Act]>> = {
  archive: ['POST', '/devices/:id/archive', (control, id) => control.archiveDevice(id)],
  online: ['POST', '/devices/:id/online', (control, id) => control.setOnline(id, true)],
  offline: ['POST', '/devices/:id/offline', (control, id) => control.setOnline(id, false)],
  group: ['POST', '/devices/:id/group', (control, id, body) => control.assignGroup(id, bodyOf(body, groupBody))],
  reset: ['POST', '/reset', (control) => control.reset()],
  snapshot: ['POST', '/snapshots', (control, _id, body) => control.snapshot(bodyOf(body, snapshotBody))],
  restore: ['POST', '/snapshots/:id/restore', (control, name) => control.restore(name)],
  drop: ['DELETE', '/snapshots/:id', (control, name) => control.removeSnapshot(name)],
  plan: ['POST', '/plans', (control, _id, body) => control.plan(bodyOf(body, planBody))],
  unplanAll: ['DELETE', '/plans', (control) => control.unplanAll()],
  unplan: ['DELETE', '/plans/:id', (control, id) => control.unplan(Number(id))],
};
