/** Sends traffic to the judging thread, and stops judging connections above limits of memory or processor time. */
import { Batch, type Observation } from './batch.ts';
import { JudgeWorker, type JudgeWorkerOptions } from './judge-worker.ts';
import type { Concluded } from './judging.ts';
import type { Ending, Side, Tap } from './relay.ts';

/** Share of a processor for the judging thread, which must leave time to the traffic. */
const MOST_BUSY = 0.125;
const MIB = 1024 * 1024;

interface Carried {
  readonly connection: number;
  untaken: number;
  recent: number;
}

export class JudgeLink implements Tap, AsyncDisposable {
  readonly carried: Record<Side, number> = { client: 0, server: 0 };
  readonly #worker: JudgeWorker;
  #batch = new Batch();
  #due: NodeJS.Timeout | undefined;
  readonly #sent: Map<Carried, number>[] = [];
  #filling = new Map<Carried, number>();
  readonly #open = new Map<number, Carried>();
  #all = 0;
  readonly #halfOver = new Set<number>();
  readonly #timer: NodeJS.Timeout;
  #wasBusy = false;
  #warmAt = Number.POSITIVE_INFINITY;
  #recent: Carried[] = [];

  constructor(options: Omit<JudgeWorkerOptions, 'taken'>) {
    this.#worker = new JudgeWorker({ ...options, taken: () => this.#taken() });
    // Milliseconds between load measurements; one busy interval drops no connection.
    this.#timer = setInterval(() => this.#look(), 500).unref();
  }

  opened(connection: number): void {
    this.#open.set(connection, { connection, untaken: 0, recent: 0 });
    this.#add({ what: 'opened', connection, at: now() });
  }

  bytes(connection: number, from: Side, piece: Buffer): void {
    this.carried[from] += piece.length;
    const open = this.#open.get(connection);
    if (open === undefined || this.#worker.isOver) return;
    if (open.untaken + piece.length > 4 * MIB || this.#all + piece.length > 64 * MIB)
      return void this.#drop(connection);
    if (open.recent === 0) this.#recent.push(open);
    open.untaken += piece.length;
    open.recent += piece.length;
    this.#filling.set(open, (this.#filling.get(open) ?? 0) + piece.length);
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

  fail(error: unknown): void {
    this.#worker.fail(error);
  }

  async conclude(): Promise<Concluded | undefined> {
    this.#flush();
    return await this.#worker.conclude();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#worker[Symbol.asyncDispose]();
  }

  #drop(connection: number): void {
    this.#open.delete(connection);
    this.#add({ what: 'dropped', connection, at: now() });
  }

  #look(): void {
    const share = this.#worker.share() ?? 0;
    const isBusy = share > MOST_BUSY && this.#worker.spentMs > this.#warmAt;
    if (isBusy && this.#wasBusy) this.#shed(1 - MOST_BUSY / share);
    this.#wasBusy = isBusy;
    for (const carried of this.#recent) carried.recent = 0;
    this.#recent = [];
  }

  /** Starts with the busiest connections, because idle event streams cost little. */
  #shed(part: number): void {
    let left = Math.ceil(part * this.#recent.reduce((sum, { recent }) => sum + recent, 0));
    for (const { connection, recent } of this.#recent.toSorted((one, other) => other.recent - one.recent)) {
      if (left <= 0) return;
      left -= recent;
      if (this.#open.has(connection)) this.#drop(connection);
    }
  }

  #forget(connection: number): void {
    this.#open.delete(connection);
    this.#halfOver.delete(connection);
  }

  #add(glimpse: Observation): void {
    if (this.#worker.isOver) return;
    this.#batch.add(glimpse);
    // Milliseconds and bytes of a batch; small batches wake the thread often, large batches delay traffic.
    if (this.#batch.length >= 256 * 1024) this.#flush();
    else this.#due ??= setTimeout(() => this.#flush(), 2);
  }

  #flush(): void {
    clearTimeout(this.#due);
    this.#due = undefined;
    if (this.#batch.length === 0) return;
    this.#sent.push(this.#filling);
    this.#filling = new Map();
    const { memory, used } = this.#batch.take();
    this.#worker.post({ kind: 'batch', memory, used });
  }

  #taken(): void {
    // Milliseconds of processor time for the thread's warm-up, which does not count as load.
    if (this.#warmAt === Number.POSITIVE_INFINITY) this.#warmAt = this.#worker.spentMs + 1000;
    for (const [carried, bytes] of this.#sent.shift() ?? []) {
      this.#all -= bytes;
      carried.untaken -= bytes;
    }
  }
}

const now = (): number => performance.timeOrigin + performance.now();
