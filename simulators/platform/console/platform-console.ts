/** Serves the page of a platform: state, requests, and actions for the user. */

import { DEPLOYMENT_ACTIVITY_STATUSES } from '../../../harness/contract/enums.ts';
import { DEVICE_STATUSES } from '../../../harness/contract/platform/device.ts';
import { OPERATIONS } from '../../../harness/contract/platform/operations.ts';
import { type Action, type Console, serveConsole, wholeNumber } from '../../console/console.ts';
import { Feed } from '../../console/feed.ts';
import type { DeploymentLine, DeviceLine, PlatformDocument } from '../../console/page/platform/document.ts';
import { DEEDS, type PlatformControl } from '../control/control.ts';
import type { PlatformInfo } from '../control/server.ts';
import type { Core } from '../core.ts';
import { FAULT_FORMS } from '../faults.ts';
import type { Collection } from '../store/collection.ts';
import { NEWEST_FIRST } from '../store/order.ts';
import type { BaseRow, DeploymentRow, DeviceRow } from '../store/rows.ts';
import { type Exchanges, KEPT_REQUESTS } from './exchanges.ts';

const KEPT = 200;

function alsoOn<Row extends BaseRow>(collection: Collection<Row>, then: (seq?: number) => void): void {
  const { onChange: before } = collection;
  collection.onChange = (seq) => {
    before(seq);
    then(seq);
  };
}

interface Shown<Row extends BaseRow, Line extends { id: string }> {
  lines: 'devices' | 'deployments';
  counts: 'deviceCounts' | 'deploymentCounts';
  column: keyof Row & string;
  values: readonly string[];
  lineOf(row: Row): Line;
}

class Lines<Row extends BaseRow, Line extends { id: string }> {
  readonly #collection: Collection<Row>;
  readonly #what: Shown<Row, Line>;
  readonly #shown = new Set<number>();
  #isDue = true;

  constructor(collection: Collection<Row>, what: Shown<Row, Line>, onChange: () => void) {
    this.#collection = collection;
    this.#what = what;
    this.touch();
    alsoOn(collection, (seq) => {
      this.touch(seq);
      onChange();
    });
  }

