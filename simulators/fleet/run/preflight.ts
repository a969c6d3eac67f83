/** Before a run begins: how many robots this machine can hold, and what to change when that is too few. */
import { existsSync, readFileSync, statfsSync } from 'node:fs';
import { availableParallelism, freemem } from 'node:os';
import { dirname } from 'node:path';
import { descriptorLimit } from '../measure/saturation.ts';
import type { RobotCost } from './robot-cost.ts';

/** Free resources of a machine. A 0 means that the system does not say, and that the resource is not checked. */
export interface Limits {
  /** Descriptors that one process may open. */
  descriptors: number;
  memoryBytes: number;
  ports: number;
  diskBytes: number;
  inodes: number;
  cores: number;
}

type Resource = 'descriptors' | 'memory' | 'ports' | 'disk';

export interface Preflight {
  /** Robots that each resource suffices for. */
  capacity: Record<Resource, number>;
  /** The smallest capacity. */
  robots: number;
  /** Each names a resource, how many robots it holds, and what to change. */
  problems: string[];
}

/** The rest of each resource is left to other processes and to a run's own needs. */
const USABLE = 0.85;
/** Descriptors of a worker beside its robots: connections to the platform, files, pipes. */
const DESCRIPTORS_PER_WORKER = 400;
/** Memory of a worker beside its robots. */
const BYTES_PER_WORKER = 48 * 1024 * 1024;
/** Robots that keep one core busy with pings and roll-outs at everyday rates. */
const ROBOTS_PER_CORE = 2000;

/** Free resources here. `dir`: where robots keep their files. */
export function machineLimits(dir: string): Limits {
  const disk = statfsSync(existingFolder(dir));
  return {
    descriptors: descriptorLimit(),
    memoryBytes: freeMemory(),
    ports: localPorts(),
    diskBytes: disk.bavail * disk.bsize,
    inodes: disk.ffree,
    cores: availableParallelism(),
  };
}

/** Checks whether `robots` fit on a machine, over `workers` processes. */
export function preflight(robots: number, workers: number, cost: RobotCost, limits: Limits): Preflight {
  const capacity = capacityOf(workers, cost, limits);
  const problems = (Object.keys(capacity) as Resource[])
    .filter((resource) => capacity[resource] < robots)
    .map((resource) => {
      const hold = resource === 'ports' || resource === 'descriptors' ? 'hold' : 'holds';
      const remedy = remedyFor(resource, robots, workers, cost, limits);
      return `${count(robots)} robots do not fit: ${resource} of this machine ${hold} ${count(capacity[resource])}; ${remedy}`;
    });
  return { capacity, robots: Math.min(...Object.values(capacity)), problems };
}

function capacityOf(workers: number, cost: RobotCost, limits: Limits): Preflight['capacity'] {
  const fits = (available: number, each: number): number =>
    available === 0 || each === 0 ? Number.POSITIVE_INFINITY : Math.floor((available * USABLE) / each);
  const perProcess = Math.floor(descriptorsHold(cost, limits));
  const memory = limits.memoryBytes * USABLE - workers * BYTES_PER_WORKER;
  return {
    descriptors: limits.descriptors === 0 ? Number.POSITIVE_INFINITY : perProcess * Math.max(workers, 1),
    memory: limits.memoryBytes === 0 ? Number.POSITIVE_INFINITY : Math.floor(Math.max(0, memory) / cost.memoryBytes),
    ports: fits(limits.ports, cost.ports),
    disk: Math.min(fits(limits.diskBytes, cost.diskBytes), fits(limits.inodes, cost.inodes)),
  };
}

function remedyFor(resource: Resource, robots: number, workers: number, cost: RobotCost, limits: Limits): string {
  switch (resource) {
    case 'descriptors': {
      const needed = Math.ceil(robots / Math.max(Math.floor(descriptorsHold(cost, limits)), 1));
      return `use --workers ${needed} or more, or raise 'ulimit -n' (now ${limits.descriptors} per process)`;
    }
    case 'memory': {
      const fewer = workers > limits.cores ? `, or use fewer --workers (now ${workers})` : '';
      return `use a machine with more memory, or spread the fleet with --shard${fewer}`;
    }
    case 'ports':
      return 'spread the fleet over more machines with --shard: each robot needs a local port towards the platform';
    case 'disk':
      return 'free space or inodes where robots keep their files (--dir)';
  }
}

/** Robots that the descriptors of one process suffice for. */
const descriptorsHold = (cost: RobotCost, limits: Limits): number =>
  Math.max(0, (limits.descriptors * USABLE - DESCRIPTORS_PER_WORKER) / cost.descriptors);

/** Enough processes for the descriptors, and up to one per core when there are robots for it. */
export function sensibleWorkers(robots: number, cost: RobotCost, limits: Limits, perCore = ROBOTS_PER_CORE): number {
  const needed = limits.descriptors === 0 ? 1 : Math.ceil(robots / Math.max(descriptorsHold(cost, limits), 1));
  return Math.max(1, needed, Math.min(limits.cores, Math.ceil(robots / perCore)));
}

/** One line for people: what the machine holds, and what is wanted. */
export function capacityLine({ capacity }: Preflight, workers: number, wanted: number): string {
  const holders = workers === 0 ? 'this process holds' : workers === 1 ? '1 worker holds' : `${workers} workers hold`;
  const held = Object.entries(capacity).map(
    ([resource, robots]) => `${Number.isFinite(robots) ? count(robots) : 'any number'} (${resource})`,
  );
  return `preflight: ${holders} at most ${held.join(', ')} robots; ${count(wanted)} are wanted`;
}

const count = (value: number): string => value.toLocaleString('en');

/** Memory available without swapping. `freemem` leaves out what the system would give back. */
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

function existingFolder(dir: string): string {
  return existsSync(dir) || dirname(dir) === dir ? dir : existingFolder(dirname(dir));
}
