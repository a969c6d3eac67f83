import { readFile } from 'node:fs/promises';
import type { Static } from 'typebox';
import { defined } from '../../../harness/common/defined.ts';
import { memoryText } from '../../../harness/common/units.ts';
import { Type } from '../../../harness/contract/shape.ts';

interface Usage {
  /** Proportional set size (PSS): each process counts its part of a page that several processes share. */
  bytes: number;
  cpuSeconds: number;
}

/** Returns the usage by pid; omits ended processes, and is empty without /proc. */
export async function usageOf(pids: readonly number[]): Promise<Map<number, Usage>> {
  const found = new Map<number, Usage>();
  const read = async (pid: number): Promise<void> => {
    // Reads asynchronously, because the kernel takes milliseconds for `smaps_rollup` of a large process.
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // Splits after the last parenthesis, because a process name may contain parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // Linux counts 100 ticks a second on every architecture that Node supports.
    const cpuSeconds = (Number(fields[11]) + Number(fields[12])) / 100;
    const [, pss] = /^Pss:\s+(\d+) kB/m.exec(await readFile(`/proc/${pid}/smaps_rollup`, 'utf8')) ?? [];
    if (pss !== undefined) found.set(pid, { bytes: Number(pss) * 1024, cpuSeconds });
  };
  await Promise.allSettled(pids.map(read));
  return found;
}

const ROLES = ['parent', 'workers', 'platform'] as const;
export type Role = (typeof ROLES)[number];
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

export const runCosts = Type.Object({
  memory: Type.Literal('PSS', { description: 'Shared pages count once' }),
  robots: Type.Integer({ description: 'Robots that had been online by the peak' }),
  parts: Type.Object({ parent: part, workers: Type.Optional(part), platform: Type.Optional(part), whole: part }),
});
export type RunCosts = Static<typeof runCosts>;

