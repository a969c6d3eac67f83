/** Memory and processor time of processes of this machine, as its system counts them. */

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Static } from 'typebox';
import { defined } from '../../../harness/common/defined.ts';
import { oneOf } from '../../../harness/contract/shape.ts';
import { Type } from '../../../harness/contract/type.ts';
import { mebibytes } from './cgroup.ts';

/**
 * PSS: pages that processes share count once, in parts. RSS: they count in each process, so a sum over processes says
 * too much. Neither has what the kernel keeps for sockets and files.
 */
const MEMORY_KINDS = ['PSS', 'RSS'] as const;
type MemoryKind = (typeof MEMORY_KINDS)[number];

/** What a process holds now, and has taken since its start. */
export interface Usage {
  bytes: number;
  kind: MemoryKind;
  /** Processor time of user and system, seconds. */
  cpuSeconds: number;
}

/** By pid. A process that has ended is left out, and so is every process where the system does not say. */
export async function usageOf(pids: readonly number[]): Promise<Map<number, Usage>> {
  const found = process.platform === 'linux' ? await Promise.all(pids.map(fromProc)) : await fromPs(pids);
  return new Map(pids.flatMap((pid, at) => (found[at] === undefined ? [] : [[pid, found[at]] as const])));
}

/** Ticks a second of the times in /proc, on every architecture that Node runs on. */
const CLOCK_TICKS_PER_SECOND = 100;
/** Where user time stands among the fields after the name; system time follows. */
const USER_TIME_FIELD = 11;

/** Read beside the event loop: the kernel walks every page of the process, which takes milliseconds for a large one. */
async function fromProc(pid: number): Promise<Usage | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The name is in parentheses, and may hold some.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const cpuSeconds = (Number(fields[USER_TIME_FIELD]) + Number(fields[USER_TIME_FIELD + 1])) / CLOCK_TICKS_PER_SECOND;
    const pss = kibibytesIn(await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => ''), 'Pss');
    if (pss !== undefined) return { bytes: pss * 1024, kind: 'PSS', cpuSeconds };
    const rss = kibibytesIn(await readFile(`/proc/${pid}/status`, 'utf8'), 'VmRSS');
    return rss === undefined ? undefined : { bytes: rss * 1024, kind: 'RSS', cpuSeconds };
  } catch {
    return undefined;
  }
}

function kibibytesIn(text: string, name: string): number | undefined {
  const [, value] = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text) ?? [];
  return value === undefined ? undefined : Number(value);
}

/** Of POSIX systems without /proc, e.g. macOS. */
export async function fromPs(pids: readonly number[]): Promise<(Usage | undefined)[]> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'pid=,rss=,time=', '-p', pids.join(',')]).catch(() => ({
    stdout: '',
  }));
  const rows = stdout.split('\n').map((line) => line.trim().split(/\s+/));
  return pids.map((pid) => {
    const [, rss = '', time = ''] = rows.find(([owner]) => Number(owner) === pid) ?? [];
    return rss === '' ? undefined : { bytes: Number(rss) * 1024, kind: 'RSS', cpuSeconds: secondsOf(time) };
  });
}

/** `1-02:03:04`, `02:03:04` or `3:04.56`. */
function secondsOf(time: string): number {
  const [clock = '', days = '0'] = time.split('-').toReversed();
  return clock.split(':').reduce((sum, part) => sum * 60 + Number(part), Number(days) * 24);
}

// What the processes of a run cost: memory and processor by what they are for, and of one robot.

const ROLES = ['parent', 'workers', 'platform'] as const;
/** What a process of a run is for. The platform is Muster's own, where the run started it. */
export type Role = (typeof ROLES)[number];
/** In the order in which people ask for them. */
const PARTS = [...ROLES, 'whole'] as const;
type PartName = (typeof PARTS)[number];

const part = Type.Object({
  processes: Type.Integer({ description: 'At the same time, at most' }),
  peak_bytes: Type.Integer({ description: 'The most that was seen. Parts have theirs at different moments' }),
  end_bytes: Type.Integer({ description: 'At the end, before the robots are stopped' }),
  cpu_seconds: Type.Number({ description: 'User and system time, from the start of the processes' }),
  robot_whole_bytes: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Memory at the peak of all processes together, over the robots that had been online by then',
  }),
  robot_marginal_bytes: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Of one robot more: growth over the ramp, from the first robot to the last',
  }),
});
export type CostPart = Static<typeof part>;

/**
 * Sampled by the parent while the run goes on: /proc on Linux, `ps` elsewhere. The kernel's memory and files are not in
 * it.
 */
