/** Event streams over a real socket: the suite's stream and the client of the `eventsource` package see what the standard says. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type Scratch, scratch } from '../../../../simulators/common/testing/scratch.ts';
import { EventSourceClient } from '../../../client/eventsource.ts';
import { HttpClient } from '../../../client/http.ts';
import { Recorder } from '../../../client/recorder.ts';
import { openEvents } from '../../../client/sse.ts';
import { bytesOf, pieces } from '../bytes.ts';
import { type Fuzzer, fuzzer, type Subject } from '../fuzzer.ts';
import { type Dispatched, dispatchedOf } from './sse-model.ts';
import { type StreamInput, streamInputs } from './sse-streams.ts';

const LONGEST_MS = 20_000;
const LAST = 'the-last-event';

class Streams implements Subject<StreamInput> {
  readonly #home: Scratch = scratch();
  readonly #server: Server;
  readonly #http: HttpClient;
  readonly unharmed = true;
  #serve: (response: ServerResponse) => Promise<void> = async () => {};

  constructor() {
    this.#server = createServer((_request, response) => void this.#serve(response));
    const socketPath = join(this.#home.path, 's');
    this.#http = new HttpClient({ endpoint: { origin: 'http://localhost', socketPath }, timeoutMs: LONGEST_MS });
  }

  async listen(): Promise<this> {
    this.#server.listen(join(this.#home.path, 's'));
    await once(this.#server, 'listening');
    return this;
  }

  async attack({ bytes: text, cuts }: StreamInput): Promise<string | undefined> {
    const bytes = bytesOf(text);
    // A block of its own at the end shows that all before it was read.
    const all = Buffer.concat([bytes, Buffer.from(`\n\nevent: message\ndata: ${LAST}\n\n`)]);
    const expected = dispatchedOf(all);
    const chunks = pieces(all, cuts);
    this.#serve = async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      for (const chunk of chunks) {
        await new Promise<void>((resolve) => response.write(chunk, () => resolve()));
        await turn();
      }
    };
    const http = this.#http.with({ recorder: new Recorder() });
    return (await suite(http, expected)) ?? (await client(http, expected));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#http.close();
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
    this.#home[Symbol.dispose]();
  }
}

async function suite(http: HttpClient, expected: readonly Dispatched[]): Promise<string | undefined> {
  const stream = await openEvents(http);
  const events: Dispatched[] = [];
  try {
    while (events.at(-1)?.data !== LAST) {
      const frame = await stream.next({ within: LONGEST_MS, for: 'the last event' });
      if (!frame.dispatched) continue;
      events.push({ id: frame.lastEventId, event: frame.event || 'message', data: frame.data ?? '' });
    }
  } finally {
    await stream.close();
  }
  return isDeepStrictEqual(events, expected) ? undefined : "the suite's stream gives other events than the standard";
}

async function client(http: HttpClient, expected: readonly Dispatched[]): Promise<string | undefined> {
  // The DOM has a handler of its own for these; a server must not send them.
  const types = new Set(expected.map(({ event }) => event));
  if (types.has('error') || types.has('open')) return undefined;
  const source = new EventSourceClient(http, { path: '/', types: [...types] });
  try {
    await source.until(({ data }) => data === LAST, { within: LONGEST_MS, for: 'the last event' });
  } finally {
    source.close();
  }
  const events = source.messages.map(({ type, lastEventId, data }) => ({ id: lastEventId, event: type, data }));
  return isDeepStrictEqual(events, expected)
    ? undefined
    : 'the client of eventsource gives other events than the standard';
}

const it: Fuzzer<StreamInput> = {
  name: 'streams',
  about: "event streams over a socket against the suite's stream and the eventsource client",
  inputs: streamInputs,
  open: () => new Streams().listen(),
};

export const streams = fuzzer(it);
