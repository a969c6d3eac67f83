import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HttpClient } from '../../../client/http.ts';
import type { ControlInfo } from '../../../contract/control.ts';
import { type CallName, type ControlAnswer, type ControlCall, noControl } from '../control.ts';
import { layered } from '../layers.ts';

export const CALLS = {
  deploy: { name: 'deploy', request: { description: 'x' } },
  remove: { name: 'remove', deploymentId: 'a b' },
  publish: { name: 'publish', count: 2 },
  compact: { name: 'compact' },
  stop: { name: 'stop', signal: 'SIGKILL' },
  start: { name: 'start' },
} as const satisfies Record<CallName, ControlCall>;

type Answers = { readonly [Name in CallName]?: (call: ControlCall, signal?: AbortSignal) => unknown };

export function fakeControl(answers: Answers, info: Partial<ControlInfo> = {}, kind = 'fake') {
  const calls: ControlCall[] = [];
  const control = layered(noControl, {
    kind,
    info: async () => ({ capabilities: ['drive'], ...info }),
    call: (call, signal) => {
      calls.push(call);
      const answer = answers[call.name];
      return answer === undefined ? undefined : Promise.try(() => answer(call, signal) as ControlAnswer);
    },
  });
  return { control, calls };
}

export class FakeDevice implements AsyncDisposable {
  current: unknown = null;
  status = 200;
  eventsStatus = 200;
  retained: (number | bigint)[] = [];
  tells: (id: number | bigint) => string = (id) => `data: {"id":${id},"type":"a.b"}`;
  readonly requests: string[] = [];
  origin = '';
  readonly #streams = new Set<ServerResponse>();
  readonly #server = createServer((request, response) => this.#answer(request, response));

  static async start(): Promise<FakeDevice> {
    const device = new FakeDevice();
    await device.listen(0);
    device.origin = `http://127.0.0.1:${(device.#server.address() as AddressInfo).port}`;
    return device;
  }

  async listen(port = Number(new URL(this.origin).port)): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get http(): HttpClient {
    return new HttpClient({ endpoint: { origin: this.origin } });
  }

  send(data: string): void {
    for (const stream of this.#streams) stream.write(`data: ${data}\n\n`);
  }
  sendEvent(id: number | bigint, more = ''): void {
    this.send(`{"id":${id},"type":"a.b"${more}}`);
  }
  get streams(): number {
    return this.#streams.size;
  }
  cut(): void {
    for (const stream of this.#streams) stream.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    this.requests.push(`${request.method} ${request.url}`);
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://device');
    if (!pathname.endsWith('/events')) {
      response.writeHead(this.status, { 'content-type': 'application/json' }).end(JSON.stringify(this.current));
      return;
    }
    response.writeHead(this.eventsStatus, { 'content-type': 'text/event-stream' });
    if (this.eventsStatus !== 200) return void response.end();
    response.flushHeaders();
    this.#streams.add(response);
    response.once('close', () => this.#streams.delete(response));
    const after = searchParams.get('after');
    if (after === null) return;
    for (const id of this.retained) if (id > BigInt(after)) response.write(`${this.tells(id)}\n\n`);
  }
}
