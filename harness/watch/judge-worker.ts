/** The thread that judges, from outside: what goes to it and comes back, its end, and its part of a processor. */
import { Worker } from 'node:worker_threads';
import type { FromThread, Live, ToThread } from './judge-thread.ts';
import type { Concluded, PlainJudged } from './judging.ts';

/** A heap that no traffic fills, since all that is kept is bounded. */
const HEAP_MB = 512;
/** Milliseconds that the thread may be silent at the end: on a busy machine it comes last. */
const CONCLUDING_MS = 30_000;

type FoundRequirement = Extract<FromThread, { kind: 'found' }>['requirement'];

export interface JudgeWorkerOptions {
  /** Calls `serveJudge`. */
  entry: URL;
  /** For that. */
  data: unknown;
  /** The thread has taken what was sent first of all that it had not. */
  taken(broken: Readonly<Record<string, number>>): void;
  found(id: string, judged: PlainJudged, requirement?: FoundRequirement): void;
  /** How it stands, twice a second where a page shows it. */
  live?(live: Live): void;
  /** The thread has ended by itself, or something that it does besides has failed. */
  trouble(why: string): void;
  /** Told after the trouble with which nothing is judged any more. */
  ended?(why: string): void;
}

export class JudgeWorker implements AsyncDisposable {
  readonly #options: JudgeWorkerOptions;
  readonly #worker: Worker;
  readonly #concluded = Promise.withResolvers<Concluded | undefined>();
  #isOver = false;
  /** Milliseconds of a processor that the thread has taken: as it said last, and when that was looked at. */
  #spent: number | undefined;
  #looked: { spent: number; at: number } | undefined;
  /** Runs out while the end is awaited. */
  #patience: NodeJS.Timeout | undefined;

  constructor(options: JudgeWorkerOptions) {
    this.#options = options;
    this.#worker = new Worker(options.entry, {
      name: 'judge',
      workerData: options.data,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    this.#worker.on('message', (message: FromThread) => this.#message(message));
    this.#worker.on('error', (error: unknown) => this.fail(error));
    this.#worker.on('messageerror', (error) => this.fail(error));
    this.#worker.on('exit', () => this.#gone('its thread has ended'));
  }

  /** Nothing is judged any more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Milliseconds of a processor that the thread has taken since its start. */
  get spentMs(): number {
    // Where Node does not tell the processor's time, the time that the thread was not idle stands for it.
    return this.#spent ?? this.#worker.performance.eventLoopUtilization().active;
  }

  /** The part of a processor that the thread has taken since the last call; undefined for the first. */
  share(): number | undefined {
    const before = this.#looked;
    const now = { spent: this.spentMs, at: performance.now() };
    this.#looked = now;
    return before && (now.spent - before.spent) / (now.at - before.at);
  }

  post(message: ToThread): void {
    if (this.#isOver) return;
    this.#worker.postMessage(message, message.kind === 'batch' ? [message.memory] : []);
  }

  /** A fault, wherever it was: nothing is judged any more. */
  fail(error: unknown): void {
    this.#gone(error instanceof Error ? error.message : String(error));
  }

  /** What came of all that was sent; undefined where the thread has ended before. */
  async conclude(): Promise<Concluded | undefined> {
    this.post({ kind: 'conclude' });
    this.#patience = setTimeout(() => this.#gone('it did not come to its end'), CONCLUDING_MS);
    try {
      return await this.#concluded.promise;
    } finally {
      clearTimeout(this.#patience);
      this.#patience = undefined;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
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
    if (this.#isOver) return;
    this.#isOver = true;
    // Where the thread still runs, it would only take its part of the processor.
    void this.#worker.terminate();
    const told = `nothing is judged from here on: ${why}`;
    try {
      this.#options.trouble(told);
      this.#options.ended?.(told);
    } catch {
      // Nobody is left to be told.
    }
  }
}
