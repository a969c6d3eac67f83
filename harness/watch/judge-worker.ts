import { Worker } from 'node:worker_threads';
import type { FromThread, LiveFigures, ToThread } from './judge-thread.ts';
import type { Concluded, PlainJudged } from './judging.ts';

export interface JudgeWorkerOptions {
  entry: URL;
  data: unknown;
  taken(broken: Readonly<Record<string, number>>): void;
  found(id: string, judged: PlainJudged, requirement?: Extract<FromThread, { kind: 'found' }>['requirement']): void;
  live?(live: LiveFigures): void;
  trouble(why: string): void;
  ended?(why: string): void;
}

export class JudgeWorker implements AsyncDisposable {
  readonly #options: JudgeWorkerOptions;
  readonly #worker: Worker;
  readonly #concluded = Promise.withResolvers<Concluded | undefined>();
  isOver = false;
  #spent: number | undefined;
  #looked: { spent: number; at: number } | undefined;
  #patience: NodeJS.Timeout | undefined;

  constructor(options: JudgeWorkerOptions) {
    this.#options = options;
    this.#worker = new Worker(options.entry, {
      name: 'judge',
      workerData: options.data,
      execArgv: [],
      // MiB of the thread's heap; the thread's bounded state needs less.
      resourceLimits: { maxOldGenerationSizeMb: 512 },
    });
    this.#worker.on('message', (message: FromThread) => this.#message(message));
    this.#worker.on('error', (error: unknown) => this.fail(error));
    this.#worker.on('messageerror', (error) => this.fail(error));
    this.#worker.on('exit', () => this.#gone('its thread has ended'));
  }

  get spentMs(): number {
    // Falls back to active time, because some versions of Node report no processor time by thread.
    return this.#spent ?? this.#worker.performance.eventLoopUtilization().active;
  }

  share(): number | undefined {
    const before = this.#looked;
    const now = { spent: this.spentMs, at: performance.now() };
    this.#looked = now;
    return before && (now.spent - before.spent) / (now.at - before.at);
  }

  post(message: ToThread): void {
    if (this.isOver) return;
    this.#worker.postMessage(message, message.kind === 'batch' ? [message.memory] : []);
  }

  fail(error: unknown): void {
    this.#gone(error instanceof Error ? error.message : String(error));
  }

  async conclude(): Promise<Concluded | undefined> {
    this.post({ kind: 'conclude' });
    this.#patience = setTimeout(() => this.#gone('it did not come to its end'), 30_000);
    try {
      return await this.#concluded.promise;
    } finally {
      clearTimeout(this.#patience);
      this.#patience = undefined;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isOver = true;
    this.#concluded.resolve(undefined);
    await this.#worker.terminate();
  }

  #message(message: FromThread): void {
    this.#patience?.refresh();
    try {
      if (message.kind === 'taken') {
        this.#spent = message.spentMs;
        this.#options.taken(message.broken ?? {});
      } else if (message.kind === 'found') this.#options.found(message.id, message.judged, message.requirement);
      else if (message.kind === 'live') this.#options.live?.(message.live);
      else if (message.kind === 'trouble') this.#options.trouble(message.why);
      else this.#concluded.resolve(message.concluded);
    } catch (error) {
      this.fail(error);
    }
  }

  #gone(why: string): void {
    this.#concluded.resolve(undefined);
    if (this.isOver) return;
    this.isOver = true;
    void this.#worker.terminate();
    const told = `nothing is judged from here on: ${why}`;
    try {
      this.#options.trouble(told);
      this.#options.ended?.(told);
    } catch {
      // A failing callback must not stop the traffic.
    }
  }
}
