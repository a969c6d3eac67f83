/** Follows the device's event stream over any number of connections, as a client does that reconnects with its cursor. */
import { setTimeout as sleep } from 'node:timers/promises';
import { NoAnswer, Unreachable } from '../../../harness/client/errors.ts';
import { type EventStream, openEvents, StreamEnded, StreamTimeout } from '../../../harness/client/sse.ts';
import { type System, waitForEffect } from './check.ts';
import { platformSide, readItem } from './platform-side.ts';
import { statuses } from './roll-out.ts';

export interface DeviceEvent {
  id: number;
  type: string;
  data: Readonly<Record<string, unknown>>;
}

const RECONNECT_PAUSE_MS = 100;
const EVENTS_SHOWN = 5;

/** Reads events until one that a check waits for has come, and counts them. */
export class EventFollower implements AsyncDisposable {
  /** Every event once, by its id. */
  readonly #events = new Map<number, DeviceEvent>();
  readonly #t: System;
  #stream: EventStream | undefined;
  #cursor: number | undefined;

  private constructor(t: System) {
    this.#t = t;
  }

  /** Resolves when the stream is open, so that it misses no later event. Blocks the check if the device refuses. */
  static async open(t: System): Promise<EventFollower> {
    const follower = new EventFollower(t);
    follower.#stream = await follower.#connect();
    return follower;
  }

  /** Waits for the event of that type about that deployment. Fails the check if it does not come in time. */
  async until(type: string, deploymentId: string): Promise<DeviceEvent> {
    const wait = waitForEffect(this.#t, type);
    const deadline = performance.now() + wait.timeoutMs;
    for (;;) {
      const [found] = this.#of(type, deploymentId);
      if (found !== undefined) {
        wait.came();
        return found;
      }
      const within = deadline - performance.now();
      if (within <= 0) {
        wait.neverCame();
        await this.#fail(type, deploymentId, wait.timeoutMs);
      }
      await this.#read(within, `${type} of ${deploymentId}`);
    }
  }

  /** Number of events of that type about that deployment, each id counted once. */
  count(type: string, deploymentId: string): number {
    return this.#of(type, deploymentId).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stream?.close();
  }

  #of(type: string, deploymentId: string): DeviceEvent[] {
    return [...this.#events.values()].filter(
      (event) => event.type === type && event.data['deployment_id'] === deploymentId,
    );
  }

  /** Shows the deployment on the platform too, which tells which side is at fault. */
  async #fail(type: string, deploymentId: string, timeoutMs: number): Promise<never> {
    const t: System = this.#t;
    const last = [...this.#events.values()].slice(-EVENTS_SHOWN).map(describe);
    const item = await readItem(platformSide(t), 'deployments', deploymentId);
    t.must(false, {
      expected: `${type} of ${deploymentId} on the device's event stream within ${timeoutMs / 1000} s`,
      actual: `no such event; on the platform: ${statuses(item)}; ${last.length === 0 ? 'no other events' : `last events: ${last.join(', ')}`}`,
    });
  }

  async #read(within: number, what: string): Promise<void> {
    try {
      this.#stream ??= await this.#connect();
      const frame = await this.#stream.next({ within, for: what });
      const event = parse(frame.data ?? '');
      if (event === undefined) return;
      this.#cursor = Math.max(event.id, this.#cursor ?? event.id);
      if (!this.#events.has(event.id)) this.#events.set(event.id, event);
    } catch (error) {
      if (error instanceof StreamTimeout) return;
      if (!isDisconnected(error)) throw error;
      await this.#drop();
      await sleep(RECONNECT_PAUSE_MS, undefined, { signal: this.#t.signal });
    }
  }

  async #connect(): Promise<EventStream> {
    const stream = await openEvents(this.#t.device.http, this.#cursor === undefined ? {} : { after: this.#cursor });
    if (stream.status === 200) return stream;
    const body = stream.head();
    await stream.close();
    return this.#t.blocked(`the device answered ${stream.status} to GET /events: ${body.slice(0, 200)}`);
  }

  async #drop(): Promise<void> {
    const stream = this.#stream;
    this.#stream = undefined;
    await stream?.close();
  }
}

/** A device that is restarting or offline is no fault here: the follower connects again. */
const isDisconnected = (error: unknown): boolean =>
  error instanceof StreamEnded || error instanceof Unreachable || error instanceof NoAnswer;

const describe = ({ id, type, data }: DeviceEvent): string => `${id} ${type} ${String(data['deployment_id'] ?? '')}`;

function parse(text: string): DeviceEvent | undefined {
  try {
    const { id, type, data } = JSON.parse(text) as Partial<DeviceEvent>;
    if (typeof id !== 'number' || typeof type !== 'string' || typeof data !== 'object' || data === null)
      return undefined;
    return { id, type, data };
  } catch {
    return undefined;
  }
}