export const runCosts = Type.Object({
  memory: oneOf(MEMORY_KINDS, 'PSS: shared pages count once. RSS, where PSS cannot be read: in each process'),
  robots: Type.Integer({ description: 'Robots that had been online by the peak' }),
  parts: Type.Object({
    parent: part,
    workers: Type.Optional(part),
    platform: Type.Optional(part),
    whole: part,
  }),
});
export type RunCosts = Static<typeof runCosts>;

/**
 * The sum over shards, whose peaks need not have been at the same moment: no less than what all of them took. What one
 * robot costs is the mean over robots. Undefined when a shard has none, as results of older versions.
 */
export function mergeCosts(all: readonly (RunCosts | undefined)[]): RunCosts | undefined {
  const known = all.filter((costs) => costs !== undefined);
  if (known.length === 0 || known.length < all.length) return undefined;
  const merged = (name: PartName): CostPart | undefined => {
    const parts = known.flatMap(({ parts: { [name]: part }, robots }) =>
      part === undefined ? [] : [{ part, robots }],
    );
    if (parts.length === 0) return undefined;
    const sum = (figure: 'processes' | 'peak_bytes' | 'end_bytes' | 'cpu_seconds'): number =>
      parts.reduce((total, { part }) => total + part[figure], 0);
    return {
      processes: sum('processes'),
      peak_bytes: sum('peak_bytes'),
      end_bytes: sum('end_bytes'),
      cpu_seconds: sum('cpu_seconds'),
      robot_whole_bytes: mean(parts.map(({ part, robots }) => [part.robot_whole_bytes, robots])),
      robot_marginal_bytes: mean(parts.map(({ part, robots }) => [part.robot_marginal_bytes, robots])),
    };
  };
  const parts = partsBy(merged);
  return (
    parts && {
      memory: known.some(({ memory }) => memory === 'RSS') ? 'RSS' : 'PSS',
      robots: known.reduce((total, { robots }) => total + robots, 0),
      parts,
    }
  );
}

/** The parts that there are; undefined without the parent. */
function partsBy(partOf: (name: PartName) => CostPart | undefined): RunCosts['parts'] | undefined {
  const [parent, workers, platform, whole] = [partOf('parent'), partOf('workers'), partOf('platform'), partOf('whole')];
  return parent && whole && { parent, ...defined({ workers, platform }), whole };
}

/** Weighted; null without a value. */
function mean(values: readonly (readonly [value: number | null, weight: number])[]): number | null {
  const known = values.flatMap(([value, weight]) => (value === null || weight === 0 ? [] : [{ value, weight }]));
  const weight = known.reduce((total, entry) => total + entry.weight, 0);
  return weight === 0
    ? null
    : Math.round(known.reduce((total, entry) => total + entry.value * entry.weight, 0) / weight);
}

/** The parts that there are, in the order in which people ask for them; `whole` last. */
export const costParts = ({ parts }: RunCosts): [name: PartName, part: CostPart][] =>
  PARTS.flatMap((name) => (parts[name] === undefined ? [] : [[name, parts[name]]]));

/** For people: 12,345. */
export const thousands = (value: number): string => value.toLocaleString('en');

/** For people. */
export const kibibytes = (bytes: number): string => `${(bytes / 1024).toFixed(1)} KiB`;

/** One line for people. */
export function costLine(costs: RunCosts): string {
  const { whole } = costs.parts;
  const parts = costParts(costs).filter(([name]) => name !== 'whole');
  const each = [
    ...(whole.robot_whole_bytes === null ? [] : [`a robot ${kibibytes(whole.robot_whole_bytes)}`]),
    // Too few robots to see it beside what the processes do anyway.
    ...((whole.robot_marginal_bytes ?? 0) > 0 ? [`one more ${kibibytes(whole.robot_marginal_bytes ?? 0)}`] : []),
  ].join(', ');
  return [
    `${mebibytes(whole.peak_bytes)} ${costs.memory} ` +
      `(${parts.map(([name, part]) => `${name} ${Math.round(part.peak_bytes / 2 ** 20)}`).join(', ')})`,
    ...(each === '' ? [] : [each]),
    `${whole.cpu_seconds.toFixed(1)} CPU s`,
  ].join(' · ');
}

// Looks now and then at what the processes of a run take, so that its result can say what a robot costs.

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

/** One moment. */
interface Moment {
  /** Robots that had been online by then. */
  robots: number;
  bytes: Partial<Record<PartName, number>>;
}

/** During a ramp every tick, if that is cheap. */
const TICK_MS = 1000;
const LOOK_EVERY_MS = 5000;
/** A look takes longer the more memory there is to look at: at most one part in so many of the time. */
const PAUSE_PER_LOOK = 100;

