/** The device's event stream over any number of connections: what a client that reconnects with its cursor gets to know. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type EventStream, openEvents } from '../../../harness/client/sse.ts';
import { read } from '../../platform/support/read.ts';
import { statuses } from './roll-out.ts';
import { platformOf, type System, travelMs } from './system.ts';

export interface Seen {
  id: number;
  type: string;
  data: Readonly<Record<string, unknown>>;
}

/** Errors that mean: connect again. A device that is down, or going down, is no fault here. */
const AGAIN = new Set(['StreamEnded', 'Unreachable', 'NoAnswer', 'AbortError']);

export class Follower implements AsyncDisposable {
  /** Every event once, as ids tell them apart. */
  readonly seen = new Map<number, Seen>();
  readonly #t: System;
  #stream: EventStream | undefined;
  #cursor: number | undefined;

  private constructor(t: System) {
    this.#t = t;
  }

  /** Resolves when the stream is open, so that nothing that happens later is missed. */
  static async open(t: System): Promise<Follower> {
    const follower = new Follower(t);
    await follower.#connect();
    return follower;
  }

  /** Waits for the event of that type about that deployment. Fails the check when it does not come in time. */
  async until(type: string, deploymentId: string): Promise<Seen> {
    const t: System = this.#t;
    const fits = (event: Seen): boolean => event.type === type && event.data['deployment_id'] === deploymentId;
    const deadline = performance.now() + travelMs(t);
    for (;;) {
      const found = [...this.seen.values()].find(fits);
      if (found !== undefined) return found;
      const within = deadline - performance.now();
      if (within <= 0) await this.#missed(type, deploymentId);
      await this.#read(within, `${type} of ${deploymentId}`);
    }
  }

  /** What the platform makes of the deployment tells whose fault it is. */
  async #missed(type: string, deploymentId: string): Promise<never> {
    const t: System = this.#t;
    const others = [...this.seen.values()].slice(-5).map(shown);
    const item = await read(platformOf(t), 'deployments', deploymentId);
    t.must(false, {
      expected: `${type} of ${deploymentId} on the device's event stream within ${travelMs(t) / 1000} s`,
      actual: `no such event; on the platform: ${statuses(item)}; ${others.length === 0 ? 'no other events' : `last events: ${others.join(', ')}`}`,
    });
  }

  /** Distinct events of that type about that deployment. */
  count(type: string, deploymentId: string): number {
    return [...this.seen.values()].filter(
      (event) => event.type === type && event.data['deployment_id'] === deploymentId,
    ).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stream?.close();
  }

  async #read(within: number, what: string): Promise<void> {
    try {
      this.#stream ??= await this.#connect();
      const frame = await this.#stream.next({ within, for: what });
      const event = parse(frame.data ?? '');
      if (event === undefined) return;
      this.#cursor = Math.max(event.id, this.#cursor ?? event.id);
      if (!this.seen.has(event.id)) this.seen.set(event.id, event);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      if (error.name === 'StreamTimeout') return;
      if (!AGAIN.has(error.name)) throw error;
      await this.#drop();
      await sleep(100, undefined, { signal: this.#t.signal });
    }
  }

  async #connect(): Promise<EventStream> {
    const stream = await openEvents(this.#t.device.http, this.#cursor === undefined ? {} : { after: this.#cursor });
    if (stream.status !== 200) {
      const body = stream.head();
      await stream.close();
      return this.#t.blocked(`the device answered ${stream.status} to GET /events: ${body.slice(0, 200)}`);
    }
    this.#stream = stream;
    return stream;
  }

  async #drop(): Promise<void> {
    const stream = this.#stream;
    this.#stream = undefined;
    await stream?.close();
  }
}

const shown = ({ id, type, data }: Seen): string => `${id} ${type} ${String(data['deployment_id'] ?? '')}`;

function parse(text: string): Seen | undefined {
  try {
    const { id, type, data } = JSON.parse(text) as Partial<Seen>;
    if (typeof id !== 'number' || typeof type !== 'string' || typeof data !== 'object' || data === null)
      return undefined;
    return { id, type, data };
  } catch {
    return undefined;
  }
}
