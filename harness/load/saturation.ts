/** Watches this process while it generates load: did it keep up, or did it measure itself? */
import { readdirSync, readFileSync } from 'node:fs';
import { createHistogram } from 'node:perf_hooks';

/** One interval of one process. */
export interface LoadSample {
  /** Longest and 99th percentile delay of the event loop, milliseconds. */
  loop_p99_ms: number;
  loop_max_ms: number;
  /** Processor time used by this process, 1 = one core. */
  cpu: number;
  descriptors: number;
  descriptor_limit: number;
  rss_bytes: number;
}

const TICK_MS = 10;

/**
 * Not `monitorEventLoopDelay`: its `reset` forgets when the loop last turned, so a stall that ends in the next interval is lost.
 */
export class SaturationSampler {
  readonly #delay = createHistogram();
  #ticker: NodeJS.Timeout | undefined;
  #turned = performance.now();
  #cpu = process.cpuUsage();
  #at = performance.now();

  start(): void {
    this.#turned = performance.now();
    this.#ticker ??= setInterval(() => this.#tick(), TICK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#ticker);
    this.#ticker = undefined;
  }

  /** What happened since the last call. */
  take(): LoadSample {
    if (this.#ticker !== undefined) this.#tick();
    const used = process.cpuUsage(this.#cpu);
    const elapsedMs = Math.max(performance.now() - this.#at, 1);
    const empty = this.#delay.count === 0;
    const sample = {
      loop_p99_ms: empty ? 0 : this.#delay.percentile(99) / 1000,
      loop_max_ms: empty ? 0 : this.#delay.max / 1000,
      cpu: (used.user + used.system) / 1000 / elapsedMs,
      descriptors: openDescriptors(),
      descriptor_limit: descriptorLimit(),
      rss_bytes: process.memoryUsage.rss(),
    };
    this.#delay.reset();
    this.#cpu = process.cpuUsage();
    this.#at = performance.now();
    return sample;
  }

  #tick(): void {
    const now = performance.now();
    this.#delay.record(Math.max(Math.round((now - this.#turned - TICK_MS) * 1000), 1));
    this.#turned = now;
  }
}

/** 0 where the system does not tell. */
export function openDescriptors(): number {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return 0;
  }
}

/** The soft limit of this process; 0 where the system does not tell. */
export function descriptorLimit(): number {
  try {
    const line = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'utf8'));
    return line?.[1] === undefined || line[1] === 'unlimited' ? 0 : Number(line[1]);
  } catch {
    return 0;
  }
}
