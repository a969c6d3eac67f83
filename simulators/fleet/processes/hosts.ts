import { type ChildProcess, fork } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { Patience } from '../../../harness/common/waiting.ts';
import { HOST_CALLS, type Host, type HostCall, type HostConfig, type HostNotice, type StopMode } from '../host/host.ts';
import type { RobotHost } from '../host/robot-host.ts';
import { mergeSnapshots, type Snapshot } from '../measure/metrics.ts';
import { MemoryKills } from '../measure/saturation.ts';

/** Settings of glibc's malloc that return memory after a burst; a heap for each thread would keep it. */
const MALLOC = { MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '131072', MALLOC_MMAP_THRESHOLD_: '131072' };

/** Starts a module of this folder, without the API key in its environment. `flags`: options of node. */
export function startProcess(name: string, flags: readonly string[] = []): ChildProcess {
  const { MUSTER_API_KEY: _, ...given } = process.env;
  // Passes the parent folder of the compile cache, because Node appends its own version to the folder.
  const cache = getCompileCacheDir();
  const env = { ...MALLOC, ...given, ...(cache !== undefined && { NODE_COMPILE_CACHE: dirname(cache) }) };
  const execArgv = [...process.execArgv, ...flags];
  const module = new URL(`./${name}${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);
  const child = fork(module, [], { env, execArgv, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  try {
    // Makes the kernel kill the child before its parent if memory runs out, because the parent can report the reason.
    writeFileSync(`/proc/${child.pid}/oom_score_adj`, '1000');
  } catch {
    // The system is not Linux, or the process has ended.
  }
  return child;
}

function whenExited(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => child.once('exit', () => resolve()));
}

export function killed(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  return whenExited(child);
}

export interface Call {
  call: number;
  method: HostCall | 'configure';
  args: unknown[];
}
export type Reply = { reply: number; result?: unknown } | { reply: number; error: string };
type Tell = (notice: HostNotice) => void;
/** Sent by a worker every second, so that the parent notices a stuck worker. */
export const SIGN_OF_LIFE = { alive: true } as const;
export const ALIVE_EVERY_MS = 1000;

class WorkerDied extends Error {
  override name = 'WorkerDied';
  signal: NodeJS.Signals | undefined;
}

class HostChannel {
  readonly #child: ChildProcess;
  readonly #name: string;
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  #calls = 0;
  readonly #stopWatching: () => void;
  #died: WorkerDied | undefined;

  constructor(child: ChildProcess, name: string, tell: Tell, silentMs: number) {
    this.#child = child;
    this.#name = name;
    const patience = new Patience(silentMs);
    this.#stopWatching = patience.watch(() => {
      this.#end(`it gave no sign of life for ${silentMs / 1000} s`);
      child.kill('SIGKILL');
    });
    child.on('message', (received) => {
      const message = received as Reply | HostNotice | typeof SIGN_OF_LIFE;
      patience.renew();
      if ('alive' in message) return;
      if (!('reply' in message)) return tell(message);
      const waiting = this.#waiting.get(message.reply);
      this.#waiting.delete(message.reply);
      if ('error' in message) waiting?.reject(new Error(`${name}: ${message.error}`));
      else waiting?.resolve(message.result);
    });
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

/** Keeps V8's young generation small: a large one keeps the memory of a burst and delays actions. */
export const WORKER_FLAGS = ['--max-semi-space-size=4'];

function startWorker(config: HostConfig, tell: Tell, silentMs = 60_000): Host {
  const child = startProcess('worker', WORKER_FLAGS);
  const channel = new HostChannel(child, config.name, tell, silentMs);
  const ready = channel.call('configure', [config]);
  ready.catch(() => {}); // Each call rejects instead.
  const calls = Object.fromEntries(
    HOST_CALLS.map((method) => [method, (...args: unknown[]) => ready.then(() => channel.call(method, args))]),
  ) as unknown as Host;
  const stop = async (how: StopMode): Promise<void> => {
    // Kills without cleanup, because the fleet removes the robots' files.
    if (how === 'abandon') return killed(child);
    // Stopping thousands of robots takes up to a minute.
    const late = setTimeout(() => child.kill('SIGKILL'), 60_000);
    try {
      await calls.stop(how).catch(() => {});
      if (child.connected) child.disconnect();
      await whenExited(child);
    } finally {
      clearTimeout(late);
    }
  };
  return { ...calls, pid: child.pid, stop };
}

interface HostsOptions {
  configs: readonly HostConfig[];
  processes: boolean;
  onNotice(host: string, notice: HostNotice): void;
  silentMs?: number | undefined;
  onLost(host: string, reason: string): void;
}

export class NoHostLeft extends Error {
  override name = 'NoHostLeft';
}

export class Hosts {
  readonly #options: HostsOptions;
  readonly #entries = new Map<string, { host: Host; config: HostConfig }>();
  readonly #lost: Promise<void>[] = [];
  readonly #kills = new MemoryKills();
  #stopping = false;
  #RobotHost: typeof RobotHost | undefined;

  constructor(options: HostsOptions) {
    this.#options = options;
  }

  async first(): Promise<{ host: Host; members: readonly number[] }> {
    const [config] = this.#options.configs;
    await this.#load();
    if (config === undefined) throw new Error('this fleet has no hosts');
    return { host: this.#entries.get(config.name)?.host ?? this.#add(config), members: config.members };
  }

  /** Starts hosts one by one, so that an interrupt can end the start after any host. */
  async start(): Promise<void> {
    await this.#load();
    for (const config of this.#options.configs) {
      if (this.#stopping) return;
      if (!this.#entries.has(config.name)) this.#add(config);
      await setImmediate();
    }
  }

  get pids(): number[] {
    return [...this.#entries.values()].flatMap(({ host }) => host.pid ?? []);
  }

  /** Resolves with the hosts' answers; drops each host that rejects. Rejects with NoHostLeft if no host answers. */
  async each<T>(call: (host: Host) => Promise<T>): Promise<T[]> {
    const entries = [...this.#entries];
    const results = await Promise.allSettled(entries.map(([, { host }]) => call(host)));
    const values: T[] = [];
    for (const [position, result] of results.entries()) {
      if (result.status === 'fulfilled') values.push(result.value);
      else this.#lose(entries[position]?.[0], result.reason as Error);
    }
    if (values.length === 0) throw new NoHostLeft('no host of the fleet is left');
    return values;
  }

  /** Resolves with undefined if a host is lost, because its measurements are lost too. */
  async snapshot(): Promise<Snapshot | undefined> {
    const now = await this.each((host) => host.snapshot());
    return this.#lost.length > 0 ? undefined : mergeSnapshots(now);
  }

  async grow(members: readonly number[], first: number): Promise<void> {
    const { configs } = this.#options;
    const robots = first + members.length;
    const calls = configs.map(async ({ name }, number) => {
      const part = members.filter((_member, position) => (first + position) % configs.length === number);
      const entry = this.#entries.get(name);
      if (entry === undefined) return;
      await entry.host.grow(part, robots);
      entry.config = { ...entry.config, robots, members: [...entry.config.members, ...part] };
    });
    await Promise.all(calls);
  }

  #lose(name: string | undefined, why: Error): void {
    const entry = name === undefined ? undefined : this.#entries.get(name);
    if (this.#stopping || name === undefined || entry === undefined) return;
    this.#lost.push(entry.host.stop('abandon').catch(() => {}));
    this.#entries.delete(name);
    const killed = why instanceof WorkerDied && why.signal === 'SIGKILL';
    this.#options.onLost(name, `${name} is lost: ${why.message}${killed ? this.#kills.cause : ''}`);
  }

  async stop(how: StopMode): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#lost);
    const results = await Promise.allSettled([...this.#entries.values()].map(({ host }) => host.stop(how)));
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    if (failures.length > 0) throw new AggregateError(failures, `${failures.length} hosts did not stop cleanly`);
  }

  async #load(): Promise<void> {
    if (!this.#options.processes) this.#RobotHost ??= (await import('../host/robot-host.ts')).RobotHost;
  }

  #add(config: HostConfig): Host {
    mkdirSync(config.robotsDir, { recursive: true, mode: 0o700 });
    const { onNotice, silentMs } = this.#options;
    const tell: Tell = (notice) => onNotice(config.name, notice);
    const host = this.#RobotHost ? new this.#RobotHost(config, tell) : startWorker(config, tell, silentMs);
    this.#entries.set(config.name, { host, config });
    return host;
  }
}
