import { defined } from '../../../harness/common/defined.ts';
import { controlDeployment } from '../../../harness/contract/control.ts';
import { type Action, type Console, serveConsole, wholeNumber } from '../../console/console.ts';
import { Feed } from '../../console/feed.ts';
import type { Deviation, DeviceDocument } from '../../console/page/device/document.ts';
import { asStartError } from '../options.ts';
import type { Seen } from '../ports.ts';
import type { ProcessSettings } from './start.ts';
import type { SupervisedDevice } from './supervisor.ts';

const KEPT = 500;

export class DeviceConsole implements AsyncDisposable {
  readonly #feed: Feed<DeviceDocument>;
  #on: Required<Pick<ProcessSettings, 'defects' | 'variants'>>;
  #device: SupervisedDevice | undefined;
  #console: Console | undefined;
  #begins = true;

  constructor(settings: ProcessSettings, deviations: readonly Deviation[]) {
    const { defects = [], variants = [] } = settings;
    this.#on = { defects, variants };
    this.#feed = new Feed<DeviceDocument>({
      deviceId: '',
      addresses: {},
      retention: null,
      heartbeatSeconds: 0,
      agent: 'down',
      pid: null,
      current: null,
      log: { earliest: 0, latest: 0, count: 0, bytes: 0 },
      events: [],
      frames: [],
      listeners: {},
      deeds: [],
      deviations: [...deviations],
      switchedOn: [...defects, ...variants],
    });
  }

  readonly seen = ({ events, frames, listeners, log, current }: Seen): void => {
    const feed = this.#feed;
    const known = feed.document.events.at(-1)?.id ?? 0;
    const isLost = this.#begins && (events.at(-1)?.id ?? 0) < known;
    const fresh = this.#begins ? events.filter(({ id }) => id > known) : events;
    if (isLost) feed.change({ set: 'events', to: events });
    else if (fresh.length > 0) feed.change({ append: 'events', items: fresh, keep: KEPT });
    this.#begins = false;
    if (frames.length > 0) feed.change({ append: 'frames', items: frames, keep: KEPT });
    feed.set(defined({ listeners, log, current }));
  };

  readonly changed = (): void => {
    const device = this.#device;
    if (device === undefined) return;
    const agent = device.running ? 'up' : 'down';
    if (agent !== this.#feed.document.agent) this.#note(agent === 'up' ? 'the agent serves' : 'the agent is down');
    this.#feed.set({ agent, pid: device.running ? (device.pid ?? null) : null });
    if (agent === 'up') {
      const { ready: _ready, device_id: deviceId = '', ...addresses } = device.ready ?? {};
      const { retention = null, heartbeat_seconds: heartbeatSeconds = 0 } = device.told ?? {};
      this.#feed.set({
        deviceId,
        addresses: Object.fromEntries(Object.entries(addresses).map(([name, value]) => [name, String(value)])),
        retention,
        heartbeatSeconds,
      });
    } else {
      this.#begins = true;
      this.#feed.set({ listeners: {} });
    }
  };

  async serve(device: SupervisedDevice, port: number): Promise<string> {
    this.#device = device;
    this.changed();
    const options = { page: 'device', title: 'Device', feed: this.#feed, actions: this.#actions(device), port };
    this.#console = await asStartError('ui-port', serveConsole(options));
    return this.#console.url;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#console?.[Symbol.asyncDispose]();
  }

  #actions(device: SupervisedDevice): Record<string, Action> {
    return {
      deploy: async (body) => {
        if (!controlDeployment.is(body)) throw new Error('this is no deployment');
        return this.#noted(await device.deploy(body), ({ id, status }) => `deploy: ${id} is ${status}`);
      },
      remove: async ({ id }) => this.#noted(await device.remove(String(id)), (done) => `remove: ${done.id}`),
      publish: async ({ count }) => {
        const events = wholeNumber('count of events', count, 1, 1_000_000);
        return this.#noted(await device.publish(events), (ids) => `publish: ${ids.first_id} to ${ids.last_id}`);
      },
      compact: async () =>
        this.#noted(await device.compact(), (log) => `compact: the log begins with ${log.earliest_id}`),
      cut: async () => this.#noted(await device.cut(), ({ streams }) => `cut: ${streams} event streams`),
      kill: async () => this.#noted(await device.stop('SIGKILL'), () => 'kill (SIGKILL)'),
      restart: async () => {
        this.#note('restart (SIGTERM)');
        await device.stop('SIGTERM');
        await device.start();
      },
      start: async () => this.#noted(await device.start(), () => 'start'),
      switch: async ({ names }) => this.#switch(device, names),
    };
  }

  /** Restarts the agent with the named deviations, because the agent reads the names only at its start. */
  async #switch(device: SupervisedDevice, names: unknown): Promise<void> {
    const all = this.#feed.document.deviations;
    const wanted = Array.isArray(names) ? names : [];
    const unknown = wanted.find((name) => !all.some((one) => one.name === name));
    if (!Array.isArray(names) || unknown !== undefined)
      throw new RangeError(`no deviation is called ${String(unknown)}`);
    const on = (kind: Deviation['kind']): string[] =>
      all.filter((one) => one.kind === kind && wanted.includes(one.name)).map(({ name }) => name);
    const before = this.#on;
    const after = { defects: on('defect'), variants: on('variant') };
    this.#note(`switched on: ${wanted.join(', ') || 'nothing'}`);
    await device.stop('SIGTERM');
    device.configure(after);
    try {
      await device.start();
    } catch (error) {
      device.configure(before);
      await device.start();
      throw error;
    }
    this.#on = after;
    this.#feed.set({ switchedOn: [...after.defects, ...after.variants] });
  }

  #noted<T>(result: T, what: (result: T) => string): T {
    this.#note(what(result));
    return result;
  }

  #note(what: string): void {
    this.#feed.change({ append: 'deeds', items: [{ at: Date.now(), what }], keep: KEPT });
  }
}