  touch(seq?: number): void {
    this.#isDue = true;
    if (seq === undefined) this.#shown.clear();
    const seqs = seq === undefined ? this.#collection.query({}, NEWEST_FIRST).slice(0, KEPT).reverse() : [seq];
    for (const each of seqs) {
      this.#shown.delete(each);
      this.#shown.add(each);
    }
    const [oldest] = this.#shown;
    if (this.#shown.size > KEPT && oldest !== undefined) this.#shown.delete(oldest);
  }

  take(): Partial<PlatformDocument> {
    if (!this.#isDue) return {};
    this.#isDue = false;
    const { lines, counts, column, values, lineOf } = this.#what;
    const rows = [...this.#shown].flatMap((seq) => this.#collection.bySeq(seq) ?? []);
    const countOf = (value: string): number => this.#collection.query({ [column]: [value] }, NEWEST_FIRST).count();
    return {
      [lines]: Object.fromEntries(rows.map((row) => [row.id, lineOf(row)])),
      [counts]: Object.fromEntries(values.map((value) => [value, countOf(value)])),
    };
  }
}

/** Masks secrets that users put in names. */
type Hide = (text: string) => string;

function deviceLine({ store, standIns }: Core, row: DeviceRow, hidden: Hide): DeviceLine {
  const group = store.collections.group.byId(row.group_id ?? '')?.name;
  const release = store.collections.release.byId(row.current_release_id ?? '')?.version;
  return {
    seq: row.seq,
    id: row.id,
    name: hidden(row.name),
    status: row.status,
    agent: row.agent_version,
    groupId: row.group_id,
    group: group === undefined ? null : hidden(group),
    release: release === undefined ? null : hidden(release),
    standIn: standIns.has(row.id),
    connectedAt: row.last_connected_at,
    changedAt: row.updated_at,
  };
}

function deploymentLine({ store, behaviour }: Core, row: DeploymentRow, hidden: Hide): DeploymentLine {
  const { device, release } = store.collections;
  return {
    seq: row.seq,
    id: row.id,
    device: hidden(device.byId(row.device_id)?.name ?? row.device_id),
    release: hidden(release.byId(row.release_id)?.version ?? row.release_id),
    status: behaviour.mergeStatus(row.activity_status, row.error_status),
    activity: row.activity_status,
    error: row.error_status,
    target: row.target_status,
    changedAt: row.updated_at,
  };
}

/** Serves the page of a platform; updates the page at most every 100 ms, and only while a page is open. */
export class PlatformConsole implements AsyncDisposable {
  readonly #core: Core;
  readonly #control: PlatformControl;
  readonly #exchanges: Exchanges;
  readonly #devices: Lines<DeviceRow, DeviceLine>;
  readonly #deployments: Lines<DeploymentRow, DeploymentLine>;
  #groupsChanged = true;
  readonly #feed: Feed<PlatformDocument>;
  #last = 0;
  #timer: NodeJS.Timeout | undefined;
  #console: Console | undefined;

  constructor(core: Core, control: PlatformControl, exchanges: Exchanges) {
    this.#core = core;
    this.#control = control;
    this.#exchanges = exchanges;
    this.#feed = new Feed<PlatformDocument>(EMPTY, () => this.#update());
    const changed = (): void => this.#changed();
    const { device, deployment, group } = core.store.collections;
    const devices = { lines: 'devices', counts: 'deviceCounts', column: 'status', values: DEVICE_STATUSES } as const;
    const lineOf = (row: DeviceRow) => deviceLine(core, row, exchanges.hidden);
    this.#devices = new Lines(device, { ...devices, lineOf }, changed);
    this.#deployments = new Lines(
      deployment,
      {
        lines: 'deployments',
        counts: 'deploymentCounts',
        column: 'activity_status',
        values: DEPLOYMENT_ACTIVITY_STATUSES,
        lineOf: (row) => deploymentLine(core, row, exchanges.hidden),
      },
      changed,
    );
    alsoOn(group, () => {
      this.#groupsChanged = true;
      changed();
    });
    exchanges.onExchange = changed;
    control.onChange = changed;
  }

  /** Serves the page; resolves with the URL. Rejects with a system error for an unusable port. */
  async serve({ dialect, ...addresses }: PlatformInfo & { control?: string }, port: number): Promise<string> {
    // Masks credentials in the URL of an external broker.
    const shown = Object.entries(addresses).map(([name, url]) => [name, url.replace(/\/\/[^@/]*@/, '//***@')]);
    this.#feed.set({ addresses: Object.fromEntries(shown), dialect });
    const options = { page: 'platform', title: 'Platform', feed: this.#feed, actions: this.#actions(), port };
    this.#console = await serveConsole(options);
    return this.#console.url;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer);
    await this.#console?.[Symbol.asyncDispose]();
  }

  #changed(): void {
    if (this.#feed.pages > 0) this.#timer ??= setTimeout(() => this.#update(), 100).unref();
  }

  #update(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const feed = this.#feed;
    const items = this.#exchanges.since(this.#last);
    this.#last = this.#exchanges.count;
    if (items.length > 0) feed.change({ append: 'requests', items, keep: KEPT_REQUESTS });
    if (this.#groupsChanged) {
      const { group } = this.#core.store.collections;
      const rows = group
        .query({}, NEWEST_FIRST)
        .slice(0, 500)
        .reverse()
        .flatMap((seq) => group.bySeq(seq) ?? []);
      feed.set({ groups: rows.map(({ id, name }) => ({ id, name: this.#exchanges.hidden(name) })) });
      this.#groupsChanged = false;
    }
    feed.set({
      ...this.#devices.take(),
      ...this.#deployments.take(),
      requestCount: this.#exchanges.count,
      plans: this.#control.plans.all.map(({ id, method, path, times, used, fault, answer }) => {
        const gets = fault ?? `answer ${answer?.status}`;
        return { id, method: method ?? null, path: this.#exchanges.hidden(path), times: times ?? null, used, gets };
      }),
      snapshots: this.#control.snapshots,
    });
  }

  #actions(): Record<string, Action> {
    const deeds = Object.entries(DEEDS).map(([name, [_method, _path, act]]): [string, Action] => [
      name,
      (body) => {
        const { said, answer } = act(this.#control, String(body['id'] ?? body['name']), body);
        const items = [{ at: Date.now(), what: this.#exchanges.hidden(said) }];
        this.#feed.change({ append: 'deeds', items, keep: KEPT });
        // Returns only the id, because other fields may contain secrets, which are not masked in this answer.
        return answer !== undefined && 'id' in answer ? { id: answer.id } : {};
      },
    ]);
    return {
      ...Object.fromEntries(deeds),
      exchange: ({ number }) => {
        const exchange = this.#exchanges.get(wholeNumber('number', number));
        if (exchange !== undefined) return exchange;
        throw new Error(`request ${number} is not among the last ${KEPT_REQUESTS}, which are kept`);
      },
      clear: () => {
        this.#exchanges.clear();
        this.#feed.set({ requests: [] });
      },
      show: ({ device }) => this.#show(String(device)),
    };
  }

  #show(device: string): object {
    const { device: devices } = this.#core.store.collections;
    const row = devices.byId(device) ?? devices.first({ name: device });
    if (row === undefined) throw new Error(`no device has the id or the name ${JSON.stringify(device)}`);
    this.#devices.touch(row.seq);
    const deployments = this.#core.store.collections.deployment.where({ device_id: row.id });
    for (const { seq } of deployments.slice(-KEPT)) this.#deployments.touch(seq);
    this.#changed();
    return { id: row.id };
  }
}

const EMPTY: PlatformDocument = {
  addresses: {},
  dialect: '',
  deviceCounts: {},
  deploymentCounts: {},
  devices: {},
  deployments: {},
  groups: [],
  requests: [],
  requestCount: 0,
  plans: [],
  snapshots: [],
  routes: OPERATIONS.map(({ method, path }) => `${method} ${path}`),
  faultForms: [...FAULT_FORMS],
  deeds: [],
};
