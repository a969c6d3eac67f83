/**
 * A host of robots in a worker process, and the calls and notices between the two over the IPC channel of forked
 * processes.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { Patience } from '../../../harness/common/waiting.ts';
import { HOST_CALLS, type Host, type HostCall, type HostConfig, type HostEvents, type StopMode } from '../host/host.ts';

/** Modules of this folder are sources here and compiled in the published package. */
const moduleUrl = (name: string): URL =>
  new URL(`./${name}${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);

/**
 * Starts a module of this folder. `name` is the module without its extension; `flags` are for node. The environment of
 * the process holds no secret.
 */
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

/** A question to a worker, with a number of its own. */
export interface Call {
  call: number;
  method: HostCall | 'configure';
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

  call(method: Call['method'], args: unknown[]): Promise<unknown> {
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
 * Node's flags for a worker. A larger young generation keeps the memory of a burst for good, and each collection of it
 * stops the event loop for several milliseconds, in which every action starts late.
 */
export const WORKER_FLAGS = ['--max-semi-space-size=4'];

/** A host in a worker process. */
export interface WorkerHost extends Host {
  /** Of its process; undefined when that could not be started. */
  readonly pid: number | undefined;
  /** Ends the process like a loss of power, without any message to others. */
  kill(): Promise<void>;
}

/**
 * Starts a worker process. `silentMs`: one that gives no sign of life for so long is killed, and has died. Default 60
 * 000.
 */
export function startWorker(config: HostConfig, events: HostEvents, silentMs = SILENT_MS): WorkerHost {
  const child = startProcess('worker', WORKER_FLAGS);
  const channel = new HostChannel(child, config.name, events, silentMs);
  const ready = channel.call('configure', [config]);
  ready.catch(() => {}); // The first call rejects with it.
  const ask = async (method: HostCall, args: unknown[]): Promise<unknown> => {
    await ready;
    return await channel.call(method, args);
  };
  const calls = Object.fromEntries(
    HOST_CALLS.map((method) => [method, (...args: unknown[]) => ask(method, args)]),
  ) as unknown as Pick<Host, HostCall>;
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await whenExited(child);
  };
  const stop = async (how: StopMode): Promise<void> => {
    // The fleet removes the files of the robots, and the kernel the rest.
    if (how === 'abandon') return kill();
    const late = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    try {
      await calls.stop(how).catch(() => {}); // A worker that died has stopped.
      if (child.connected) child.disconnect();
      await whenExited(child);
    } finally {
      clearTimeout(late);
    }
  };
  return { ...calls, name: config.name, pid: child.pid, kill, stop };
}
