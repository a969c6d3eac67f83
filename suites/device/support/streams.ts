/** Opening streams for a check, closing them behind it, and sharing what the device serves at once with other checks. */
import { NoAnswer } from '../../../harness/client/errors.ts';
import type { HttpClient } from '../../../harness/client/http.ts';
import { type EventStream, type OpenEvents, openEvents } from '../../../harness/client/sse.ts';
import { mediaType } from './ask.ts';
import { persist, puttingOff } from './busy.ts';
import type { Device } from './context.ts';
import { patience, waitedInVain } from './patience.ts';
import { Subscription } from './subscription.ts';

export { Subscription } from './subscription.ts';

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
  const openings = new Map<EventStream, OpenEvents>();
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
      openings.set(stream, options);
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
  const subscribe = (stream: EventStream, http?: HttpClient): Subscription => {
    const { after, lastEventId, query, headers, types } = openings.get(stream) ?? {};
    return new Subscription(context, stream, async (last) => {
      const cursor = last ?? after ?? lastEventId;
      if (cursor === undefined || query !== undefined) return undefined;
      const again = await attempt(
        { after: cursor, ...(types === undefined ? {} : { types }), ...(headers === undefined ? {} : { headers }) },
        http,
      );
      return again.status === 200 ? again : undefined;
    });
  };
  try {
    return await use({
      use: (http) => {
        standard = http;
      },
      follow: (stream) => subscribe(stream),
      try: (options, http) => attempt(options, http),
      another: async (options) => {
        const stream = await attempt(options, undefined, stillOpen(opened) === 0);
        if (puttingOff(stream.status) && stillOpen(opened) > 0) {
          await stream.close();
          context.note(`no more than ${stillOpen(opened)} streams are served at once (${stream.status})`);
          return undefined;
        }
        await mustBeServed(context, stream, options);
        return subscribe(stream);
      },
      open: async (options = {}, http) => {
        const stream = await attempt(options, http);
        await mustBeServed(context, stream, options);
        return subscribe(stream, http);
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
