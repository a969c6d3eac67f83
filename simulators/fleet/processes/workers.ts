import { type ChildProcess, fork } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { Patience } from '../../../harness/common/waiting.ts';
import { mergeSnapshots, type Snapshot } from '../measure/metrics.ts';
import { MemoryKills } from '../measure/saturation.ts';
import type { RobotWorker } from '../worker/robot-worker.ts';
import type { StopMode, Worker, WorkerCall, WorkerConfig, WorkerMethod, WorkerNotice } from '../worker/worker.ts';

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

export type Call = WorkerCall & { call: number };
export type Reply = { reply: number; result?: unknown } | { reply: number; error: string };
type Tell = (notice: WorkerNotice) => void;
export const SIGN_OF_LIFE = { alive: true } as const;
export const ALIVE_EVERY_MS = 1000;

class WorkerDied extends Error {
  override name = 'WorkerDied';
  signal: NodeJS.Signals | undefined;
}

class WorkerChannel {
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
      const message = received as Reply | WorkerNotice | typeof SIGN_OF_LIFE;
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

  call(asked: WorkerCall): Promise<unknown> {
    if (this.#died !== undefined) return Promise.reject(this.#died);
    this.#calls += 1;
    const call: Call = { ...asked, call: this.#calls };
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

function startWorker(config: WorkerConfig, tell: Tell, silentMs = 60_000): Worker {
  const child = startProcess('worker-process', WORKER_FLAGS);
  const channel = new WorkerChannel(child, config.name, tell, silentMs);
  const ready = channel.call({ method: 'configure', args: [config] });
  ready.catch(() => {}); // Each call rejects instead.
  type Result<Method extends WorkerMethod> = Awaited<ReturnType<Worker[Method]>>;
  async function call<M extends WorkerMethod>(method: M, ...args: Parameters<Worker[M]>): Promise<Result<M>> {
    await ready;
    return (await channel.call({ method, args } as WorkerCall)) as Result<M>;
  }
  const stop = async (how: StopMode): Promise<void> => {
    // Stopping thousands of robots takes up to a minute.
    const late = setTimeout(() => child.kill('SIGKILL'), how === 'abandon' ? 2000 : 60_000);
    try {
      if (how === 'abandon')
        // Ends without cleanup, because the fleet removes the robots' files, but never while a key is being written.
        child.kill('SIGUSR2');
      else {
        await call('stop', how).catch(() => {});
        if (child.connected) child.disconnect();
      }
      await whenExited(child);
    } finally {
      clearTimeout(late);
    }
  };
  return {
    pid: child.pid,
    runCanary: (robot) => call('runCanary', robot),
    prepare: () => call('prepare'),
    runPhase: (request) => call('runPhase', request),
    soFar: () => call('soFar'),
    grow: (members, robots) => call('grow', members, robots),
    finish: () => call('finish'),
    snapshot: () => call('snapshot'),
    memory: () => call('memory'),
    stop,
  };
}

interface WorkersOptions {
  configs: readonly WorkerConfig[];
  processes: boolean;
  onNotice(worker: string, notice: WorkerNotice): void;
  silentMs?: number | undefined;
  onLost(worker: string, reason: string): void;
}

export class NoWorkerLeft extends Error {
  override name = 'NoWorkerLeft';
}

export class Workers {
  readonly #options: WorkersOptions;
  readonly #entries = new Map<string, { worker: Worker; config: WorkerConfig }>();
  readonly #lost: Promise<void>[] = [];
  readonly #kills = new MemoryKills();
  #stopping = false;
  #RobotWorker: typeof RobotWorker | undefined;

  constructor(options: WorkersOptions) {
    this.#options = options;
  }

  async first(): Promise<{ worker: Worker; members: readonly number[] }> {
    const [config] = this.#options.configs;
    await this.#load();
    if (config === undefined) throw new Error('this fleet has no workers');
    return { worker: this.#entries.get(config.name)?.worker ?? this.#add(config), members: config.members };
  }

  /** Starts workers one by one, so that an interrupt can end the start after any worker. */
  async start(): Promise<void> {
    await this.#load();
    for (const config of this.#options.configs) {
      if (this.#stopping) return;
      if (!this.#entries.has(config.name)) this.#add(config);
      await setImmediate();
    }
  }

  get pids(): number[] {
    return [...this.#entries.values()].flatMap(({ worker }) => worker.pid ?? []);
  }

  /** Resolves with the workers' answers; drops each worker that rejects. Rejects with NoWorkerLeft if none answers. */
  async each<T>(call: (worker: Worker) => Promise<T>): Promise<T[]> {
    const entries = [...this.#entries];
    const results = await Promise.allSettled(entries.map(([, { worker }]) => call(worker)));
    const values: T[] = [];
    for (const [position, result] of results.entries()) {
      if (result.status === 'fulfilled') values.push(result.value);
      else this.#lose(entries[position]?.[0], result.reason as Error);
    }
    if (values.length === 0) throw new NoWorkerLeft('no worker of the fleet is left');
    return values;
  }

  /** Resolves with undefined if a worker is lost, because its measurements are lost too. */
  async snapshot(): Promise<Snapshot | undefined> {
    const now = await this.each((worker) => worker.snapshot());
    return this.#lost.length > 0 ? undefined : mergeSnapshots(now);
  }

  async grow(members: readonly number[], first: number): Promise<void> {
    const { configs } = this.#options;
    const robots = first + members.length;
    const calls = configs.map(async ({ name }, number) => {
      const part = members.filter((_member, position) => (first + position) % configs.length === number);
      const entry = this.#entries.get(name);
      if (entry === undefined) return;
      await entry.worker.grow(part, robots);
      entry.config = { ...entry.config, robots, members: [...entry.config.members, ...part] };
    });
    await Promise.all(calls);
  }

  #lose(name: string | undefined, why: Error): void {
    const entry = name === undefined ? undefined : this.#entries.get(name);
    if (this.#stopping || name === undefined || entry === undefined) return;
    this.#lost.push(entry.worker.stop('abandon').catch(() => {}));
    this.#entries.delete(name);
    const killed = why instanceof WorkerDied && why.signal === 'SIGKILL';
    this.#options.onLost(name, `${name} is lost: ${why.message}${killed ? this.#kills.cause : ''}`);
  }

  async stop(how: StopMode): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#lost);
    const results = await Promise.allSettled([...this.#entries.values()].map(({ worker }) => worker.stop(how)));
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    if (failures.length > 0) throw new AggregateError(failures, `${failures.length} workers did not stop cleanly`);
  }

  async #load(): Promise<void> {
    if (!this.#options.processes) this.#RobotWorker ??= (await import('../worker/robot-worker.ts')).RobotWorker;
  }

  #add(config: WorkerConfig): Worker {
    mkdirSync(config.robotsDir, { recursive: true, mode: 0o700 });
    const { onNotice, silentMs } = this.#options;
    const tell: Tell = (notice) => onNotice(config.name, notice);
    const worker = this.#RobotWorker ? new this.#RobotWorker(config, tell) : startWorker(config, tell, silentMs);
    this.#entries.set(config.name, { worker, config });
    return worker;
  }
}
