import { type ChildProcess, fork } from 'node:child_process';
import { extname } from 'node:path';
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ControlInfo, StopSignal } from '../../../harness/contract/control.ts';
import { type AgentCall, type AgentCalls, ControlError, ControlTarget } from '../control/target.ts';
import { type Logger, StartError } from '../options.ts';
import type { Seen } from '../ports.ts';
import type { ProcessSettings, Ready, Reply } from './start.ts';

/** Compile cache, so that a restart from TypeScript sources need not compile again. */
const CACHE = { NODE_COMPILE_CACHE: fileURLToPath(new URL('../../../node_modules/.cache/muster', import.meta.url)) };

const ENTRY = new URL(`./agent-process${extname(import.meta.url)}`, import.meta.url);

interface Child {
  process: ChildProcess;
  calls: Map<number, PromiseWithResolvers<unknown>>;
  ended: Promise<void>;
  serves: boolean;
}

export interface StopOptions {
  /** Milliseconds before a kill of an agent that hangs, default 20 000. */
  patienceMs?: number;
  log?: Pick<Logger, 'error'>;
  onSeen?(seen: Seen): void;
  onChange?(): void;
}

const forkAgent = (): ChildProcess =>
  fork(ENTRY, {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: extname(ENTRY.pathname) === '.ts' ? { ...CACHE, ...process.env } : process.env,
  });

/** Processes with loaded code that wait for settings, so that an agent restarts quickly. */
class Spares implements Disposable {
  #waiting: ChildProcess[] = [];
  #loading: ChildProcess | undefined;
  #disposed = false;

