/** Samples the load of this process, to decide whether the load generator kept up with its schedule. */
import { readdirSync } from 'node:fs';
import { readText } from './cgroup.ts';

export interface LoadSample {
  loop_max_ms: number;
  /** Average number of cores that the process used. */
  cpu: number;
  /** Share of time in which the main thread waited for a processor; 0 on systems without schedstat. */
  cpu_wait: number;
  descriptors: number;
  descriptor_limit: number;
  rss_bytes: number;
}

const TICK_MS = 10;

/** Measures stalls of the event loop without `monitorEventLoopDelay`, whose `reset` can lose a stall. */
export class SaturationSampler {
  #longestMs = 0;
  #ticker: NodeJS.Timeout | undefined;
  #turned = performance.now();
  #cpu = process.cpuUsage();
  #waitedMs = waitedForProcessorMs();
  #at = performance.now();

  start(): void {
    this.#turned = performance.now();
    this.#ticker ??= setInterval(() => this.#tick(), TICK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#ticker);
    this.#ticker = undefined;
  }

  take(): LoadSample {
    if (this.#ticker !== undefined) this.#tick();
    const used = process.cpuUsage(this.#cpu);
    const elapsedMs = Math.max(performance.now() - this.#at, 1);
    const waitedMs = waitedForProcessorMs();
    const sample = {
      loop_max_ms: this.#longestMs,
      cpu: (used.user + used.system) / 1000 / elapsedMs,
      cpu_wait: Math.min((waitedMs - this.#waitedMs) / elapsedMs, 1),
      descriptors: openDescriptors(),
      descriptor_limit: descriptorLimit(),
      rss_bytes: process.memoryUsage.rss(),
    };
    this.#longestMs = 0;
    this.#cpu = process.cpuUsage();
    this.#waitedMs = waitedMs;
    this.#at = performance.now();
    return sample;
  }

  #tick(): void {
    const now = performance.now();
    const delayMs = Math.max(Math.round((now - this.#turned - TICK_MS) * 1000), 1) / 1000;
    this.#longestMs = Math.max(this.#longestMs, delayMs);
    this.#turned = now;
  }
}

/** Reads the second field of schedstat: nanoseconds that the main thread waited for a processor. */
function waitedForProcessorMs(): number {
  return Number(readText(`/proc/self/task/${process.pid}/schedstat`)?.split(' ')[1] ?? 0) / 1e6;
}

function openDescriptors(): number {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return 0;
  }
}

export function descriptorLimit(): number {
  return Number(/^Max open files\s+(\d+)/m.exec(readText('/proc/self/limits') ?? '')?.[1] ?? 0);
}