/** Adds the costs of shards; the sum of peaks is an upper bound. Undefined if a shard has no costs. */
export function mergeCosts(all: readonly (RunCosts | undefined)[]): RunCosts | undefined {
  const known = all.filter((costs) => costs !== undefined);
  if (known.length === 0 || known.length < all.length) return undefined;
  const merged = (name: PartName): CostPart | undefined => {
    const parts = known.flatMap(({ parts: { [name]: part }, robots }) => (part ? [{ part, robots }] : []));
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
  return parts && { memory: 'PSS', robots: known.reduce((total, { robots }) => total + robots, 0), parts };
}

function partsBy(partOf: (name: PartName) => CostPart | undefined): RunCosts['parts'] | undefined {
  const [parent, workers, platform, whole] = [partOf('parent'), partOf('workers'), partOf('platform'), partOf('whole')];
  return parent && whole && { parent, ...defined({ workers, platform }), whole };
}

function mean(values: readonly (readonly [value: number | null, weight: number])[]): number | null {
  const known = values.flatMap(([value, weight]) => (value === null || weight === 0 ? [] : [{ value, weight }]));
  const weight = known.reduce((total, entry) => total + entry.weight, 0);
  const sum = known.reduce((total, entry) => total + entry.value * entry.weight, 0);
  return weight === 0 ? null : Math.round(sum / weight);
}

export const costParts = ({ parts }: RunCosts): [name: PartName, part: CostPart][] =>
  PARTS.flatMap((name) => (parts[name] === undefined ? [] : [[name, parts[name]]]));

export const thousands = (value: number): string => value.toLocaleString('en');

export function costLine(costs: RunCosts): string {
  const { whole } = costs.parts;
  const parts = costParts(costs).filter(([name]) => name !== 'whole');
  const more = whole.robot_marginal_bytes ?? 0;
  const peaks = parts.map(([name, part]) => `${name} ${Math.round(part.peak_bytes / 2 ** 20)}`).join(', ');
  const memory = `${memoryText(whole.peak_bytes)} ${costs.memory} (${peaks})`;
  const grown = more > 0 ? [`one more robot ${memoryText(more)}`] : [];
  return [memory, ...grown, `${whole.cpu_seconds.toFixed(1)} CPU s`].join(' · ');
}

export interface RunProcess {
  pid: number;
  role: Role;
}

interface CostSources {
  processes(): readonly RunProcess[];
  online(): number;
}

interface Moment {
  robots: number;
  bytes: Partial<Record<PartName, number>>;
}

export class CostSampler implements AsyncDisposable {
  #sources: CostSources | undefined;
  readonly #cpu = new Map<number, { role: Role; seconds: number }>();
  readonly #most: Partial<Record<PartName, { bytes: number; processes: number }>> = {};
  readonly #ramp: Moment[] = [];
  #ramping = false;
  #robots = 0;
  #peak: Moment | undefined;
  #last: Moment | undefined;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = 0;
  #looking: Promise<void> = Promise.resolve();
  #ended = false;

  start(sources: CostSources, signal?: AbortSignal): void {
    this.#sources = sources;
    signal?.addEventListener('abort', () => this.end(), { once: true });
    this.#timer ??= setInterval(() => {
      if (performance.now() < this.#dueAt) return;
      const began = performance.now();
      this.#dueAt = Number.POSITIVE_INFINITY;
      void this.look().then(() => {
        const now = performance.now();
        // Spends at most 1 % of the time on samples.
        this.#dueAt = now + Math.max(this.#ramping ? 0 : 5000, 100 * (now - began));
      });
    }, 1000).unref();
  }

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

  look(): Promise<void> {
    this.#looking = this.#looking.then(() => this.#look());
    return this.#looking;
  }

  end(): void {
    this.#ended = true;
    clearInterval(this.#timer);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.end();
    return this.#looking;
  }

  get costs(): RunCosts | undefined {
    const [peak, last] = [this.#peak, this.#last];
    if (peak === undefined || last === undefined) return undefined;
    const used = (name: PartName): number =>
      [...this.#cpu.values()].reduce((sum, each) => sum + (['whole', each.role].includes(name) ? each.seconds : 0), 0);
    const parts = partsBy((name) => {
      const most = this.#most[name];
      return (
        most && {
          processes: most.processes,
          peak_bytes: most.bytes,
          end_bytes: last.bytes[name] ?? 0,
          cpu_seconds: Number(used(name).toFixed(2)),
          robot_whole_bytes: peak.robots === 0 ? null : Math.round((peak.bytes[name] ?? 0) / peak.robots),
          robot_marginal_bytes: growth(this.#ramp.map(({ robots, bytes }) => [robots, bytes[name] ?? 0])),
        }
      );
    });
    return parts && { memory: 'PSS', robots: peak.robots, parts };
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
      this.#cpu.set(pid, { role, seconds: usage.cpuSeconds });
      for (const name of [role, 'whole'] as const) {
        bytes[name] = (bytes[name] ?? 0) + usage.bytes;
        counts[name] = (counts[name] ?? 0) + 1;
      }
    }
    // Never lowers the number, because offline robots still take memory.
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
}

/** Returns the slope of a least-squares line in bytes per robot; null if the number of robots is constant. */
export function growth(points: readonly (readonly [robots: number, bytes: number])[]): number | null {
  const up = points.filter(([robots]) => robots > 0);
  const line = new Set(up.map(([robots]) => robots)).size >= 3 ? up : [...points.slice(0, 1), ...points.slice(-1)];
  const meanAt = (axis: 0 | 1): number => line.reduce((sum, point) => sum + point[axis], 0) / line.length;
  const [robots, bytes] = [meanAt(0), meanAt(1)];
  const spread = line.reduce((sum, [at]) => sum + (at - robots) ** 2, 0);
  if (spread === 0 || line.length === 0) return null;
  return Math.round(line.reduce((sum, [at, value]) => sum + (at - robots) * (value - bytes), 0) / spread);
}
