/** Subscriptions as checks speak of them. What does not come in time, or ends early, becomes a finding of the check. */
import { NoAnswer } from '../../../harness/client/errors.ts';
import type { HttpClient } from '../../../harness/client/http.ts';
import {
  type EventStream,
  type OpenEvents,
  openEvents,
  StreamEnded,
  StreamTimeout,
} from '../../../harness/client/sse.ts';
import type { SseFrame } from '../../../harness/client/sse-parser.ts';
import { mediaType } from './ask.ts';
import { persist, puttingOff } from './busy.ts';
import type { Device } from './context.ts';
import { DECIMAL, isControl, readEvent, type SeenEvent, showIds } from './events.ts';
import { patience, waitedInVain } from './patience.ts';

export class Subscription {
  readonly stream: EventStream;
  /** Events in the order in which `next` and its kin gave them out. */
  readonly events: SeenEvent[] = [];
  readonly #context: Device;

  constructor(context: Device, stream: EventStream) {
    this.#context = context;
    this.stream = stream;
  }

  /** The next event; blocks without id, event and data are passed over. */
  async next(what: string, within = patience(this.#context)): Promise<SeenEvent> {
    const deadline = performance.now() + within;
    for (;;) {
      const frame = await this.#judged(this.stream.next({ within: deadline - performance.now(), for: what }), what);
      const event = readEvent(this.#context, frame);
      if (event === undefined) continue;
      this.events.push(event);
      return event;
    }
  }

  /** Events up to and including the first that fits. Foreign ones may lie between: a real agent emits its own. */
  async until(
    fits: (event: SeenEvent) => boolean,
    what: string,
    within = patience(this.#context),
  ): Promise<SeenEvent[]> {
    const deadline = performance.now() + within;
    const taken: SeenEvent[] = [];
    for (;;) {
      const event = await this.next(what, deadline - performance.now());
      taken.push(event);
      if (fits(event)) return taken;
    }
  }

  /** Events up to and including the first whose id is `id` or above it. */
  reach(id: bigint, what = `event ${id}`, within = patience(this.#context)): Promise<SeenEvent[]> {
    return this.until((event) => event.id >= id, what, within);
  }

  /** Reads until the stream ends, or patience does; gives back whatever came. Decides nothing. */
  rest(): Promise<SeenEvent[]> {
    return this.drain(undefined);
  }

  /** The same, and also ends when that event, or one after it, has come. */
  async drain(last: bigint | undefined): Promise<SeenEvent[]> {
    const { stream } = this;
    const deadline = performance.now() + patience(this.#context);
    let looked = 0;
    const arrived = (): boolean => {
      const fresh = stream.frames.slice(looked);
      looked = stream.frames.length;
      return (
        last !== undefined &&
        fresh.some((frame) => !isControl(frame) && DECIMAL.test(frame.id ?? '') && BigInt(frame.id ?? '') >= last)
      );
    };
    while (!arrived() && stream.ended === undefined) {
      if (performance.now() >= deadline) {
        if (last !== undefined) waitedInVain(this.#context);
        break;
      }
      const seen = { frames: looked, comments: stream.comments.length };
      await stream
        .activity(seen, { within: deadline - performance.now(), for: 'the rest of the stream' })
        .catch(() => {});
    }
    await this.close();
    return stream.frames.flatMap((frame) => readEvent(this.#context, frame) ?? []);
  }

  close(): Promise<void> {
    return this.stream.close();
  }

  async #judged(pending: Promise<SseFrame>, what: string): Promise<SseFrame> {
    try {
      return await pending;
    } catch (error) {
      if (!(error instanceof StreamTimeout || error instanceof StreamEnded)) throw error;
      if (error instanceof StreamTimeout) waitedInVain(this.#context);
      this.#context.must(false, {
        expected: `${what}, on an open stream`,
        actual: `${error.message}${this.events.length === 0 ? '' : `; events before it: ${showIds(this.events)}`}`,
      });
      throw error;
    }
  }
}

export interface Streams {
  /** From here on streams are opened through this client: a restart may have moved the agent. */
  use(http: HttpClient): void;
  /** Opens a stream that must be served: 200 and an event stream. */
  open(options?: OpenEvents, http?: HttpClient): Promise<Subscription>;
  /** Opens one more beside those that are open, up to as many as the device serves at once; undefined when it puts off. */
  another(options: OpenEvents): Promise<Subscription | undefined>;
  /** Reads on in a stream that `try` opened. */
  follow(stream: EventStream): Subscription;
  /** Opens one whatever the answer, for the check to judge. */
  try(options?: OpenEvents, http?: HttpClient): Promise<EventStream>;
}

/** Of all checks that run now. */
const everyStream = new Set<EventStream>();

/** A device takes a moment to see that a stream has been closed, and to have room for another one. */
const NOTICED_MS = 2000;
let lastServed = Number.NEGATIVE_INFINITY;
const justClosed = (): boolean =>
  performance.now() - lastServed < NOTICED_MS ||
  [...everyStream].some(
    ({ status, ended }) => status === 200 && ended !== undefined && performance.now() - ended.at < NOTICED_MS,
  );

/** Whether streams of this run, or such as the device may still take for open, can be what a device puts off for. */
export const streamsInTheWay = (): boolean => stillOpen(everyStream) > 0 || justClosed();

/** The device serves no more streams at once, and other checks hold some: this one gives its own back, and begins again. */
class PutOff extends Error {
  override name = 'PutOff';
}

/** Ends when the last of those that were put off has had its turn. */
let turns: Promise<unknown> = Promise.resolve();

const stillOpen = (streams: Iterable<EventStream>): number =>
  [...streams].filter(({ status, ended }) => status === 200 && ended === undefined).length;

/**
 * Runs `use`, and closes every stream it opened, however it ends. Where a device puts it off for the streams of other checks, it
 * runs again, one such check at a time: whoever waits holding what another waits for would wait for ever.
 */
export async function withStreams<T>(context: Device, use: (streams: Streams) => Promise<T>): Promise<T> {
  try {
    return await withOwn(context, use, false);
  } catch (error) {
    if (!(error instanceof PutOff)) throw error;
    const turn = turns.then(() => withOwn(context, use, true));
    turns = turn.catch(() => {});
    return await turn;
  }
}

async function withOwn<T>(context: Device, use: (streams: Streams) => Promise<T>, patiently: boolean): Promise<T> {
  const opened: EventStream[] = [];
  let putOff = false;
  let standard: HttpClient | undefined;
  const attempt = async (
    options: OpenEvents = {},
    http = standard ?? context.http,
    needed = true,
  ): Promise<EventStream> => {
    if (putOff) throw new PutOff();
    try {
      // Own streams are not going to end while this one is waited for.
      const others = (): boolean => stillOpen(everyStream) > stillOpen(opened);
      const stream = await persist(
        context,
        () => openEvents(http, { within: patience(context), ...options }),
        () => needed && ((patiently && others()) || (justClosed() && !others())),
        (refused) => refused.close(),
        () => stillOpen(opened) > 0 || (!patiently && others()),
      );
      if (puttingOff(stream.status) && needed && !patiently && others()) {
        putOff = true;
        await stream.close();
        throw new PutOff();
      }
      opened.push(stream);
      everyStream.add(stream);
      if (stream.status === 200) lastServed = performance.now();
      return stream;
    } catch (error) {
      if (!(error instanceof NoAnswer) || context.signal.aborted) throw error;
      waitedInVain(context);
      context.must(false, { expected: 'an answer to GET /events', actual: error.message });
      throw error;
    }
  };
  try {
    return await use({
      use: (http) => {
        standard = http;
      },
      follow: (stream) => new Subscription(context, stream),
      try: (options, http) => attempt(options, http),
      another: async (options) => {
        const stream = await attempt(options, undefined, stillOpen(opened) === 0);
        if (puttingOff(stream.status) && stillOpen(opened) > 0) {
          await stream.close();
          context.note(`no more than ${stillOpen(opened)} streams are served at once (${stream.status})`);
          return undefined;
        }
        await mustBeServed(context, stream, options);
        return new Subscription(context, stream);
      },
      open: async (options = {}, http = standard ?? context.http) => {
        const stream = await attempt(options, http);
        await mustBeServed(context, stream, options);
        return new Subscription(context, stream);
      },
    });
  } finally {
    await Promise.all(opened.map((stream) => stream.close()));
    for (const stream of opened) everyStream.delete(stream);
    if (opened.some(({ status }) => status === 200)) lastServed = performance.now();
  }
}

async function mustBeServed(context: Device, stream: EventStream, options: OpenEvents): Promise<void> {
  if (stream.status === 200 && mediaType(stream.headers) === 'text/event-stream') return;
  context.must(false, {
    expected: `200 with an event stream for ${describeOpen(options)}`,
    actual: await describeAnswer(context, stream),
  });
}

export async function describeAnswer(context: Device, stream: EventStream): Promise<string> {
  const stays = stream.status === 200;
  if (!stays) await stream.rest({ within: context.patienceMs, for: 'the end of the answer' }).catch(() => '');
  return `${stream.status} ${stream.headers['content-type'] ?? 'without content-type'} ${JSON.stringify(stream.head().slice(0, 300))}`;
}

export function describeOpen(options: OpenEvents): string {
  const parts = [
    ...(options.query === undefined ? [] : [`?${options.query}`]),
    ...(options.after === undefined ? [] : [`after=${options.after}`]),
    ...(options.types === undefined ? [] : [`types=${options.types.join(',')}`]),
    ...(options.lastEventId === undefined ? [] : [`Last-Event-ID: ${options.lastEventId}`]),
  ];
  return parts.length === 0 ? 'GET /events' : `GET /events with ${parts.join(', ')}`;
}
