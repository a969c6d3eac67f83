import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import process from 'node:process';
import { defined } from '../../harness/common/defined.ts';
import { http, targetUrl } from '../../harness/common/node-http.ts';
import { untilSignal } from '../../harness/common/usage.ts';
import type { ScriptedAnswer, ScriptedStream, Situation } from '../../harness/contract/situations.ts';
import { DEVICE_API_PREFIX } from '../../harness/contract/versions.ts';
import { referenceBehaviour } from './behaviour.ts';
import { asStartError } from './options.ts';
import { type DeviceListener, type Endpoint, endpointsOf, type TransportOptions } from './transport.ts';

export type StepListener = (who: 'client' | 'server', what: string) => void;

const EVENTS_PATH = `${DEVICE_API_PREFIX}/events`;

export class ScenarioPlayer implements AsyncDisposable {
  readonly #answers: readonly ScriptedAnswer[];
  readonly #tell: StepListener;
  readonly #listeners: DeviceListener[] = [];
  readonly #server = http.createServer((request, response) => void this.#take(request, response));
  #requests = 0;

  private constructor({ answers }: Situation, tell: StepListener) {
    this.#answers = answers;
    this.#tell = tell;
    this.#server.requestTimeout = 0;
    this.#server.on('clientError', (_error, socket) => socket.destroy());
  }

  static async open(situation: Situation, endpoints: readonly Endpoint[], tell: StepListener): Promise<ScenarioPlayer> {
    const player = new ScenarioPlayer(situation, tell);
    try {
      // Every token passes, because many clients under test have no discovery file.
      const onConnection = (socket: Socket) => void player.#server.emit('connection', socket);
      const serving = { rules: referenceBehaviour.transport, onConnection, check: () => {} };
      for (const endpoint of endpoints) player.#listeners.push(await endpoint.listen(serving));
      return player;
    } catch (error) {
      await player[Symbol.asyncDispose]();
      throw error;
    }
  }

  get url(): string | undefined {
    return this.#listeners.find(({ url }) => url !== undefined)?.url;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pathname = targetUrl(request.url ?? '/')?.pathname;
    const cursor = request.headers['last-event-id'];
    const resumed = cursor === undefined ? '' : ` with Last-Event-ID: ${cursor}`;
    this.#tell('client', `${request.method} ${request.url}${resumed}`);
    response.on('error', () => {});
    if (pathname !== EVENTS_PATH || request.method !== 'GET')
      return this.#refuse(response, 404, {}, { error: `this scenario serves GET ${EVENTS_PATH}` });
    const answer = this.#answers[Math.min(this.#requests, this.#answers.length - 1)];
    this.#requests += 1;
    if (answer === undefined || answer === 'cut') return this.#cut(response);
    if ('refusal' in answer) {
      const { status, headers, body } = answer.refusal;
      return this.#refuse(response, status, headers, body);
    }
    await this.#stream(response, answer);
  }

  async #stream(response: ServerResponse, { pieces, last }: ScriptedStream): Promise<void> {
    let closed = false;
    let over = false;
    response.socket?.setNoDelay(true);
    response.once('close', () => {
      closed = true;
      if (!over) this.#tell('client', 'closes the connection');
    });
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    response.flushHeaders();
    this.#tell('server', '200 text/event-stream');
    const text = Buffer.concat(pieces.map((piece) => Buffer.from(piece))).toString();
    // Shows the end of a long text, where a situation differs from a normal stream.
    const shown = text.length <= 200 ? text : `…${text.slice(-200)}`;
    this.#tell('server', `sends ${JSON.stringify(shown)} in ${pieces.length} piece${pieces.length === 1 ? '' : 's'}`);
    for (const piece of pieces) {
      if (closed) return;
      await new Promise<void>((resolve) => {
        response.once('close', resolve);
        response.write(piece, () => {
          response.off('close', resolve);
          resolve();
        });
      });
    }
    if (closed || last === 'hold') return;
    over = true;
    if (last === 'cut') return this.#cut(response);
    this.#tell('server', 'ends the stream');
    response.end();
  }

  #cut(response: ServerResponse): void {
    this.#tell('server', 'cuts the connection');
    response.destroy();
  }

  #refuse(response: ServerResponse, status: number, headers: Readonly<Record<string, string>>, body: object): void {
    const more = Object.entries(headers).map(([name, value]) => `, ${name}: ${value}`);
    this.#tell('server', `${status}${more.join('')}`);
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const listener of this.#listeners) listener.close();
    this.#server.closeAllConnections();
  }
}

/**
 * Serves a situation until a signal; prints addresses on standard output, steps on standard error. Rejects with
 * StartError.
 */
export async function runScenario(name: string, situation: Situation, where: TransportOptions): Promise<number> {
  const stopped = untilSignal();
  const started = performance.now();
  const tell = (who: string, what: string): void => {
    process.stderr.write(`${((performance.now() - started) / 1000).toFixed(3)} s  ${who}: ${what}\n`);
  };
  const endpoints = endpointsOf(where);
  const option = endpoints[0]?.option ?? 'socket';
  await using player = await asStartError(option, ScenarioPlayer.open(situation, endpoints, tell));
  const addresses = Object.assign({}, ...endpoints.map(({ address }) => address));
  const ready = { ready: true, scenario: name, ...addresses, ...defined({ url: player.url }) };
  process.stdout.write(`${JSON.stringify(ready)}\n`);
  return (await stopped).code;
}
