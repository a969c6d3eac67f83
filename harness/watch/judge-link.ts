/**
 * The way from the tap to the thread that judges. What the thread has not taken yet is bounded, for each connection and
 * in all: where it lags behind, connections are no longer judged. When it ends by itself, nothing is judged any more.
 */
import { Worker } from 'node:worker_threads';
import { Batch, type Glimpse } from './batch.ts';
import type { FromThread, Live, ToThread } from './judge-thread.ts';
import type { Concluded, PlainJudged } from './judging.ts';
import type { Ending, Side, Tap } from './relay.ts';

/**
 * The part of a processor that the judging may take: on a busy machine that is missing for the traffic. Of connections
 * beyond that, those that carry most are no longer judged.
 */
const MOST_BUSY = 0.25;
/** Milliseconds after which it is looked at. A burst, such as a long replay, is over by the next time. */
const LOOK_MS = 500;
const MIB = 1024 * 1024;
const MOST_OF_A_CONNECTION = 4 * MIB;
const MOST_OF_ALL = 64 * MIB;
/** A heap that no traffic fills, since all that is kept is bounded. */
const HEAP_MB = 512;
/** Milliseconds that the end of the judging may take: what is on its way is bounded. */
const CONCLUDING_MS = 30_000;

export interface JudgeLinkOptions {
  /** Calls `serveJudge`. */
  entry: URL;
  /** For that. */
  data: unknown;
  found(id: string, judged: PlainJudged): void;
  /** How it stands, twice a second where a page shows it. */
  live?(live: Live): void;
  /** The thread has ended by itself, or something that it does besides has failed. */
  trouble(why: string): void;
}

export class JudgeLink implements Tap, AsyncDisposable {
  /** Bytes that each side has sent, whether they are judged or not. */
  readonly carried: Record<Side, number> = { client: 0, server: 0 };
  readonly #options: JudgeLinkOptions;
  readonly #worker: Worker;
  readonly #concluded = Promise.withResolvers<Concluded | undefined>();
  #batch = new Batch();
  #isDue = false;
  #isOver = false;
  /** Bytes that the thread has not taken, by connection, of each batch that is on its way. */
  readonly #sent: Map<number, number>[] = [];
  #filling = new Map<number, number>();
  readonly #open = new Map<number, number>();
  #all = 0;
  /** Connections of which one side has ended. */
  readonly #halfOver = new Set<number>();
  readonly #timer: NodeJS.Timeout;
  /** Milliseconds of a processor that the thread has taken: as it said last, and when that was looked at. */
  #spent: number | undefined;
  #looked: { spent: number; at: number } | undefined;
  #wasBusy = false;
  /** Bytes since that was looked at, by connection. */
  #recent = new Map<number, number>();

