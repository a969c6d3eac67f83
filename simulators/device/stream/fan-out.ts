/** Sends events to live subscribers, and encodes each batch once per type filter and HTTP version. */
import type { LiveSubscriber, Session, StreamBehaviour, TypeFilter } from '../behaviour.ts';
import type { StoredEvent } from '../log/line.ts';

export interface View {
  readonly key: string;
  readonly filter: TypeFilter;
  /** False for HTTP/1.0, which has no chunks. */
  readonly chunked: boolean;
  subscribers: number;
  batch: readonly StoredEvent[] | undefined;
  bytes: Buffer;
}

export interface StreamSubscriber extends LiveSubscriber {
  readonly view: View;
  readonly session: Session | undefined;
  deliver(bytes: Buffer, latest: number): void;
  checkLag(): void;
  end(): void;
  drop(): void;
}

const NOTHING = Buffer.alloc(0);

export class FanOut {
  readonly #behaviour: StreamBehaviour;
  readonly #all = new Set<StreamSubscriber>();
  readonly #live = new Set<StreamSubscriber>();
  readonly #views = new Map<string, View>();

  constructor(behaviour: StreamBehaviour) {
    this.#behaviour = behaviour;
  }

  get size(): number {
    return this.#all.size;
  }

  view(filter: TypeFilter, chunked: boolean): View {
    // Null stands for no filter, and differs from the empty list of a filter that matches no event.
    const key = JSON.stringify([chunked, filter === undefined ? null : [...filter].sort()]);
    return this.#views.get(key) ?? { key, filter, chunked, subscribers: 0, batch: undefined, bytes: NOTHING };
  }

  enrol(subscriber: StreamSubscriber): void {
    const { view } = subscriber;
    this.#all.add(subscriber);
    view.subscribers += 1;
    this.#views.set(view.key, view);
  }

  add(subscriber: StreamSubscriber): void {
    this.#live.add(subscriber);
  }

  delete(subscriber: StreamSubscriber): void {
    this.#live.delete(subscriber);
  }

  forget(subscriber: StreamSubscriber): void {
    this.#live.delete(subscriber);
    if (!this.#all.delete(subscriber)) return;
    const { view } = subscriber;
    view.subscribers -= 1;
    if (view.subscribers === 0 && this.#views.get(view.key) === view) this.#views.delete(view.key);
  }

  publish(events: readonly StoredEvent[]): void {
    if (this.#all.size === 0) return;
    const latest = events.at(-1)?.id ?? 0;
    const encoded: View[] = [];
    for (const subscriber of this.#behaviour.recipients(this.#live)) {
      const { view, session } = subscriber;
      if (session?.live) {
        subscriber.deliver(this.#encode(session.live(events), view), latest);
        continue;
      }
      if (view.batch !== events) {
        view.batch = events;
        view.bytes = this.#encode(events, view);
        encoded.push(view);
      }
      subscriber.deliver(view.bytes, latest);
    }
    for (const view of encoded) {
      view.batch = undefined;
      view.bytes = NOTHING;
    }
    if (this.#all.size > this.#live.size) for (const subscriber of this.#all) subscriber.checkLag();
  }

  end(): void {
    for (const subscriber of this.#all) subscriber.end();
  }

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
