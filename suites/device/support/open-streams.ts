/**
 * The event streams that the checks of one target hold at once. A device may limit their number, so a stream that is throttled may
 * have to wait for another check to close one of its own.
 */
import type { EventStream } from '../../../harness/client/sse.ts';
import type { ControlInfo } from '../../../harness/contract/control.ts';
import type { Device } from './device.ts';

/** A device takes a moment to notice that a stream was closed and that it can serve another one. */
const NOTICED_MS = 2000;

class OpenStreams {
  readonly #streams = new Set<EventStream>();
  #lastServedAt = Number.NEGATIVE_INFINITY;
  /** Settles when the last of the checks that were throttled has had its turn. */
  #turns: Promise<unknown> = Promise.resolve();

  add(stream: EventStream): void {
    this.#streams.add(stream);
    if (stream.status === 200) this.#lastServedAt = performance.now();
  }

  /** To be called with the streams of a check once it has closed them. */
  remove(streams: readonly EventStream[]): void {
    for (const stream of streams) this.#streams.delete(stream);
    if (streams.some(({ status }) => status === 200)) this.#lastServedAt = performance.now();
  }

  get count(): number {
    return countOpen(this.#streams);
  }

  /** Whether the device may still count a stream that is closed by now. */
  get justClosed(): boolean {
    return (
      performance.now() - this.#lastServedAt < NOTICED_MS ||
      [...this.#streams].some(
        ({ status, ended }) => status === 200 && ended !== undefined && performance.now() - ended.at < NOTICED_MS,
      )
    );
  }

  /** Whether the device may throttle because of streams of this run. */
  get mayBeInTheWay(): boolean {
    return this.count > 0 || this.justClosed;
  }

  /** Runs throttled checks one after the other: two of them could wait for each other's streams for ever. */
  inTurn<T>(run: () => Promise<T>): Promise<T> {
    const turn = this.#turns.then(run);
    this.#turns = turn.catch(() => {});
    return turn;
  }
}

/** `info` is one object for all checks of a target, however their contexts are copied and wherever the agent moves. */
const byTarget = new WeakMap<ControlInfo, OpenStreams>();

export function openStreamsOf({ info }: Device): OpenStreams {
  const known = byTarget.get(info) ?? new OpenStreams();
  byTarget.set(info, known);
  return known;
}

export const countOpen = (streams: Iterable<EventStream>): number =>
  [...streams].filter(({ status, ended }) => status === 200 && ended === undefined).length;
