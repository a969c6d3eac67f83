/** Delivers stored events to the live subscribers. A batch is encoded once for all subscribers that want the same. */
import type { LiveSubscriber, Session, StreamBehaviour } from '../behaviour.ts';
import type { StoredEvent } from '../log/line.ts';
import type { TypeFilter } from './protocol.ts';

/** The encoded form of a batch that some subscribers share. */
export interface View {
  readonly filter: TypeFilter;
  /** HTTP/1.1 bodies are chunked; an HTTP/1.0 body ends with the connection. */
  readonly chunked: boolean;
  /** Open streams that share it. */
  subscribers: number;
  /** The batch that `bytes` were made for. */
  batch: readonly StoredEvent[] | undefined;
  bytes: Buffer;
}

/** A subscriber as the fan-out drives it. */
export interface StreamSubscriber extends LiveSubscriber {
  readonly view: View;
  readonly session: Session | undefined;
  /** Sends encoded frames; `latest` is the id of the last event in them. */
  deliver(bytes: Buffer, latest: number): void;
  /** Drops the subscriber when it is too far behind. */
  checkLag(): void;
  end(): void;
  drop(): void;
}

const NOTHING = Buffer.alloc(0);

/** The event streams of one agent. */
export class FanOut {
  readonly #behaviour: StreamBehaviour;
  /** All open streams. */
  readonly #all = new Set<StreamSubscriber>();
  /** Those that have read everything stored. */
  readonly #live = new Set<StreamSubscriber>();
  readonly #views = new Map<string, View>();

  constructor(behaviour: StreamBehaviour) {
    this.#behaviour = behaviour;
  }

  /** Open streams. */
  get size(): number {
    return this.#all.size;
  }

  /**
   * The view of all subscribers with this filter and framing. It is shared from the first `enrol` to the last `forget`.
   */
  view(filter: TypeFilter, chunked: boolean): View {
    const known = this.#views.get(keyOf(filter, chunked));
    return known ?? { filter, chunked, subscribers: 0, batch: undefined, bytes: NOTHING };
  }

  /** A stream was opened. */
  enrol(subscriber: StreamSubscriber): void {
    const { view } = subscriber;
    this.#all.add(subscriber);
    view.subscribers += 1;
    this.#views.set(keyOf(view.filter, view.chunked), view);
  }

  /** The subscriber has read everything stored, and gets batches from now on. */
  add(subscriber: StreamSubscriber): void {
    this.#live.add(subscriber);
  }

  /** The subscriber fell behind, and gets no batches until it is added again. */
  delete(subscriber: StreamSubscriber): void {
    this.#live.delete(subscriber);
  }

  /** A stream was closed. */
  forget(subscriber: StreamSubscriber): void {
    this.#live.delete(subscriber);
    if (!this.#all.delete(subscriber)) return;
    const { view } = subscriber;
    view.subscribers -= 1;
    const key = keyOf(view.filter, view.chunked);
    if (view.subscribers === 0 && this.#views.get(key) === view) this.#views.delete(key);
  }

  /** Delivers a batch in the tick in which it became readable. */
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

/** A client may ask for a type of any name, so no name may mean that there is no filter. */
const keyOf = (filter: TypeFilter, chunked: boolean): string =>
  JSON.stringify([chunked, filter === undefined ? null : [...filter].sort()]);
