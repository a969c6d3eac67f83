/** Runs an agent as a child process, and drives, kills and starts it again. */
import { type ChildProcess, fork } from 'node:child_process';
import { extname } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import type {
  ControlCompacted,
  ControlDeployment,
  ControlInfo,
  ControlPublished,
  StopSignal,
} from '../../../harness/contract/control.ts';
import type { Deployment } from '../../../harness/contract/deployment.ts';
import { ControlError, type ControlTarget } from '../control/target.ts';
import { infoOf } from '../device.ts';
import { settle } from '../options.ts';
import { StartError } from '../start-error.ts';
import type { Call, Ready, Reply } from './messages.ts';
import type { ProcessSettings } from './settings.ts';

/** Types are stripped once, not at every restart; an installed Muster has none. */
const CACHE = { NODE_COMPILE_CACHE: fileURLToPath(new URL('../../../node_modules/.cache/muster', import.meta.url)) };

const ENTRY = new URL(`./agent-process${extname(import.meta.url)}`, import.meta.url);

type Request = Call extends infer C ? (C extends { id: number } ? Omit<C, 'id'> : never) : never;

interface Waiting {
  resolve(value: never): void;
  reject(error: Error): void;
}

/** A live agent process. */
interface Child {
  process: ChildProcess;
  calls: Map<number, Waiting>;
  /** Resolves when the process has ended. */
  ended: Promise<void>;
}

export class SupervisedDevice implements ControlTarget, AsyncDisposable {
  readonly #settings: ProcessSettings;
  #child: Child | undefined;
  #starting: Promise<Ready> | undefined;
  #nextCall = 1;
  /** Where the agent said that it serves, at its last start. */
  ready: Ready | undefined;

  constructor(settings: ProcessSettings) {
    this.#settings = settings;
  }

  get pid(): number | undefined {
    return this.#child?.process.pid;
  }

  info(): ControlInfo {
    return infoOf(settle(this.#settings.device));
  }

  /** Resolves when the agent serves. Rejects with what it said when it could not. Does nothing while it is up. */
  async start(): Promise<void> {
    if (this.#child) return;
    this.#starting ??= this.#launch().finally(() => {
      this.#starting = undefined;
    });
    this.ready = await this.#starting;
  }

  /** Resolves when the process is gone. Does nothing while none is up. */
  async stop(signal: StopSignal = 'SIGTERM'): Promise<void> {
    await this.#starting?.catch(() => undefined);
    const child = this.#child;
    child?.process.kill(signal);
    await child?.ended;
  }

  deploy(wanted: ControlDeployment): Promise<Deployment> {
    return this.#call({ op: 'deploy', wanted });
  }

  remove(deployment: string): Promise<Deployment> {
    return this.#call({ op: 'remove', deployment });
  }

  publish(count: number): Promise<ControlPublished> {
    return this.#call({ op: 'publish', count });
  }

  compact(): Promise<ControlCompacted> {
    return this.#call({ op: 'compact' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #launch(): Promise<Ready> {
    const { promise, resolve, reject } = Promise.withResolvers<Ready>();
    const agent = fork(ENTRY, {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: extname(ENTRY.pathname) === '.ts' ? { ...CACHE, ...process.env } : process.env,
    });
    const over = Promise.withResolvers<void>();
    const child: Child = { process: agent, calls: new Map(), ended: over.promise };
    agent.on('message', (message) => {
      const reply = message as Reply;
      if (reply.kind === 'ready') {
        this.#child = child;
        resolve(reply.ready);
      } else if (reply.kind === 'broken') {
        reject(reply.option === undefined ? new Error(reply.message) : new StartError(reply.option, reply.message));
      } else {
        this.#settle(child, reply);
      }
    });
    agent.once('error', reject);
    agent.once('exit', (code, signal) => {
      if (this.#child === child) this.#child = undefined;
      reject(new Error(`the agent process ended (${signal ?? `exit code ${code}`}) before it served`));
      const down = new ControlError(
        409,
        'agent_down',
        `the agent ended (${signal ?? `exit code ${code}`}) during the call`,
      );
      for (const { reject: refuse } of child.calls.values()) refuse(down);
      over.resolve();
    });
    agent.send(this.#settings, (error) => {
      if (error) reject(error);
    });
    return promise;
  }

  #settle({ calls }: Child, reply: Extract<Reply, { id: number }>): void {
    const waiting = calls.get(reply.id);
    calls.delete(reply.id);
    if (reply.kind === 'result') waiting?.resolve(reply.value as never);
    else waiting?.reject(new ControlError(reply.status, reply.code, reply.message));
  }

  async #call<T>(request: Request): Promise<T> {
    const child = this.#child;
    if (!child) throw new ControlError(409, 'agent_down', 'the agent is down; start it first');
    const id = this.#nextCall++;
    return new Promise<T>((resolve, reject) => {
      child.calls.set(id, { resolve, reject });
      child.process.send({ ...request, id }, (error) => {
        if (!error || !child.calls.delete(id)) return;
        reject(new ControlError(409, 'agent_down', 'the agent ended before the call', { cause: error }));
      });
    });
  }
}
