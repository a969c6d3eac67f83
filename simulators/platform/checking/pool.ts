/**
 * Threads that compile users' schemas and check content, so that no schema can block the event loop. A job beyond its
 * time or memory ends with its thread; the next one gets a new thread.
 */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { CheckJob, Refused } from './job.ts';
import type { WorkerMessage } from './worker.ts';

const ENTRY = new URL(`./worker${extname(import.meta.url)}`, import.meta.url);

export interface CheckLimits {
  /** Processor time of one job, milliseconds: elapsed time says little on a busy machine. */
  deadlineMs: number;
  heapMb: number;
  threads: number;
}

/** Milliseconds a job waits before another thread starts: most jobs take less than one. */
const PATIENCE_MS = 100;

/** Milliseconds after which a job's processor time is checked. */
const SOON_MS = 50;

const LIMITS: CheckLimits = { deadlineMs: 3_000, heapMb: 256, threads: 4 };

/** The check of a job was ended; the message gives the reason, for the client. */
export class Overrun extends Error {
  override name = 'Overrun';
}

interface Waiting {
  job: CheckJob;
  resolve(refused: Refused | undefined): void;
  reject(error: Error): void;
}

/** Starts threads on demand and keeps them. They do not keep the process alive. */
export class CheckPool implements AsyncDisposable {
  readonly #limits: CheckLimits;
  readonly #queue: Waiting[] = [];
  readonly #idle: Thread[] = [];
  readonly #all = new Set<Thread>();
  #growth: NodeJS.Timeout | undefined;

  constructor(limits: Partial<CheckLimits> = {}) {
    this.#limits = { ...LIMITS, ...limits };
  }

  /**
   * Resolves with the reason for a refusal, or undefined. Rejects with Overrun, or with the error of a failed check.
   */
  check(job: CheckJob): Promise<Refused | undefined> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ job, resolve, reject });
      this.#next();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#growth);
    for (const { reject } of this.#queue.splice(0)) reject(new Overrun('the platform is stopping'));
    await Promise.all([...this.#all].map((thread) => thread.stop()));
  }

  /** Gives the oldest job to an idle thread, or to a new one if it waits too long. */
  #next(): void {
    if (this.#queue.length === 0) return;
    const thread = this.#idle.pop() ?? (this.#all.size === 0 ? this.#started() : undefined);
    if (thread !== undefined) void this.#run(thread, this.#queue.shift() as Waiting);
    else if (this.#all.size < this.#limits.threads)
      this.#growth ??= setTimeout(() => this.#grow(), PATIENCE_MS).unref();
  }

  #grow(): void {
    this.#growth = undefined;
    const waiting = this.#queue.shift();
    if (waiting !== undefined) void this.#run(this.#started(), waiting);
    this.#next();
  }

  #started(): Thread {
    const thread = new Thread(this.#limits);
    this.#all.add(thread);
    return thread;
  }

  async #run(thread: Thread, { job, resolve, reject }: Waiting): Promise<void> {
    try {
      resolve(await thread.run(job));
    } catch (error) {
      reject(error as Error);
    }
    if (thread.usable) this.#idle.push(thread);
    else this.#all.delete(thread);
    this.#next();
  }
}

/** Shared by the platforms of a process, because each thread costs some 20 MB. */
export const sharedPool = new CheckPool();

/** One worker, unusable once a job has overrun. */
class Thread {
  usable = true;
  readonly #limits: CheckLimits;
  readonly #worker: Worker;
  readonly #up: Promise<WorkerMessage>;
  #watching: NodeJS.Timeout | undefined;
  #settle: { resolve(message: WorkerMessage): void; reject(error: Error): void } | undefined;

  constructor(limits: CheckLimits) {
    this.#limits = limits;
    this.#worker = new Worker(ENTRY, {
      name: 'check',
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: limits.heapMb, maxYoungGenerationSizeMb: 32 },
    });
    this.#worker.on('message', (message: WorkerMessage) => this.#settle?.resolve(message));
    this.#worker.on('error', (error) => this.#end(error as Error));
    this.#worker.on('exit', () => this.#end(new Error('the thread that checks has ended')));
    // A message listener would otherwise keep the process alive.
    this.#worker.unref();
    this.#up = this.#message();
    this.#up.catch(() => {});
  }

  async run(job: CheckJob): Promise<Refused | undefined> {
    // Keeps the process alive for the answer, because nothing else does while a platform starts.
    this.#worker.ref();
    try {
      await this.#up;
      this.#watch(SOON_MS);
      const answered = this.#message();
      this.#worker.postMessage(job);
      const message = await answered;
      if ('failed' in message) throw new Error(message.failed);
      return 'refused' in message ? message.refused : undefined;
    } finally {
      this.#worker.unref();
      clearTimeout(this.#watching);
      this.#watching = undefined;
    }
  }

  /** Checks the job later, unless it is done. `before`: processor time of the thread at the first check. */
  #watch(pauseMs: number, before?: number): void {
    const look = async (): Promise<void> => {
      const timer = this.#watching;
      const { user, system } = await this.#worker.cpuUsage();
      if (timer !== this.#watching || !this.usable) return;
      const spent = (user + system) / 1000;
      const left = this.#limits.deadlineMs - (spent - (before ?? spent));
      if (left > 0) this.#watch(Math.max(left, SOON_MS), before ?? spent);
      else this.#end(new Overrun(`the check took longer than ${this.#limits.deadlineMs / 1000} s`));
    };
    // A thread that has ended has no usage; its exit is reported elsewhere.
    this.#watching = setTimeout(() => void look().catch(() => {}), pauseMs).unref();
  }

  async stop(): Promise<void> {
    this.#end(new Overrun('the platform is stopping'));
    await this.#worker.terminate();
  }

  #message(): Promise<WorkerMessage> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
  }

  #end(error: Error): void {
    this.usable = false;
    void this.#worker.terminate();
    const outOfMemory = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
    this.#settle?.reject(outOfMemory ? new Overrun(`the check took more than ${this.#limits.heapMb} MB`) : error);
  }
}
