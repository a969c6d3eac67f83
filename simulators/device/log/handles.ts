/**
 * Open log files of all devices of the process. A busy robot keeps its log open and closes it soon after, so that thousands of
 * idle robots hold no descriptors. One timer serves all of them, and runs only while a log is open.
 */
import type { DiskIo } from './io.ts';

const SWEEP_MS = 1_000;
/** Logs open at once in this process; beyond that, the idle one that was used longest ago is closed. */
const OPEN_AT_MOST = 512;

const open = new Set<LogHandle>();
let sweeper: NodeJS.Timeout | undefined;

/** The open file of one log. */
export class LogHandle {
  readonly fd: number;
  readonly #io: DiskIo;
  readonly #mayClose: () => boolean;
  #used = 0;
  #closed = false;

  /** `mayClose` is asked before an idle handle is closed; with true its owner gives the handle up. */
  constructor(io: DiskIo, fd: number, mayClose: () => boolean) {
    this.#io = io;
    this.fd = fd;
    this.#mayClose = mayClose;
  }

  /** Marks the handle as used now. */
  touch(): void {
    this.#used = performance.now();
    open.delete(this);
    open.add(this);
    if (open.size > OPEN_AT_MOST) sweep(Number.POSITIVE_INFINITY, open.size - OPEN_AT_MOST);
    sweeper ??= setInterval(() => sweep(performance.now() - SWEEP_MS, open.size), SWEEP_MS).unref();
  }

  /** Closes the handle if it was not used since `moment`. Whether it did. */
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
