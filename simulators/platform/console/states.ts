/** The devices and deployments that changed last, as lines of the console. */
import { DEPLOYMENT_ACTIVITY_STATUSES } from '../../../harness/contract/enums.ts';
import { DEVICE_STATUSES } from '../../../harness/contract/platform/device.ts';
import type { Change } from '../../console/page/document.ts';
import type { DeploymentLine, DeviceLine, PlatformDocument } from '../../console/page/platform/document.ts';
import type { Core } from '../core.ts';
import type { Collection } from '../store/collection.ts';
import { totalOrder } from '../store/order.ts';
import type { BaseRow, DeploymentRow, DeviceRow } from '../store/rows.ts';

/** Lines of each kind. */
const KEPT = 200;
/** Groups that a page offers. */
const KEPT_GROUPS = 500;
const NEWEST_FIRST = totalOrder([{ field: 'created_at', descending: true }]);

function alsoOn<Row extends BaseRow>(collection: Collection<Row>, then: (seq?: number) => void): void {
  const { onChange: before } = collection;
  collection.onChange = (seq) => {
    before(seq);
    then(seq);
  };
}

/** Follows one table: remembers which rows changed, and reads them when they are asked for. */
class Lines<Row extends BaseRow, Line extends { id: string }> {
  readonly #collection: Collection<Row>;
  readonly #member: string;
  readonly #lineOf: (row: Row) => Line;
  readonly #changed = new Set<number>();
  /** Ids by row number, the one that changed last at the end. */
  readonly #shown = new Map<number, string>();
  #all = true;

  constructor(collection: Collection<Row>, member: string, lineOf: (row: Row) => Line, onChange: () => void) {
    this.#collection = collection;
    this.#member = member;
    this.#lineOf = lineOf;
    alsoOn(collection, (seq) => {
      this.touch(seq);
      onChange();
    });
  }

  /** That row changed; undefined: many did. */
  touch(seq: number | undefined): void {
    if (seq === undefined) {
      this.#all = true;
      this.#changed.clear();
      return;
    }
    this.#changed.delete(seq);
    this.#changed.add(seq);
    const [oldest] = this.#changed;
    if (this.#changed.size > KEPT && oldest !== undefined) this.#changed.delete(oldest);
  }

  /** What changed since the last time; undefined when nothing did. */
  take(): Change | undefined {
    if (this.#all) return { set: this.#member, to: this.#newest() };
    if (this.#changed.size === 0) return undefined;
    const rows: Record<string, Line | null> = {};
    for (const seq of this.#changed) {
      const row = this.#collection.bySeq(seq);
      if (row !== undefined) rows[row.id] = this.#show(row);
    }
    this.#changed.clear();
    for (const [seq, id] of this.#shown) {
      if (this.#shown.size <= KEPT) break;
      this.#shown.delete(seq);
      rows[id] = null;
    }
    return { put: this.#member, rows };
  }

  #newest(): Record<string, Line> {
    this.#all = false;
    this.#shown.clear();
    const seqs = new Set([...this.#collection.query({}, NEWEST_FIRST).slice(0, KEPT).reverse(), ...this.#changed]);
    this.#changed.clear();
    const rows = [...seqs].map((seq) => this.#collection.bySeq(seq)).filter((row) => row !== undefined);
    return Object.fromEntries(rows.map((row) => [row.id, this.#show(row)]));
  }

  #show(row: Row): Line {
    this.#shown.delete(row.seq);
    this.#shown.set(row.seq, row.id);
    return this.#lineOf(row);
  }
}

/** What changed in devices and deployments, for the document of the console. */
export class States {
  readonly #core: Core;
  readonly #devices: Lines<DeviceRow, DeviceLine>;
  readonly #deployments: Lines<DeploymentRow, DeploymentLine>;
  readonly #hidden: (text: string) => string;
  #groupsChanged = true;

  /** `hidden` takes secrets out of names, which anybody may give; `onChange` is called after each change of a row. */
  constructor(core: Core, hidden: (text: string) => string, onChange: () => void) {
    this.#core = core;
    this.#hidden = hidden;
    const { device, deployment, group } = core.store.collections;
    alsoOn(group, () => {
      this.#groupsChanged = true;
      onChange();
    });
    const named = (line: DeviceLine): DeviceLine => ({
      ...line,
      name: hidden(line.name),
      group: line.group && hidden(line.group),
      release: line.release && hidden(line.release),
    });
    const aimed = (line: DeploymentLine): DeploymentLine => ({
      ...line,
      device: hidden(line.device),
      release: hidden(line.release),
    });
    this.#devices = new Lines(device, 'devices', (row) => named(deviceLine(core, row)), onChange);
    this.#deployments = new Lines(deployment, 'deployments', (row) => aimed(deploymentLine(core, row)), onChange);
  }

  /** Changes since the last time; none when nothing changed. */
  take(): Change[] {
    const { device, deployment } = this.#core.store.collections;
    const devices = this.#devices.take();
    const deployments = this.#deployments.take();
    return [
      ...(devices === undefined
        ? []
        : [devices, { set: 'deviceCounts', to: countsOf(device, 'status', DEVICE_STATUSES) }]),
      ...(deployments === undefined
        ? []
        : [
            deployments,
            { set: 'deploymentCounts', to: countsOf(deployment, 'activity_status', DEPLOYMENT_ACTIVITY_STATUSES) },
          ]),
      ...(this.#groupsChanged ? [{ set: 'groups', to: this.#groups() }] : []),
    ];
  }

  #groups(): PlatformDocument['groups'] {
    this.#groupsChanged = false;
    const { group } = this.#core.store.collections;
    const seqs = group.query({}, NEWEST_FIRST).slice(0, KEPT_GROUPS).reverse();
    return seqs.flatMap((seq) => group.bySeq(seq) ?? []).map(({ id, name }) => ({ id, name: this.#hidden(name) }));
  }

  /** Shows a device that did not change lately, with its deployments. */
  show(device: DeviceRow): void {
    this.#devices.touch(device.seq);
    const deployments = this.#core.store.collections.deployment.where({ device_id: device.id });
    for (const { seq } of deployments.slice(-KEPT)) this.#deployments.touch(seq);
  }
}

function countsOf<Row extends BaseRow>(
  collection: Collection<Row>,
  column: string,
  values: readonly string[],
): Record<string, number> {
  return Object.fromEntries(
    values.map((value) => [value, collection.query({ [column]: [value] }, NEWEST_FIRST).count()]),
  );
}

function deviceLine({ store, standIns }: Core, row: DeviceRow): DeviceLine {
  const { group, release } = store.collections;
  return {
    seq: row.seq,
    id: row.id,
    name: row.name,
    status: row.status,
    agent: row.agent_version,
    groupId: row.group_id,
    group: row.group_id === null ? null : (group.byId(row.group_id)?.name ?? null),
    release: row.current_release_id === null ? null : (release.byId(row.current_release_id)?.version ?? null),
    standIn: standIns.has(row.id),
    connectedAt: row.last_connected_at,
    changedAt: row.updated_at,
  };
}

function deploymentLine({ store, behaviour }: Core, row: DeploymentRow): DeploymentLine {
  const { device, release } = store.collections;
  return {
    seq: row.seq,
    id: row.id,
    device: device.byId(row.device_id)?.name ?? row.device_id,
    release: release.byId(row.release_id)?.version ?? row.release_id,
    status: behaviour.mergeStatus(row.activity_status, row.error_status),
    activity: row.activity_status,
    error: row.error_status,
    target: row.target_status,
    changedAt: row.updated_at,
  };
}
