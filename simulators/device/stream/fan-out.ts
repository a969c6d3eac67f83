/** Hands stored events to everyone who is listening: each frame is encoded once for all who want the same. */
import type { StreamBehaviour } from '../behaviour.ts';
import type { StoredEvent } from '../log/line.ts';
import { chunk } from './frame.ts';
import type { Subscriber } from './subscriber.ts';

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
    const latest = events.at(-1)?.id ?? 0;
    const encoded = new Map<string, Buffer>();
    for (const subscriber of this.#live) subscriber.deliver(this.#encoded(encoded, events, subscriber), latest);
    if (this.#all.size > this.#live.size) for (const subscriber of this.#all) subscriber.checkLag();
  }

  end(): void {
    for (const subscriber of this.#all) subscriber.end();
  }

  drop(): void {
    for (const subscriber of this.#all) subscriber.drop();
  }

  #encoded(cache: Map<string, Buffer>, events: readonly StoredEvent[], { filter, chunked }: Subscriber): Buffer {
    const key = `${chunked}${filter ? [...filter].join(',') : '*'}`;
    const known = cache.get(key);
    if (known) return known;
    const { wants, frame } = this.#behaviour;
    let frames = '';
    for (const event of events) if (wants(filter, event.type, 'live')) frames += frame(event);
    const body = Buffer.from(frames);
    const bytes = chunked && body.length > 0 ? chunk(body) : body;
    cache.set(key, bytes);
    return bytes;
  }
}
