/**
 * Open log files. A robot keeps its log open while it is busy and closes it soon after, so that thousands of idle robots
 * hold no descriptor; one timer serves them all and runs only while a log is open.
 */
import type { DiskIo } from './io.ts';

const SWEEP_MS = 1_000;
/** Logs open at once in this process; the least recently used idle one gives way. */
const OPEN_AT_MOST = 512;

const open = new Set<LogHandle>();
let sweeper: NodeJS.Timeout | undefined;

export class LogHandle {
  readonly fd: number;
  readonly #io: DiskIo;
  readonly #mayClose: () => boolean;
  #used = 0;
  #closed = false;

  /** `mayClose` is asked before an idle handle is closed, and gives it up by answering true. */
  constructor(io: DiskIo, fd: number, mayClose: () => boolean) {
    this.#io = io;
    this.fd = fd;
    this.#mayClose = mayClose;
  }

  /** Marks it as used. */
  touch(): void {
    this.#used = performance.now();
    open.delete(this);
    open.add(this);
    if (open.size > OPEN_AT_MOST) sweep(Number.POSITIVE_INFINITY, open.size - OPEN_AT_MOST);
    sweeper ??= setInterval(() => sweep(performance.now() - SWEEP_MS, open.size), SWEEP_MS).unref();
  }

  /** Whether it was unused since `moment`, and is closed now. */
  closeIdle(moment: number): boolean {
    if (this.#used > moment || !this.#mayClose()) return false;
    this.close();
    return true;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    open.delete(this);
    this.#io.close(this.fd);
  }
}

function sweep(moment: number, atMost: number): void {
  let closed = 0;
  for (const handle of open) {
    if (closed >= atMost) break;
    if (handle.closeIdle(moment)) closed += 1;
  }
  if (open.size === 0) {
    clearInterval(sweeper);
    sweeper = undefined;
  }
}
