/** Hands stored events to everyone who is listening: each frame is encoded once for all who want the same. */
import type { StreamBehaviour } from '../behaviour.ts';
import type { StoredEvent } from '../log/line.ts';
import type { TypeFilter } from './filter.ts';
import type { Subscriber } from './subscriber.ts';

/** What some subscribers are sent alike. */
export interface View {
  readonly filter: TypeFilter;
  /** HTTP/1.1 bodies are chunked; an HTTP/1.0 body ends with the connection. */
  readonly chunked: boolean;
  /** The batch that `bytes` were made for. */
  batch: readonly StoredEvent[] | undefined;
  bytes: Buffer;
}

const NOTHING = Buffer.alloc(0);

export class FanOut {
  readonly #behaviour: StreamBehaviour;
  /** Everyone with an open stream. */
  readonly #all = new Set<Subscriber>();
  /** Those who have read everything stored. */
  readonly #live = new Set<Subscriber>();
  readonly #views = new Map<string, View>();

  constructor(behaviour: StreamBehaviour) {
    this.#behaviour = behaviour;
  }

  get size(): number {
    return this.#all.size;
  }

  view(filter: TypeFilter, chunked: boolean): View {
    const key = `${chunked} ${filter ? [...filter].sort().join() : '*'}`;
    const known = this.#views.get(key);
    if (known) return known;
    const view: View = { filter, chunked, batch: undefined, bytes: NOTHING };
    this.#views.set(key, view);
    return view;
  }

  enrol(subscriber: Subscriber): void {
    this.#all.add(subscriber);
  }

  add(subscriber: Subscriber): void {
    this.#live.add(subscriber);
  }

  delete(subscriber: Subscriber): void {
    this.#live.delete(subscriber);
  }

  forget(subscriber: Subscriber): void {
    this.#live.delete(subscriber);
    this.#all.delete(subscriber);
    if (this.#all.size === 0) this.#views.clear();
  }

  publish(events: readonly StoredEvent[]): void {
    if (this.#all.size === 0) return;
    const latest = events.at(-1)?.id ?? 0;
    for (const subscriber of this.#behaviour.recipients(this.#live)) {
      const { view, session } = subscriber;
      if (session?.live) {
        subscriber.deliver(this.#encode(session.live(events), view), latest);
        continue;
      }
      if (view.batch !== events) {
        view.batch = events;
        view.bytes = this.#encode(events, view);
      }
      subscriber.deliver(view.bytes, latest);
    }
    for (const view of this.#views.values()) {
      view.batch = undefined;
      view.bytes = NOTHING;
    }
    if (this.#all.size > this.#live.size) for (const subscriber of this.#all) subscriber.checkLag();
  }

  /** Ends every stream in order. */
  end(): void {
    for (const subscriber of this.#all) subscriber.end();
  }

  /** Cuts every stream. */
  drop(): void {
    for (const subscriber of this.#all) subscriber.drop();
  }

  #encode(events: readonly StoredEvent[], { filter, chunked }: View): Buffer {
    const { wants, frame, chunk } = this.#behaviour;
    let frames = '';
    for (const event of events) if (wants(filter, event.type, 'live')) frames += frame(event);
    if (frames === '') return NOTHING;
    return chunked ? chunk(Buffer.from(frames)) : Buffer.from(frames);
  }
}
