/**
 * A device may limit how many requests and streams it serves at once, or how often: the specification shows no limit. So a request
 * that is throttled (429 or 503) is sent again, and a stream may have to wait for another check to close one of its own. `poll` does
 * not fit, since the answer says how long to wait.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { EventStream } from '../../../harness/client/sse.ts';
import type { ControlInfo } from '../../../harness/contract/control.ts';
import type { Device } from './check.ts';

/** Long enough for other checks to close the streams that may be in the way. */
const LONGEST_MS = 60_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2000;

export const isThrottled = (status: number): boolean => status === 429 || status === 503;

interface Answer {
  status: number;
  headers: Readonly<Record<string, string>>;
}

interface RetryOptions<A> {
  /**
   * Whether the cause may go away by itself, such as a stream of another check. Then the request is soon sent again, whatever
   * `Retry-After` says, since the device cannot know when that will be. Default: no.
   */
  mayClear?: () => boolean;
  /** Whether the check itself is the cause: then it is of no use to wait as long as `Retry-After` asks. Default: no. */
  ownDoing?: () => boolean;
  /** Gets every answer but the last. */
  discard?: (answer: A) => Promise<void>;
}

/**
 * Sends a request until its answer does not throttle, as long as the cause may clear or the device names a time to come back.
 * Gives the last answer, which may be a throttling one.
 */
export async function retryWhileThrottled<A extends Answer>(
  t: Device,
  send: () => Promise<A>,
  { mayClear = () => false, ownDoing = () => false, discard = async () => {} }: RetryOptions<A> = {},
): Promise<A> {
  const deadline = performance.now() + LONGEST_MS;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    const answer = await send();
    if (!isThrottled(answer.status)) return answer;
    const after = retryAfterMs(answer);
    const clears = mayClear();
    if (performance.now() >= deadline || (!clears && (after === undefined || ownDoing()))) return answer;
    await discard(answer);
    const wait = clears ? pause : (after ?? pause);
    await sleep(Math.min(wait, t.patienceMs), undefined, { signal: t.signal });
  }
}

function retryAfterMs({ headers }: Answer): number | undefined {
  const text = headers['retry-after'];
  const seconds = Number(text);
  return text === undefined || !Number.isFinite(seconds) ? undefined : Math.max(seconds * 1000, FIRST_PAUSE_MS);
}

/** A device takes a moment to notice that a stream was closed and that it can serve another one. */
const NOTICED_MS = 2000;

/** The event streams that the checks of one target hold at once. */
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
