import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { memoryText } from '../../../harness/common/units.ts';

const EXHAUSTED = ['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS', 'ENOMEM', 'EAGAIN', 'ENOSPC', 'EDQUOT'];

export function isExhausted(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof AggregateError) return at.errors.every(isExhausted);
    const { code } = at as NodeJS.ErrnoException;
    if (code !== undefined && EXHAUSTED.includes(code)) return true;
  }
  return false;
}

export interface LoadSample {
  loop_max_ms: number;
  /** Average number of cores that this process used. */
  cpu: number;
  /** Share of time in which the main thread waited for a processor; 0 without schedstat. */
  cpu_wait: number;
  descriptors: number;
  descriptor_limit: number;
  rss_bytes: number;
}

const TICK_MS = 10;

/** Avoids `monitorEventLoopDelay`, whose `reset` can lose a stall of the event loop. */
export class SaturationSampler {
  #longestMs = 0;
  #ticker: NodeJS.Timeout | undefined;
  #turned = performance.now();
  #cpu = process.cpuUsage();
  #waitedMs = waitedForProcessorMs();
  #at = performance.now();
  /** Read once, because a process without a free descriptor cannot read it. */
  readonly #limit = descriptorLimit();

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
      descriptors: openDescriptors(this.#limit),
      descriptor_limit: this.#limit,
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

/** The second field of schedstat is the main thread's wait in nanoseconds. */
const waitedForProcessorMs = (): number =>
  Number(readText(`/proc/self/task/${process.pid}/schedstat`)?.split(' ')[1] ?? 0) / 1e6;

function openDescriptors(limit: number): number {
  try {
    // The size is the number since Linux 6.2, and 0 before; listing thousands would delay the robots.
    return statSync('/proc/self/fd').size || readdirSync('/proc/self/fd').length;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EMFILE' ? limit : 0;
  }
}

export const descriptorLimit = (): number =>
  Number(/^Max open files\s+(\d+)/m.exec(readText('/proc/self/limits') ?? '')?.[1] ?? 0);

const CGROUPS = '/sys/fs/cgroup';

export interface MemoryLimit {
  limitBytes: number;
  /** Includes the file cache that the kernel can reclaim. */
  freeBytes: number;
  kills: number | undefined;
}

export function memoryLimit(root = CGROUPS, own = readText('/proc/self/cgroup') ?? ''): MemoryLimit | undefined {
  const limits = [
    ...foldersOf(root, own, 'memory').map((folder) =>
      memoryIn(folder, 'memory.limit_in_bytes', 'memory.usage_in_bytes', 'total_inactive_file', 'memory.oom_control'),
    ),
    ...foldersOf(root, own, '').map((folder) =>
      memoryIn(folder, 'memory.max', 'memory.current', 'inactive_file', 'memory.events'),
    ),
  ];
  return limits.filter((limit) => limit !== undefined).sort((a, b) => a.freeBytes - b.freeBytes)[0];
}

/** Returns the folders of the process's control group and its parents. `controller`: empty for cgroup v2. */
function foldersOf(root: string, own: string, controller: string): string[] {
  const lines = own.split('\n').map((line) => /^\d+:([^:]*):(.*)$/.exec(line));
  const path = lines.find((line) => line?.[1]?.split(',').includes(controller))?.[2] ?? '/';
  const top = join(root, controller);
  const folders = [join(top, path)];
  for (let at = path; at !== '/' && at !== '.'; at = dirname(at)) folders.push(join(top, dirname(at)));
  return folders;
}

function memoryIn(folder: string, limit: string, used: string, cache: string, events: string): MemoryLimit | undefined {
  const limitBytes = readNumber(join(folder, limit));
  const usedBytes = readNumber(join(folder, used));
  // Cgroup v1 reports a limit near 2^63 if none is set.
  if (limitBytes === undefined || usedBytes === undefined || limitBytes >= 2 ** 60) return undefined;
  const free = limitBytes - usedBytes + (fieldOf(join(folder, 'memory.stat'), cache) ?? 0);
  const freeBytes = Math.min(limitBytes, Math.max(0, free));
  return { limitBytes, freeBytes, kills: fieldOf(join(folder, events), 'oom_kill') };
}

function fieldOf(file: string, name: string): number | undefined {
  const found = new RegExp(`^${name} (\\d+)$`, 'm').exec(readText(file) ?? '')?.[1];
  return found === undefined ? undefined : Number(found);
}

function readNumber(file: string): number | undefined {
  const text = readText(file)?.trim() ?? '';
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

export function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

export class MemoryKills {
  readonly #look: () => MemoryLimit | undefined;
  readonly #before: number;

  constructor(look: () => MemoryLimit | undefined = memoryLimit) {
    this.#look = look;
    this.#before = look()?.kills ?? 0;
  }

  get cause(): string {
    const limit = this.#look();
    if (limit === undefined || (limit.kills ?? 0) <= this.#before) return '';
    return `; likely cause: the memory limit of this container (cgroup), ${memoryText(limit.limitBytes)}`;
  }
}
