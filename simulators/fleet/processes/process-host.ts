/** A host of robots in a worker process, and the calls and notices between the two over the IPC channel of forked processes. */
import { type ChildProcess, fork } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { Patience } from '../../../harness/common/patience.ts';
import type {
  CanaryOutcome,
  Host,
  HostConfig,
  HostEvents,
  LateRollout,
  PhaseOutcome,
  PhaseRequest,
  StopMode,
} from '../host/host.ts';
import type { Snapshot } from '../measure/metrics.ts';

/** Modules of this folder are sources here and compiled in the published package. */
const moduleUrl = (name: string): URL =>
  new URL(`./${name}${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);

/** Starts a module of this folder. `name` is the module without its extension; `flags` are for node. The environment of the process holds no secret. */
export function startProcess(name: string, flags: readonly string[] = []): ChildProcess {
  const { MUSTER_API_KEY: _, ...env } = process.env;
  const execArgv = [...process.execArgv, ...flags];
  const child = fork(moduleUrl(name), [], { env, execArgv, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  if (child.pid !== undefined) endFirst(child.pid);
  return child;
}

/** Where memory runs out, the kernel shall end this process, and not the one that lives to give the reason. */
function endFirst(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, '1000');
  } catch {
    // Not Linux, or the process has ended already.
  }
}

export function whenExited(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => child.once('exit', () => resolve()));
}

export type HostMethod = 'configure' | Exclude<keyof Host, 'name'>;

export interface Call {
  call: number;
  method: HostMethod;
  args: unknown[];
}
export type Reply = { reply: number; result?: unknown } | { reply: number; error: string };
export type Notice = { [K in keyof HostEvents]: { notice: K; value: Parameters<HostEvents[K]>[0] } }[keyof HostEvents];
/** Sent every second, whatever the worker does. */
export const SIGN_OF_LIFE = { alive: true } as const;
export const ALIVE_EVERY_MS = 1000;

/** A worker that is silent for so long is stopped or stuck, and not merely busy. */
const SILENT_MS = 60_000;

/** The worker process ended before it answered. */
export class WorkerDied extends Error {
  override name = 'WorkerDied';
  /** That ended it, where it was one. */
  signal: NodeJS.Signals | undefined;
}

/** The coordinator's end of the channel. */
class HostChannel {
  readonly #child: ChildProcess;
  readonly #name: string;
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  #calls = 0;
  readonly #patience: Patience;
  readonly #stopWatching: () => void;
  #died: WorkerDied | undefined;

  constructor(child: ChildProcess, name: string, events: HostEvents, silentMs: number) {
    this.#child = child;
    this.#name = name;
    this.#patience = new Patience(silentMs);
    this.#stopWatching = this.#patience.watch(() => {
      this.#end(`it gave no sign of life for ${silentMs / 1000} s`);
      child.kill('SIGKILL');
    });
    child.on('message', (message) => this.#receive(message as Reply | Notice | typeof SIGN_OF_LIFE, events));
    child.on('error', (error) => this.#end(error.message));
    child.on('exit', (code, signal) => this.#end(signal === null ? `exit code ${code}` : signal, signal ?? undefined));
  }

  call(method: HostMethod, args: unknown[]): Promise<unknown> {
    if (this.#died !== undefined) return Promise.reject(this.#died);
    this.#calls += 1;
    const call: Call = { call: this.#calls, method, args };
    return new Promise((resolve, reject) => {
      this.#waiting.set(call.call, { resolve, reject });
      this.#child.send(call, (error) => {
        if (error !== null) this.#end(error.message);
      });
    });
  }

  #receive(message: Reply | Notice | typeof SIGN_OF_LIFE, events: HostEvents): void {
    this.#patience.renew();
    if ('alive' in message) return;
    if ('notice' in message) {
      (events[message.notice] as (value: unknown) => void)(message.value);
      return;
    }
    const waiting = this.#waiting.get(message.reply);
    this.#waiting.delete(message.reply);
    if ('error' in message) waiting?.reject(new Error(`${this.#name}: ${message.error}`));
    else waiting?.resolve(message.result);
  }

  #end(how: string, signal?: NodeJS.Signals): void {
    this.#stopWatching();
    this.#died ??= Object.assign(
      new WorkerDied(`${this.#name} (process ${this.#child.pid ?? '?'}) ended: ${how}`),
      signal && { signal },
    );
    for (const { reject } of this.#waiting.values()) reject(this.#died);
    this.#waiting.clear();
  }
}

/** Time to end thousands of robots in order. */
const STOP_TIMEOUT_MS = 60_000;

/**
 * Node's flags for a worker. A larger young generation keeps the memory of a burst for good, and each collection of it stops the
 * event loop for several milliseconds, in which every action starts late.
 */
export const WORKER_FLAGS = ['--max-semi-space-size=4'];

/** The coordinator's end of a worker process. */
export class ProcessHost implements Host {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #channel: HostChannel;
  readonly #ready: Promise<unknown>;

  /** `silentMs`: a worker that gives no sign of life for so long is killed, and has died. Default 60 000. */
  constructor(config: HostConfig, events: HostEvents, silentMs = SILENT_MS) {
    this.name = config.name;
    this.#child = startProcess('worker', WORKER_FLAGS);
    this.#channel = new HostChannel(this.#child, config.name, events, silentMs);
    this.#ready = this.#channel.call('configure', [config]);
    this.#ready.catch(() => {}); // The first call rejects with it.
  }

  /** Of its process; undefined when that could not be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  runCanary(robot: number): Promise<CanaryOutcome> {
    return this.#call('runCanary', robot);
  }

  prepare(): Promise<void> {
    return this.#call('prepare');
  }

  runPhase(request: PhaseRequest): Promise<PhaseOutcome> {
    return this.#call('runPhase', request);
  }

  soFar(): Promise<PhaseOutcome | undefined> {
    return this.#call('soFar');
  }

  grow(members: number[], robots: number): Promise<void> {
    return this.#call('grow', members, robots);
  }

  finish(): Promise<LateRollout[]> {
    return this.#call('finish');
  }

  cursors(): Promise<Record<number, number>> {
    return this.#call('cursors');
  }

  snapshot(): Promise<Snapshot> {
    return this.#call('snapshot');
  }

  memory(): Promise<number> {
    return this.#call('memory');
  }

  async stop(how: StopMode): Promise<void> {
    // The fleet removes the files of the robots, and the kernel the rest.
    if (how === 'abandon') return this.kill();
    const late = setTimeout(() => this.#child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    try {
      await this.#call('stop', how).catch(() => {}); // A worker that died has stopped.
      if (this.#child.connected) this.#child.disconnect();
      await whenExited(this.#child);
    } finally {
      clearTimeout(late);
    }
  }

  /** Ends the process like a loss of power, without any message to others. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await whenExited(this.#child);
  }

  async #call<M extends Exclude<keyof Host, 'name'>>(
    method: M,
    ...args: Parameters<Host[M]>
  ): Promise<Awaited<ReturnType<Host[M]>>> {
    await this.#ready;
    return (await this.#channel.call(method, args)) as Awaited<ReturnType<Host[M]>>;
  }
}
