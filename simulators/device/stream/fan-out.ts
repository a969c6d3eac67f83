/** Hands stored events to everyone who is listening: each frame is encoded once for all who want the same. */
import type { StreamBehaviour } from '../behaviour.ts';
import type { StoredEvent } from '../log/line.ts';
import type { TypeFilter } from './filter.ts';
import type { Subscriber } from './subscriber.ts';

const NOTHING = Buffer.alloc(0);

export class FanOut {
  readonly #behaviour: StreamBehaviour;
  /** Everyone with an open stream. */
  readonly #all = new Set<Subscriber>();
  /** Those who have read everything stored. */
  readonly #live = new Set<Subscriber>();

  constructor(behaviour: StreamBehaviour) {
    this.#behaviour = behaviour;
  }

  get size(): number {
    return this.#all.size;
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
  }

  publish(events: readonly StoredEvent[]): void {
    if (this.#all.size === 0) return;
    const latest = events.at(-1)?.id ?? 0;
    const encoded = new Map<string, Buffer>();
    this.#behaviour.fanOut(this.#live, (subscriber) => {
      const { filter, chunked, session } = subscriber;
      if (session?.live) {
        subscriber.deliver(this.#encode(session.live(events), filter, chunked), latest);
        return;
      }
      const key = `${chunked}${filter ? [...filter].join(',') : '*'}`;
      let bytes = encoded.get(key);
      if (!bytes) {
        bytes = this.#encode(events, filter, chunked);
        encoded.set(key, bytes);
      }
      subscriber.deliver(bytes, latest);
    });
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

  #encode(events: readonly StoredEvent[], filter: TypeFilter, chunked: boolean): Buffer {
    const { wants, frame, chunk } = this.#behaviour;
    let frames = '';
    for (const event of events) if (wants(filter, event.type, 'live')) frames += frame(event);
    if (frames === '') return NOTHING;
    return chunked ? chunk(Buffer.from(frames)) : Buffer.from(frames);
  }
}