  constructor(options: JudgeLinkOptions) {
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
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  opened(connection: number): void {
    this.#open.set(connection, 0);
    this.#add({ what: 'opened', connection, at: now() });
  }

  bytes(connection: number, from: Side, piece: Buffer): void {
    this.carried[from] += piece.length;
    const open = this.#open.get(connection);
    if (open === undefined || this.#isOver) return;
    if (open + piece.length > MOST_OF_A_CONNECTION || this.#all + piece.length > MOST_OF_ALL) {
      this.#drop(connection);
      return;
    }
    this.#open.set(connection, open + piece.length);
    this.#filling.set(connection, (this.#filling.get(connection) ?? 0) + piece.length);
    this.#recent.set(connection, (this.#recent.get(connection) ?? 0) + piece.length);
    this.#all += piece.length;
    this.#add({ what: 'bytes', connection, at: now(), from, piece });
  }

  ended(connection: number, from: Side, how: Ending): void {
    this.#add({ what: 'ended', connection, at: now(), from, how });
    if (how === 'cut' || this.#halfOver.has(connection)) this.#forget(connection);
    else this.#halfOver.add(connection);
  }

  refused(connection: number, why: string): void {
    this.#add({ what: 'refused', connection, at: now(), why });
    this.#forget(connection);
  }

  /** A fault, wherever it was: nothing is judged any more. */
  fail(error: unknown): void {
    this.#gone(error instanceof Error ? error.message : String(error));
  }

  /** What came of all that was seen; undefined where the thread has ended before. */
  async conclude(): Promise<Concluded | undefined> {
    this.#flush();
    this.#post({ kind: 'conclude' });
    const timer = setTimeout(() => this.#gone('it did not come to its end'), CONCLUDING_MS);
    try {
      return await this.#concluded.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    clearInterval(this.#timer);
    this.#concluded.resolve(undefined);
    await this.#worker.terminate();
  }

  #drop(connection: number): void {
    this.#open.delete(connection);
    this.#recent.delete(connection);
    this.#add({ what: 'dropped', connection, at: now() });
  }

  /** Of what came lately, the part that is too much is left to itself: the connections that carry most of it. */
  #look(): void {
    const before = this.#looked;
    const recent = this.#recent;
    this.#recent = new Map();
    // Where Node does not tell the processor's time, the time that the thread was not idle stands for it.
    const spent = this.#spent ?? this.#worker.performance.eventLoopUtilization().active;
    this.#looked = { spent, at: performance.now() };
    if (before === undefined) return;
    const share = (this.#looked.spent - before.spent) / (this.#looked.at - before.at);
    const isBusy = share > MOST_BUSY;
    if (isBusy && this.#wasBusy) this.#shed(recent, 1 - MOST_BUSY / share);
    this.#wasBusy = isBusy;
  }

  /** An idle stream costs nothing, and is what there is most to learn from. */
  #shed(recent: ReadonlyMap<number, number>, part: number): void {
    let left = Math.ceil(part * [...recent.values()].reduce((sum, bytes) => sum + bytes, 0));
    for (const [connection, bytes] of [...recent].sort(([, one], [, other]) => other - one)) {
      if (left <= 0) return;
      left -= bytes;
      if (this.#open.has(connection)) this.#drop(connection);
    }
  }

  /** Both sides have ended, or one was cut, which cuts the other. */
  #forget(connection: number): void {
    this.#open.delete(connection);
    this.#halfOver.delete(connection);
  }

  #add(glimpse: Glimpse): void {
    if (this.#isOver) return;
    this.#batch.add(glimpse);
    if (this.#isDue) return;
    // What comes in one turn of the event loop goes together.
    this.#isDue = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#isDue = false;
    if (this.#batch.length === 0 || this.#isOver) return;
    this.#sent.push(this.#filling);
    this.#filling = new Map();
    const { memory, used } = this.#batch.take();
    this.#post({ kind: 'batch', memory, used });
  }

  #post(message: ToThread): void {
    this.#worker.postMessage(message, message.kind === 'batch' ? [message.memory] : []);
  }

  #message(message: FromThread): void {
    try {
      if (message.kind === 'taken') this.#taken(message.spentMs);
      else if (message.kind === 'found') this.#options.found(message.id, message.judged);
      else if (message.kind === 'live') this.#options.live?.(message.live);
      else if (message.kind === 'trouble') this.#options.trouble(message.why);
      else this.#concluded.resolve(message.concluded);
    } catch (error) {
      this.fail(error);
    }
  }

  #taken(spentMs: number | undefined): void {
    this.#spent = spentMs;
    for (const [connection, bytes] of this.#sent.shift() ?? []) {
      this.#all -= bytes;
      const open = this.#open.get(connection);
      if (open !== undefined) this.#open.set(connection, open - bytes);
    }
  }

  #gone(why: string): void {
    this.#concluded.resolve(undefined);
    if (this.#isOver) return;
    this.#isOver = true;
    this.#batch = new Batch();
    // Where the thread still runs, it would only take its part of the processor.
    void this.#worker.terminate();
    try {
      this.#options.trouble(`nothing is judged from here on: ${why}`);
    } catch {
      // Nobody is left to be told.
    }
  }
}

const now = (): number => performance.timeOrigin + performance.now();
