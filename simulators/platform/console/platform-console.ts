/** The console of a platform: its state and its requests as a document, and what can be done to it by hand. */
import { OPERATIONS } from '../../../harness/contract/platform/operations.ts';
import { type Action, type Console, serveConsole } from '../../console/console.ts';
import { Feed } from '../../console/feed.ts';
import type { PlatformDocument } from '../../console/page/platform/document.ts';
import { bodyOf, groupBody, type PlatformControl, planBody, snapshotBody } from '../control/control.ts';
import type { KeptPlan } from '../control/plans.ts';
import type { PlatformInfo } from '../control/server.ts';
import type { Core } from '../core.ts';
import { FAULT_FORMS } from '../faults.ts';
import { type Exchanges, KEPT_REQUESTS } from './exchanges.ts';
import { States } from './states.ts';

/** Milliseconds between two changes of the page. */
const EVERY_MS = 100;
const KEPT_DEEDS = 200;

/** Brings the document up to date only while a page follows it, or when one comes. */
export class PlatformConsole implements AsyncDisposable {
  readonly #core: Core;
  readonly #control: PlatformControl;
  readonly #exchanges: Exchanges;
  readonly #states: States;
  readonly #feed: Feed<PlatformDocument>;
  /** Number of the last request in the document. */
  #last = 0;
  #timer: NodeJS.Timeout | undefined;
  #console: Console | undefined;

  constructor(core: Core, control: PlatformControl, exchanges: Exchanges) {
    this.#core = core;
    this.#control = control;
    this.#exchanges = exchanges;
    this.#feed = new Feed<PlatformDocument>(EMPTY, () => this.#update());
    const changed = (): void => this.#changed();
    this.#states = new States(core, exchanges.hidden, changed);
    exchanges.onExchange = changed;
    control.onChange = changed;
  }

  /** Serves the page; resolves with its address. Rejects with the system's error when the port cannot be used. */
  async serve({ dialect, ...addresses }: PlatformInfo & { control?: string }, port: number): Promise<string> {
    // The address of a broker elsewhere may have a password in it.
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
    if (this.#feed.pages > 0) this.#timer ??= setTimeout(() => this.#update(), EVERY_MS).unref();
  }

  #update(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const feed = this.#feed;
    const items = this.#exchanges.since(this.#last);
    this.#last = this.#exchanges.count;
    if (items.length > 0) feed.change({ append: 'requests', items, keep: KEPT_REQUESTS });
    const changes = this.#states.take();
    if (changes.length > 0) feed.change(...changes);
    feed.set({
      requestCount: this.#exchanges.count,
      plans: this.#control.plans.all.map((plan) => this.#planLine(plan)),
      snapshots: this.#control.snapshots,
    });
  }

  #planLine({ id, method, path, times, used, fault, answer }: KeptPlan): PlatformDocument['plans'][number] {
    const gets = fault ?? `answer ${answer?.status}`;
    return { id, method: method ?? null, path: this.#exchanges.hidden(path), times: times ?? null, used, gets };
  }

  #actions(): Record<string, Action> {
    const control = this.#control;
    const note = (what: string): void =>
      this.#feed.change({
        append: 'deeds',
        items: [{ at: Date.now(), what: this.#exchanges.hidden(what) }],
        keep: KEPT_DEEDS,
      });
    return {
      ...this.#deviceActions(note),
      exchange: ({ number }) => this.#exchange(Number(number)),
      clear: () => {
        this.#exchanges.clear();
        this.#feed.set({ requests: [] });
      },
      plan: (body) => {
        const { id, method = 'every method', path } = control.plans.add(bodyOf(body, planBody));
        note(`plan ${id}: ${method} ${path}`);
        return { id };
      },
      unplan: ({ id }) => {
        control.plans.remove(Number(id));
        note(`plan ${Number(id)} dropped`);
      },
      unplanAll: () => {
        control.plans.clear();
        note('all plans dropped');
      },
      reset: () => {
        control.reset();
        note('reset to the start');
      },
      snapshot: (body) => {
        const { name } = bodyOf(body, snapshotBody);
        control.snapshot(name);
        note(`snapshot ${name} taken`);
      },
      restore: (body) => {
        const { name } = bodyOf(body, snapshotBody);
        control.restore(name);
        note(`snapshot ${name} restored`);
      },
      drop: (body) => {
        const { name } = bodyOf(body, snapshotBody);
        control.removeSnapshot(name);
        note(`snapshot ${name} dropped`);
      },
    };
  }

  #deviceActions(note: (what: string) => void): Record<string, Action> {
    const control = this.#control;
    return {
      online: ({ id }) => note(`${control.setOnline(String(id), true)['name']} is online, without an agent`),
      offline: ({ id }) => note(`${control.setOnline(String(id), false)['name']} is offline`),
      archive: ({ id }) => note(`${control.archiveDevice(String(id))['name']} is archived`),
      group: ({ id, group_id }) => {
        const { group_id: groupId } = bodyOf({ group_id }, groupBody);
        const { name } = control.assignGroup(String(id), groupId);
        note(
          `${String(name)} is in ${groupId === null ? 'no group' : this.#core.store.collections.group.byId(groupId)?.name}`,
        );
      },
      show: ({ device }) => {
        const { device: devices } = this.#core.store.collections;
        const row = devices.byId(String(device)) ?? devices.first({ name: String(device) });
        if (row === undefined) throw new Error(`no device has the id or the name ${JSON.stringify(device)}`);
        this.#states.show(row);
        this.#changed();
        return { id: row.id };
      },
    };
  }

  #exchange(number: number): object {
    const exchange = this.#exchanges.get(number);
    if (exchange !== undefined) return exchange;
    throw new Error(`request ${number} is not among the last ${KEPT_REQUESTS}, which are kept`);
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
