/** State of the driven agent, which all checks of a target share. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { errorOf, NoAnswer, Unfinished, Unreachable } from '../../client/errors.ts';
import type { HttpClient } from '../../client/http.ts';
import { Recorder } from '../../client/recorder.ts';
import type { Redactor } from '../../common/redact.ts';
import { pollWithin } from '../../common/waiting.ts';
import type { TargetFiles } from '../files/target-files.ts';
import { type Connection, whyUnreachable } from '../transports/index.ts';
import { type CallName, type Control, ControlError, ControlLate } from './control.ts';

export interface AgentPlace {
  path: string;
  files: TargetFiles;
}

export interface ControlledAgentOptions {
  connection: Connection;
  redactor: Redactor;
  log: AgentPlace | undefined;
  config?: AgentPlace | undefined;
}

export class ControlledAgent {
  /** Consecutive late calls. */
  readonly late = new Map<CallName, number>();
  /** Calls whose claimed effect the device contradicted, with the reason; such calls are not repeated. */
  readonly untrue = new Map<CallName, string>();
  /** Calls that the device contradicted once; after a second contradiction, a call is not repeated. */
  readonly doubted = new Set<CallName>();
  readonly log: AgentPlace | undefined;
  readonly config: AgentPlace | undefined;
  /** True once a call of control changed the log; before, an event missing in the log proves nothing. */
  logTells = false;
  idsCompared = 0;
  /** True if the target lost events, so that missing events no longer contradict control. */
  losesEvents = false;
  readonly #connection: Connection;
  readonly #redactor: Redactor;
  #down: { why: string; again: boolean } | undefined;

  constructor({ connection, redactor, log, config }: ControlledAgentOptions) {
    this.#connection = connection;
    this.#redactor = redactor;
    this.log = log;
    this.config = config;
  }

  get isStopped(): boolean {
    return this.#down !== undefined;
  }

  /** Marks the agent as down before the call, because even a failed call may stop the agent. */
  stopping(): void {
    this.#down = { why: 'the check that stopped it ended before it had started it again', again: true };
  }

  started(): void {
    this.#down = undefined;
  }

  notStarted(error: unknown): void {
    if (this.#down === undefined) return;
    // Does not repeat a late start, because every check would wait for the start.
    this.#down = { why: errorOf(error).message, again: this.#down.again && !(error instanceof ControlLate) };
  }

  /** Throws ControlError if the agent still answers. */
  async expectDown(signal: AbortSignal): Promise<void> {
    const look = async () => ((await this.#serves(signal)) ? undefined : true);
    // A stopped agent must close its socket within 2 s.
    const down = await pollWithin('the agent to be down', look, { timeoutMs: 2000, firstPauseMs: 20, signal });
    if (down !== undefined) return;
    this.#down = undefined;
    throw new ControlError(
      'control: it said that it had stopped the agent, but the device still answers at the same address',
    );
  }

  /** Starts an agent that an earlier check left stopped. Throws ControlError if the agent stays down. */
  async ready(control: Control, signal: AbortSignal): Promise<void> {
    if (this.#down === undefined) return;
    if (!(await this.#accepts(signal))) {
      if (this.#down.again) {
        this.#down.again = false;
        await control.start(signal).catch((error: unknown) => this.notStarted(error));
      }
      if (!(await this.#accepts(signal))) throw new ControlError(`the agent was not started again: ${this.#down.why}`);
    }
    this.#down = undefined;
  }

  async ask<T>(signal: AbortSignal, question: (http: HttpClient) => Promise<T>): Promise<T> {
    const http = this.#connection.client(new Recorder(this.#redactor)).with({ signal, timeoutMs: 1000 });
    try {
      return await question(http);
    } finally {
      await http.close();
    }
  }

  #accepts(signal: AbortSignal): Promise<boolean> {
    return this.ask(signal, async (http) => (await whyUnreachable(http, '')) === undefined);
  }

  /** Needs an answer, because a proxy accepts connections even while its agent is down. */
  #serves(signal: AbortSignal): Promise<boolean> {
    const look = async (http: HttpClient) => ![502, 503, 504].includes((await http.get('/deployments/current')).status);
    return this.ask(signal, look).catch((error: unknown) => {
      if (error instanceof Unfinished) return true;
      if (error instanceof NoAnswer || error instanceof Unreachable) return false;
      throw error;
    });
  }
}

export class TcpProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #cut = false;
  url = '';

  private constructor(destination: URL) {
    const port = Number(destination.port || (/^(https|wss):$/.test(destination.protocol) ? 443 : 80));
    this.#server = createServer((near) => {
      if (this.#cut) return void near.resetAndDestroy();
      const far = connect({ host: destination.hostname, port });
      for (const one of [near, far]) {
        const other = one === near ? far : near;
        this.#sockets.add(one);
        one.once('close', () => {
          this.#sockets.delete(one);
          other.destroy();
        });
        one.on('error', () => other.destroy());
        one.pipe(other);
      }
    });
  }

  static async to(url: string, port = 0): Promise<TcpProxy> {
    const proxy = new TcpProxy(new URL(url));
    await once(proxy.#server.listen({ host: '127.0.0.1', port, backlog: 1024 }), 'listening');
    const near = new URL(url);
    near.hostname = '127.0.0.1';
    near.port = String((proxy.#server.address() as AddressInfo).port);
    proxy.url = near.pathname === '/' && !url.endsWith('/') ? near.href.replace(/\/$/, '') : near.href;
    return proxy;
  }

  cut(): void {
    this.#cut = true;
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  restore(): void {
    this.#cut = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