  fill(): void {
    this.#waiting = this.#waiting.filter(({ connected }) => connected);
    // At most two spare processes, because each takes processor time from a running suite.
    if (this.#disposed || this.#loading !== undefined || this.#waiting.length >= 2) return;
    const spare = forkAgent();
    this.#loading = spare;
    this.#waiting.push(spare);
    spare.once('message', () => {
      if (this.#loading !== spare) return;
      this.#loading = undefined;
      this.fill();
    });
    // Lets the next spare process load after a failed load.
    spare.once('exit', () => {
      if (this.#loading === spare) this.#loading = undefined;
    });
    spare.on('error', () => {});
    spare.unref();
    spare.channel?.unref();
  }

  take(): ChildProcess {
    const agent = this.#waiting.find(({ connected }) => connected) ?? forkAgent();
    this.#waiting = this.#waiting.filter((spare) => spare !== agent);
    agent.ref();
    agent.channel?.ref();
    return agent;
  }

  [Symbol.dispose](): void {
    this.#disposed = true;
    for (const spare of this.#waiting.splice(0)) spare.kill('SIGKILL');
  }
}

/** Device whose agent runs in a child process, which a kill really ends. Disposal ends the process. */
export class SupervisedDevice extends ControlTarget implements AsyncDisposable {
  #settings: ProcessSettings;
  readonly #stopping: StopOptions;
  readonly #patienceMs: number;
  #child: Child | undefined;
  #starting: Promise<void> | undefined;
  readonly #spares = new Spares();
  #nextCall = 1;
  ready: Ready | undefined;
  /** Info of the running or last agent, which alone knows its defects and variants. */
  told: ControlInfo | undefined;

  constructor(settings: ProcessSettings, stopping: StopOptions = {}) {
    super();
    this.#settings = settings;
    this.#stopping = stopping;
    this.#patienceMs = stopping.patienceMs ?? 20_000;
  }

  get pid(): number | undefined {
    return this.#child?.process.pid;
  }

  get running(): boolean {
    return this.#child?.serves === true;
  }

  /** Waits for the first start, because the info of a device with an uplink may come seconds after it serves. */
  async info(): Promise<ControlInfo> {
    if (this.told === undefined) await this.#starting;
    if (this.told === undefined) throw new ControlError(409, 'agent_down', 'the agent has not started yet');
    return this.told;
  }

  async start(): Promise<void> {
    if (this.running) return;
    this.#starting ??= this.#launch().finally(() => (this.#starting = undefined));
    await this.#starting;
  }

  /** Resolves once the process has ended; kills a process that does not end in time. */
  async stop(signal: StopSignal = 'SIGTERM'): Promise<void> {
    // Prepares a spare process, because a stopped agent usually starts again.
    if (this.#child !== undefined) this.#spares.fill();
    await this.#inTime(this.#starting?.catch(() => undefined));
    await this.#end(signal);
  }

  async #end(signal: StopSignal): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    child.process.kill(signal);
    if (await this.#inTime(child.ended)) return;
    const reason = `the agent did not end within ${this.#patienceMs} ms of ${signal}, so it was killed`;
    this.#stopping.log?.error({ pid: child.process.pid }, reason);
    child.process.kill('SIGKILL');
    await child.ended;
  }

  configure(settings: Partial<Pick<ProcessSettings, 'defects' | 'variants'>>): void {
    this.#settings = { ...this.#settings, ...settings };
  }

  /** Ends the agent without waiting for a pending start, which rejects. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#starting?.catch(() => undefined);
    await this.#end('SIGTERM');
    this.#spares[Symbol.dispose]();
  }

  async #inTime(settled: Promise<unknown> | undefined): Promise<boolean> {
    const timer = new AbortController();
    const late = setTimeout(this.#patienceMs, false, { signal: timer.signal }).catch(() => false);
    try {
      return await Promise.race([late, Promise.resolve(settled).then(() => true)]);
    } finally {
      timer.abort();
    }
  }

  #launch(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const agent = this.#spares.take();
    const ended = Promise.withResolvers<void>();
    const child: Child = { process: agent, calls: new Map(), ended: ended.promise, serves: false };
    this.#child = child;
    agent.on('message', (message) => {
      const reply = message as Reply;
      if (reply.kind === 'loaded') return;
      if (reply.kind === 'seen') this.#stopping.onSeen?.(reply.seen);
      else if (reply.kind === 'ready') {
        child.serves = true;
        this.ready = reply.ready;
        this.told = reply.info;
        resolve();
        this.#stopping.onChange?.();
      } else if (reply.kind === 'broken') {
        reject(reply.option === undefined ? new Error(reply.message) : new StartError(reply.option, reply.message));
      } else {
        const waiting = child.calls.get(reply.id);
        child.calls.delete(reply.id);
        if (reply.kind === 'result') waiting?.resolve(reply.value);
        else waiting?.reject(new ControlError(reply.status, reply.code, reply.message));
      }
    });
    const gone = (): void => {
      if (this.#child === child) this.#child = undefined;
      this.#stopping.onChange?.();
      ended.resolve();
    };
    agent.once('error', (error) => {
      reject(error);
      // A process that failed to start emits no `exit` event.
      if (agent.pid === undefined) gone();
    });
    agent.once('exit', (code, signal) => {
      const how = signal ?? `exit code ${code}`;
      reject(new Error(`the agent process ended (${how}) before it served`));
      const down = new ControlError(409, 'agent_down', `the agent ended (${how}) during the call`);
      for (const call of child.calls.values()) call.reject(down);
      gone();
    });
    agent.send(this.#settings, (error) => {
      if (error) reject(error);
    });
    return promise;
  }

  async call<K extends AgentCall>(name: K, given: AgentCalls[K]['given']): Promise<AgentCalls[K]['answer']> {
    const child = this.#child;
    if (!child?.serves) throw new ControlError(409, 'agent_down', 'the agent is down; start it first');
    const id = this.#nextCall++;
    const waiting = Promise.withResolvers<unknown>();
    child.calls.set(id, waiting);
    child.process.send({ id, name, given }, (error) => {
      if (!error || !child.calls.delete(id)) return;
      waiting.reject(new ControlError(409, 'agent_down', 'the agent ended before the call', { cause: error }));
    });
    return (await waiting.promise) as AgentCalls[K]['answer'];
  }
}
