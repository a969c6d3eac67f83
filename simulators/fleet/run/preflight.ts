/** Before a run begins: how many robots this machine can hold, and what to change when that is too few. */
import { existsSync, readFileSync, statfsSync } from 'node:fs';
import { availableParallelism, freemem } from 'node:os';
import { dirname } from 'node:path';
import { descriptorLimit } from '../measure/saturation.ts';

/** What one robot takes. */
export interface RobotCost {
  descriptors: number;
  memoryBytes: number;
  /** Local TCP ports towards one address of the platform. */
  ports: number;
  diskBytes: number;
  inodes: number;
}

/** What a machine has left. 0 where the system does not tell; that limit is not checked then. */
export interface Limits {
  /** Of one process. */
  descriptors: number;
  memoryBytes: number;
  ports: number;
  diskBytes: number;
  inodes: number;
  cores: number;
}

export interface Preflight {
  /** Robots by the resource that would run out. */
  capacity: Record<'descriptors' | 'memory' | 'ports' | 'disk', number>;
  /** The smallest of them. */
  robots: number;
  /** Each names the resource, how many robots it holds, and what to change. */
  problems: string[];
}

/** Kept free of each resource: other processes, and what a run needs beside its robots. */
const USABLE = 0.85;
/** Descriptors of a worker beside its robots: connections to the platform, files, pipes. */
const DESCRIPTORS_A_WORKER = 400;
/** Memory of a worker beside its robots. */
const BYTES_A_WORKER = 48 * 1024 * 1024;

export function machineLimits(dir: string): Limits {
  const disk = statfsSync(existing(dir));
  return {
    descriptors: descriptorLimit(),
    memoryBytes: freeMemory(),
    ports: localPorts(),
    diskBytes: disk.bavail * disk.bsize,
    inodes: disk.ffree,
    cores: availableParallelism(),
  };
}

/** `robots` on this machine, over `workers` processes. */
export function preflight(robots: number, workers: number, cost: RobotCost, limits: Limits): Preflight {
  const processes = Math.max(workers, 1);
  const perProcess = Math.max(0, Math.floor((limits.descriptors * USABLE - DESCRIPTORS_A_WORKER) / cost.descriptors));
  const fits = (available: number, each: number): number =>
    available === 0 || each === 0 ? Number.POSITIVE_INFINITY : Math.floor((available * USABLE) / each);
  const capacity = {
    descriptors: limits.descriptors === 0 ? Number.POSITIVE_INFINITY : perProcess * processes,
    memory:
      limits.memoryBytes === 0
        ? Number.POSITIVE_INFINITY
        : Math.floor(Math.max(0, limits.memoryBytes * USABLE - workers * BYTES_A_WORKER) / cost.memoryBytes),
    ports: fits(limits.ports, cost.ports),
    disk: Math.min(fits(limits.diskBytes, cost.diskBytes), fits(limits.inodes, cost.inodes)),
  };
  const remedies = {
    descriptors: `use --workers ${Math.ceil(robots / Math.max(perProcess, 1))} or more, or raise 'ulimit -n' (now ${limits.descriptors} a process)`,
    memory: `use a machine with more memory, spread the fleet with --shard${workers > limits.cores ? `, or use fewer --workers (now ${workers})` : ''}`,
    ports: 'spread the fleet over more machines with --shard: each robot needs a local port towards the platform',
    disk: 'free space or inodes where robots keep their files (--dir)',
  };
  const problems = (Object.keys(capacity) as (keyof typeof capacity)[])
    .filter((resource) => capacity[resource] < robots)
    .map(
      (resource) =>
        `${robots.toLocaleString('en')} robots do not fit: ${resource} of this machine hold${resource === 'ports' || resource === 'descriptors' ? '' : 's'} ${capacity[resource].toLocaleString('en')}; ${remedies[resource]}`,
    );
  return { capacity, robots: Math.min(...Object.values(capacity)), problems };
}

/** Enough processes for the descriptors, and one a core where there are robots for it. */
export function sensibleWorkers(robots: number, cost: RobotCost, limits: Limits, robotsACore: number): number {
  const perProcess = (limits.descriptors * USABLE - DESCRIPTORS_A_WORKER) / cost.descriptors;
  const needed = limits.descriptors === 0 ? 1 : Math.ceil(robots / Math.max(perProcess, 1));
  return Math.max(1, needed, Math.min(limits.cores, Math.ceil(robots / robotsACore)));
}

/** Memory that can be had without swapping; `freemem` leaves out what the system would give back. */
function freeMemory(): number {
  try {
    const line = /^MemAvailable:\s+(\d+) kB/m.exec(readFileSync('/proc/meminfo', 'utf8'));
    if (line?.[1] !== undefined) return Number(line[1]) * 1024;
  } catch {
    // Not Linux.
  }
  return freemem();
}

function localPorts(): number {
  try {
    const [low = 0, high = 0] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8')
      .trim()
      .split(/\s+/)
      .map(Number);
    return high - low + 1;
  } catch {
    return 0;
  }
}

function existing(dir: string): string {
  return existsSync(dir) || dirname(dir) === dir ? dir : existing(dirname(dir));
}
