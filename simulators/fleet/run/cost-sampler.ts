/** Looks now and then at what the processes of a run take, so that its result can say what a robot costs. */
import { type MemoryKind, usageOf } from '../measure/processes.ts';
import { type CostPart, ROLES, type Role, type RunCosts } from '../result/costs.ts';

/** A process of the run. */
export interface RunProcess {
  pid: number;
  role: Role;
}

/** What is looked at. */
export interface CostSources {
  /** The processes that there are now. */
  processes(): readonly RunProcess[];
  /** Robots that are online now. */
  online(): number;
}

type Bytes = Partial<Record<Role, number>>;

/** One moment. */
interface Moment {
  /** Robots that had been online by then. */
  robots: number;
  bytes: Bytes;
  whole: number;
}

/** During a ramp every tick, if that is cheap. */
const TICK_MS = 1000;
const EVERY_MS = 5000;
/** A look takes longer the more memory there is to look at: at most one part in so many of the time. */
const SPARE = 100;

/** Call `start`, then `ramp` around the phase that starts the robots; `costs` is what came of it. */
export class CostSampler implements AsyncDisposable {
  #sources: CostSources | undefined;
  readonly #cpu = new Map<number, { role: Role; seconds: number }>();
  readonly #most: Partial<Record<Role, { bytes: number; processes: number }>> = {};
  readonly #ramp: Moment[] = [];
  #ramping = false;
  #kind: MemoryKind = 'PSS';
  #robots = 0;
  #peak: Moment | undefined;
  #last: Moment | undefined;
  #processes = 0;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = 0;
  #looking: Promise<void> = Promise.resolve();
  #ended = false;

  /** An interrupt ends it too. */
  start(sources: CostSources, signal?: AbortSignal): void {
    this.#sources = sources;
    signal?.addEventListener('abort', () => this.end(), { once: true });
    this.#timer ??= setInterval(() => this.#onTime(), TICK_MS).unref();
  }

  /** Does `work`, which brings the robots up. */
  async ramp<T>(work: () => Promise<T>): Promise<T> {
    await this.look();
    this.#ramp.push(...(this.#last === undefined ? [] : [this.#last]));
    this.#ramping = true;
    this.#dueAt = 0;
    try {
      return await work();
    } finally {
      await this.look();
      this.#ramping = false;
    }
  }

  /** Takes a sample now. */
  look(): Promise<void> {
    this.#looking = this.#looking.then(() => this.#look());
    return this.#looking;
  }

  /** Counts no look from now on, not even one that has begun: the processes are about to end, and some may have ended already. */
  end(): void {
    this.#ended = true;
    clearInterval(this.#timer);
  }

  /** Resolves when nothing is looked at any more. */
  [Symbol.asyncDispose](): Promise<void> {
    this.end();
    return this.#looking;
  }

  /** So far; undefined where the system does not say. */
  get costs(): RunCosts | undefined {
    const [peak, last] = [this.#peak, this.#last];
    if (peak === undefined || last === undefined) return undefined;
    const partOf = (role: Role): CostPart | undefined => {
      const most = this.#most[role];
      if (most === undefined) return undefined;
      return {
        processes: most.processes,
        peak_bytes: most.bytes,
        end_bytes: last.bytes[role] ?? 0,
        cpu_seconds: this.#cpuOf((of) => of === role),
        robot_whole_bytes: shared(peak.bytes[role] ?? 0, peak.robots),
        robot_marginal_bytes: growth(this.#ramp.map(({ robots, bytes }) => [robots, bytes[role] ?? 0])),
      };
    };
    const [parent, workers, platform] = [partOf('parent'), partOf('workers'), partOf('platform')];
    if (parent === undefined) return undefined;
    const whole: CostPart = {
      processes: this.#processes,
      peak_bytes: peak.whole,
      end_bytes: last.whole,
      cpu_seconds: this.#cpuOf(() => true),
      robot_whole_bytes: shared(peak.whole, peak.robots),
      robot_marginal_bytes: growth(this.#ramp.map(({ robots, whole: bytes }) => [robots, bytes])),
    };
    const parts = { parent, ...(workers && { workers }), ...(platform && { platform }), whole };
    return { memory: this.#kind, robots: peak.robots, parts };
  }

  #onTime(): void {
    if (performance.now() < this.#dueAt) return;
    const began = performance.now();
    this.#dueAt = Number.POSITIVE_INFINITY;
    void this.look().then(() => {
      const now = performance.now();
      this.#dueAt = now + Math.max(this.#ramping ? 0 : EVERY_MS, SPARE * (now - began));
    });
  }

  async #look(): Promise<void> {
    if (this.#sources === undefined || this.#ended) return;
    const processes = this.#sources.processes();
    const used = await usageOf(processes.map(({ pid }) => pid));
    if (used.size === 0 || this.#ended) return;
    const bytes: Bytes = {};
    const counts: Partial<Record<Role, number>> = {};
    for (const { pid, role } of processes) {
      const usage = used.get(pid);
      if (usage === undefined) continue;
      if (usage.kind === 'RSS') this.#kind = 'RSS';
      bytes[role] = (bytes[role] ?? 0) + usage.bytes;
      counts[role] = (counts[role] ?? 0) + 1;
      this.#cpu.set(pid, { role, seconds: usage.cpuSeconds });
    }
    // Robots that a storm has cut off are still held.
    this.#robots = Math.max(this.#robots, this.#sources.online());
    const whole = ROLES.reduce((sum, role) => sum + (bytes[role] ?? 0), 0);
    const moment = { robots: this.#robots, bytes, whole };
    this.#last = moment;
    this.#processes = Math.max(this.#processes, used.size);
    if (whole > (this.#peak?.whole ?? 0)) this.#peak = moment;
    if (this.#ramping) this.#ramp.push(moment);
    for (const role of ROLES) {
      const most = this.#most[role] ?? { bytes: 0, processes: 0 };
      if (counts[role] === undefined) continue;
      this.#most[role] = {
        bytes: Math.max(most.bytes, bytes[role] ?? 0),
        processes: Math.max(most.processes, counts[role]),
      };
    }
  }

  #cpuOf(counts: (role: Role) => boolean): number {
    const seconds = [...this.#cpu.values()].reduce((sum, of) => sum + (counts(of.role) ? of.seconds : 0), 0);
    return Number(seconds.toFixed(2));
  }
}

const shared = (bytes: number, robots: number): number | null => (robots === 0 ? null : Math.round(bytes / robots));

/** Points needed for a line; with fewer, the first and the last decide. */
const LINE = 3;

/**
 * Bytes a robot: the slope of the least-squares line through the samples with robots, because the first robot brings code with it.
 * Null without two different numbers of robots.
 */
export function growth(points: readonly (readonly [robots: number, bytes: number])[]): number | null {
  const up = points.filter(([robots]) => robots > 0);
  const line = new Set(up.map(([robots]) => robots)).size >= LINE ? up : ends(points);
  const mean = (of: 0 | 1): number => line.reduce((sum, point) => sum + point[of], 0) / line.length;
  const [robots, bytes] = [mean(0), mean(1)];
  const spread = line.reduce((sum, [at]) => sum + (at - robots) ** 2, 0);
  if (spread === 0 || line.length === 0) return null;
  return Math.round(line.reduce((sum, [at, value]) => sum + (at - robots) * (value - bytes), 0) / spread);
}

const ends = <T>(points: readonly T[]): T[] => [points[0], points.at(-1)].filter((point) => point !== undefined);