/** Call `start`, then `ramp` around the phase that starts the robots; `costs` is what came of it. */
export class CostSampler implements AsyncDisposable {
  #sources: CostSources | undefined;
  readonly #cpu = new Map<number, { role: Role; seconds: number }>();
  readonly #most: Partial<Record<PartName, { bytes: number; processes: number }>> = {};
  readonly #ramp: Moment[] = [];
  #ramping = false;
  #kind: MemoryKind = 'PSS';
  #robots = 0;
  #peak: Moment | undefined;
  #last: Moment | undefined;
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

  /**
   * Counts no look from now on, not even one that has begun: the processes are about to end, and some may have ended
   * already.
   */
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
    const parts = partsBy((name) => {
      const most = this.#most[name];
      return (
        most && {
          processes: most.processes,
          peak_bytes: most.bytes,
          end_bytes: last.bytes[name] ?? 0,
          cpu_seconds: this.#cpuSeconds(name),
          robot_whole_bytes: peak.robots === 0 ? null : Math.round((peak.bytes[name] ?? 0) / peak.robots),
          robot_marginal_bytes: growth(this.#ramp.map(({ robots, bytes }) => [robots, bytes[name] ?? 0])),
        }
      );
    });
    return parts && { memory: this.#kind, robots: peak.robots, parts };
  }

  #onTime(): void {
    if (performance.now() < this.#dueAt) return;
    const began = performance.now();
    this.#dueAt = Number.POSITIVE_INFINITY;
    void this.look().then(() => {
      const now = performance.now();
      this.#dueAt = now + Math.max(this.#ramping ? 0 : LOOK_EVERY_MS, PAUSE_PER_LOOK * (now - began));
    });
  }

  async #look(): Promise<void> {
    if (this.#sources === undefined || this.#ended) return;
    const processes = this.#sources.processes();
    const used = await usageOf(processes.map(({ pid }) => pid));
    if (used.size === 0 || this.#ended) return;
    const bytes: Moment['bytes'] = {};
    const counts: Moment['bytes'] = {};
    for (const { pid, role } of processes) {
      const usage = used.get(pid);
      if (usage === undefined) continue;
      if (usage.kind === 'RSS') this.#kind = 'RSS';
      this.#cpu.set(pid, { role, seconds: usage.cpuSeconds });
      for (const name of [role, 'whole'] as const) {
        bytes[name] = (bytes[name] ?? 0) + usage.bytes;
        counts[name] = (counts[name] ?? 0) + 1;
      }
    }
    // Robots that a storm has cut off are still held.
    this.#robots = Math.max(this.#robots, this.#sources.online());
    const moment = { robots: this.#robots, bytes };
    this.#last = moment;
    if ((bytes.whole ?? 0) > (this.#peak?.bytes.whole ?? 0)) this.#peak = moment;
    if (this.#ramping) this.#ramp.push(moment);
    for (const name of PARTS) {
      if (counts[name] === undefined) continue;
      const most = this.#most[name];
      this.#most[name] = {
        bytes: Math.max(most?.bytes ?? 0, bytes[name] ?? 0),
        processes: Math.max(most?.processes ?? 0, counts[name]),
      };
    }
  }

  #cpuSeconds(name: PartName): number {
    const own = [...this.#cpu.values()].filter(({ role }) => name === 'whole' || role === name);
    return Number(own.reduce((sum, { seconds }) => sum + seconds, 0).toFixed(2));
  }
}

/** Points needed for a line; with fewer, the first and the last decide. */
const LINE_POINTS = 3;

/**
 * Bytes a robot: the slope of the least-squares line through the samples with robots, because the first robot brings
 * code with it. Null without two different numbers of robots.
 */
export function growth(points: readonly (readonly [robots: number, bytes: number])[]): number | null {
  const up = points.filter(([robots]) => robots > 0);
  const line = new Set(up.map(([robots]) => robots)).size >= LINE_POINTS ? up : ends(points);
  const meanAt = (axis: 0 | 1): number => line.reduce((sum, point) => sum + point[axis], 0) / line.length;
  const [robots, bytes] = [meanAt(0), meanAt(1)];
  const spread = line.reduce((sum, [at]) => sum + (at - robots) ** 2, 0);
  if (spread === 0 || line.length === 0) return null;
  return Math.round(line.reduce((sum, [at, value]) => sum + (at - robots) * (value - bytes), 0) / spread);
}

const ends = <T>(points: readonly T[]): T[] => [points[0], points.at(-1)].filter((point) => point !== undefined);
