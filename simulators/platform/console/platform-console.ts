import { DEPLOYMENT_ACTIVITY_STATUSES } from '../../../harness/contract/enums.ts';
import { DEVICE_STATUSES } from '../../../harness/contract/platform/device.ts';
import { OPERATIONS } from '../../../harness/contract/platform/operations.ts';
import { type Action, type Console, serveConsole, wholeNumber } from '../../console/console.ts';
import { Feed } from '../../console/feed.ts';
import type { DeploymentLine, DeviceLine, PlatformDocument } from '../../console/page/platform/document.ts';
import type { PlatformControl, PlatformInfo } from '../control/control.ts';
import type { Core } from '../core.ts';
import { FAULT_FORMS } from '../faults.ts';
import type { Collection } from '../store/collection.ts';
import { type BaseRow, type DeploymentRow, type DeviceRow, NEWEST_FIRST } from '../store/rows.ts';
import { type Exchanges, KEPT_REQUESTS } from './exchanges.ts';

const KEPT = 200;

function alsoOn<Row extends BaseRow>(collection: Collection<Row>, then: (seq?: number) => void): void {
  const { onChange: before } = collection;
  collection.onChange = (seq) => {
    before(seq);
    then(seq);
  };
}

interface Shown<Row extends BaseRow> {
  lines: 'devices' | 'deployments';
  counts: 'deviceCounts' | 'deploymentCounts';
  column: keyof Row & string;
  values: readonly string[];
  lineOf(row: Row): object;
}

/** Rows on the page: the last KEPT rows that changed or that a user asked for. */
function linesOf<Row extends BaseRow>(collection: Collection<Row>, what: Shown<Row>, onChange: () => void) {
  const shown = new Set<number>();
  let isDue = true;
  const touch = (seq?: number): void => {
    isDue = true;
    if (seq === undefined) shown.clear();
    const seqs = seq === undefined ? collection.query({}, NEWEST_FIRST).slice(0, KEPT).reverse() : [seq];
    for (const each of seqs) {
      shown.delete(each);
      shown.add(each);
    }
    const [oldest] = shown;
    if (shown.size > KEPT && oldest !== undefined) shown.delete(oldest);
  };
  touch();
  alsoOn(collection, (seq) => {
    touch(seq);
    onChange();
  });
  const take = (): Partial<PlatformDocument> => {
    if (!isDue) return {};
    isDue = false;
    const { lines, counts, column, values, lineOf } = what;
    const rows = [...shown].flatMap((seq) => collection.bySeq(seq) ?? []);
    const countOf = (value: string): number => collection.query({ [column]: [value] }, NEWEST_FIRST).count();
    return {
      [lines]: Object.fromEntries(rows.map((row) => [row.id, lineOf(row)])),
      [counts]: Object.fromEntries(values.map((value) => [value, countOf(value)])),
    };
  };
  return { touch, take };
}

/** Masks secrets that users put in names. */
type Hide = (text: string) => string;

function deviceLine({ store, standIns }: Core, row: DeviceRow, hidden: Hide): DeviceLine {
  const { seq, id, status, agent_version: agent, group_id: groupId } = row;
  const group = store.collections.group.byId(groupId ?? '')?.name;
  const release = store.collections.release.byId(row.current_release_id ?? '')?.version;
  return {
    seq,
    id,
    name: hidden(row.name),
    status,
    agent,
    groupId,
    group: group === undefined ? null : hidden(group),
    release: release === undefined ? null : hidden(release),
    standIn: standIns.has(id),
    connectedAt: row.last_connected_at,
    changedAt: row.updated_at,
  };
}

function deploymentLine({ store, behaviour }: Core, row: DeploymentRow, hidden: Hide): DeploymentLine {
  const { device, release } = store.collections;
  const { seq, id, activity_status: activity, error_status: error, target_status: target } = row;
  return {
    seq,
    id,
    device: hidden(device.byId(row.device_id)?.name ?? row.device_id),
    release: hidden(release.byId(row.release_id)?.version ?? row.release_id),
    status: behaviour.mergeStatus(activity, error),
    activity,
    error,
    target,
    changedAt: row.updated_at,
  };
}

/** Updates the page at most every 100 ms, and only while a page is open. */
export class PlatformConsole implements AsyncDisposable {
  readonly #core: Core;
  readonly #control: PlatformControl;
  readonly #exchanges: Exchanges;
  readonly #devices: ReturnType<typeof linesOf>;
  readonly #deployments: ReturnType<typeof linesOf>;
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
    const { device, deployment, group } = core.store.collections;
    const ofDevices: Shown<DeviceRow> = {
      lines: 'devices',
      counts: 'deviceCounts',
      column: 'status',
      values: DEVICE_STATUSES,
      lineOf: (row) => deviceLine(core, row, exchanges.hidden),
    };
    const ofDeployments: Shown<DeploymentRow> = {
      lines: 'deployments',
      counts: 'deploymentCounts',
      column: 'activity_status',
      values: DEPLOYMENT_ACTIVITY_STATUSES,
      lineOf: (row) => deploymentLine(core, row, exchanges.hidden),
    };
    this.#devices = linesOf(device, ofDevices, this.#changed);
    this.#deployments = linesOf(deployment, ofDeployments, this.#changed);
    alsoOn(group, () => {
      this.#groupsChanged = true;
      this.#changed();
    });
    exchanges.onExchange = this.#changed;
    control.onChange = this.#changed;
  }

  async serve({ dialect, ...addresses }: PlatformInfo & { control?: string }, port: number): Promise<string> {
    // An external broker's URL may contain credentials.
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

  readonly #changed = (): void => {
    if (this.#feed.pages > 0) this.#timer ??= setTimeout(() => this.#update(), 100).unref();
  };

  #update(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const feed = this.#feed;
    const items = this.#exchanges.since(this.#last);
    this.#last = this.#exchanges.count;
    if (items.length > 0) feed.change({ append: 'requests', items, keep: KEPT_REQUESTS });
    if (this.#groupsChanged) {
      const { group } = this.#core.store.collections;
      const seqs = group.query({}, NEWEST_FIRST).slice(0, 500).reverse();
      const rows = seqs.flatMap((seq) => group.bySeq(seq) ?? []);
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
    const deeds = Object.entries(this.#control.deeds).map(([name, { act }]): [string, Action] => {
      const action: Action = (body) => {
        const { said, answer } = act(String(body['id'] ?? body['name']), body);
        const items = [{ at: Date.now(), what: this.#exchanges.hidden(said) }];
        this.#feed.change({ append: 'deeds', items, keep: KEPT });
        // Returns only the id, because other fields of the answer may contain secrets, and are not masked.
        return answer !== undefined && 'id' in answer ? { id: answer.id } : {};
      };
      return [name, action];
    });
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
      show: ({ device: wanted }) => {
        const { device, deployment } = this.#core.store.collections;
        const text = String(wanted);
        const row = device.byId(text) ?? device.first({ name: text });
        if (row === undefined) throw new Error(`no device has the id or the name ${JSON.stringify(text)}`);
        this.#devices.touch(row.seq);
        for (const { seq } of deployment.where({ device_id: row.id }).slice(-KEPT)) this.#deployments.touch(seq);
        this.#changed();
        return { id: row.id };
      },
    };
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
