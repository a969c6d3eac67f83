import http from 'node:http';
import { createParser } from 'eventsource-parser';
import { Changes } from '../../../harness/common/waiting.ts';
import type { EventEnvelope } from '../../../harness/contract/device-api.ts';
import { send } from '../../common/testing/requests.ts';
import { scratch } from '../../common/testing/scratch.ts';
import { type DeviceOptions, simulateDevice } from '../index.ts';

const TIMEOUT_MS = 60_000;

export class EventStream {
  readonly events: { id: number; type: string; envelope: EventEnvelope }[] = [];
  readonly comments: string[] = [];
  readonly ended: Promise<void>;
  over = false;
  readonly #response: http.IncomingMessage;
  readonly #parser = createParser({
    onComment: (text) => this.comments.push(text.trim()),
    onEvent: ({ id, event = '', data }) =>
      this.events.push({ id: Number(id), type: event, envelope: JSON.parse(data) as EventEnvelope }),
  });
  readonly #changes = new Changes();

  private constructor(response: http.IncomingMessage) {
    this.#response = response;
    response.setEncoding('utf8');
    response.on('data', (text: string) => {
      this.#parser.feed(text);
      this.#changes.announce();
    });
    this.ended = new Promise((resolve) => {
      response.on('error', () => {});
      response.once('close', () => {
        this.over = true;
        this.#changes.announce();
        resolve();
      });
    });
  }

  static open(socketPath: string, query = '', headers: http.OutgoingHttpHeaders = {}): Promise<EventStream> {
    return new Promise((resolve, reject) => {
      const request = http.get({ socketPath, path: `/v0.2/events${query}`, headers, agent: false }, (response) => {
        if (response.statusCode === 200) resolve(new EventStream(response));
        else {
          response.resume();
          reject(new Error(`the stream was refused with ${response.statusCode}`));
        }
      });
      request.once('error', reject);
    });
  }

  get ids(): number[] {
    return this.events.map(({ id }) => id);
  }

  async count(events: number): Promise<EventStream['events']> {
    await this.until(() => this.events.length >= events);
    return this.events;
  }

  async reach(id: number): Promise<void> {
    await this.until(() => (this.events.at(-1)?.id ?? 0) >= id);
  }

  async until(ready: () => boolean): Promise<void> {
    const deadline = performance.now() + TIMEOUT_MS;
    while (!ready()) {
      if (this.over) throw new Error('the stream has ended');
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) throw new Error(`waited ${TIMEOUT_MS} ms for more on the stream`);
      await this.#changes.next(leftMs);
    }
  }

  stall(): void {
    this.#response.pause();
    this.#response.socket.pause();
  }

  resume(): void {
    this.#response.socket.resume();
    this.#response.resume();
  }

  close(): void {
    this.#response.destroy();
  }
}

export { scratch, useScratch } from '../../common/testing/scratch.ts';

export type Robot = Awaited<ReturnType<typeof robot>>;

export async function robot(options: Partial<DeviceOptions> = {}) {
  const home = scratch();
  const dir = `${home.path}/robot`;
  const socket = `${home.path}/agent.sock`;
  const device = await simulateDevice({ dir, socket, seed: 'test', ...options });
  const streams: EventStream[] = [];
  return {
    device,
    dir,
    socket,
    ask: (path: string, asked?: Asked) => ask(socket, path, asked),
    listen: async (query = '') => {
      const stream = await EventStream.open(socket, query);
      streams.push(stream);
      return stream;
    },
    [Symbol.asyncDispose]: async () => {
      for (const stream of streams) stream.close();
      await device[Symbol.asyncDispose]();
      home[Symbol.dispose]();
    },
  };
}

type Asked = Pick<http.RequestOptions, 'method' | 'headers'>;

export const ask = (socketPath: string, path: string, asked: Asked = {}) =>
  send({ socketPath, path: `/v0.2${path}`, ...asked });
