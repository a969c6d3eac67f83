/** What a robot needs of its machine, and what the processes of a fleet hold: estimates from measured runs. */

import { accessSync, constants, existsSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { cpuLimit, mebibytes, memoryLimit, processors, readText } from '../measure/cgroup.ts';
import { kibibytes, type RunCosts, thousands } from '../measure/costs.ts';
import { descriptorLimit } from '../measure/saturation.ts';
import { meanOf, USUAL_RETAIN } from '../scenario/classes.ts';
import type { Scenario } from '../scenario/scenario.ts';
import { subscribersOf } from '../scenario/uplinks.ts';

/** What one robot needs. */
export interface RobotCost {
  descriptors: number;
  /** In the process that hosts it. */
  memoryBytes: number;
  /** In the process of the embedded platform, where there is one. */
  platformBytes: number;
  /** Local TCP ports towards one address of the platform. */
  ports: number;
  /** Of its files, where every file and folder takes a block. */
  diskBytes: number;
  /** Of its files, where they are kept in memory. */
  memoryDiskBytes: number;
  inodes: number;
}

/** The robot's listening socket, and its event log while it is written. */
const IDLE_DESCRIPTORS = 1.2;
/** Both ends of a stream are in this process. */
const SUBSCRIBER_DESCRIPTORS = 2;
/** Event log, mark, state, config files, key, device record, and their folders, after some roll-outs. */
const FILES = 16;
const BLOCK_BYTES = 4096;

const KIB = 1024;
const MIB = 2 ** 20;
/** Growth of PSS by one robot: `costs` of runs with 500 to 10,000. */
const IDLE_BYTES = 7 * KIB;
const UPLINK_BYTES = 20 * KIB;
const SUBSCRIBER_BYTES = 22 * KIB;
/** Of HTTP connections to the platform that it shares with no other. */
const OWN_BYTES = 35 * KIB;
/** While it fetches several files at once, up to four. */
const OWN_DESCRIPTORS = 2;
const FILE_BYTES = 28 * KIB;
/** An event in the log, and the copy of it that a compaction makes. */
const EVENT_BYTES = 640;
/** At the platform, of a robot that is enrolled and connected. */
const ENROLLED_BYTES = 28 * KIB;
/** What a roll-out leaves, until it is forgotten: of the robot, and of the platform. */
const ROLLOUT_BYTES = 36 * KIB;
const DEPLOYED_BYTES = 40 * KIB;
/** Of processes without a robot. */
const PARENT_BYTES = 92 * MIB;
const WORKER_BYTES = 86 * MIB;
const WORKER_UPLINK_BYTES = 14 * MIB;
const PLATFORM_BYTES = 115 * MIB;

type Told = Partial<Pick<Scenario, 'uplink' | 'subscribers' | 'classes' | 'network' | 'phases'>>;

/** The cost by uplink, subscribers, networks and phases. `source`: whether each robot has an address of its own. */
export function robotCost(scenario: Told, source?: string): RobotCost {
  const { uplink = 'agent', phases = [] } = scenario;
  const usual = subscribersOf(scenario);
  const subscribers = meanOf(scenario, ({ subscribers: own = usual }) => own);
  const own =
    source === undefined ? meanOf(scenario, ({ network = scenario.network }) => (network === undefined ? 0 : 1)) : 1;
  const connected = meanOf(scenario, ({ uplink: each = uplink }) => (each === 'agent' ? 1 : 0));
  const events = phases.reduce((sum, phase) => sum + (('events' in phase ? phase.events : undefined) ?? 0), 0);
  const logBytes = EVENT_BYTES * meanOf(scenario, ({ retain = USUAL_RETAIN }) => Math.min(retain, events));
  const rolledOut = phases.some((phase) => phase.do === 'rollout');
  return {
    descriptors: IDLE_DESCRIPTORS + connected + own * OWN_DESCRIPTORS + subscribers * SUBSCRIBER_DESCRIPTORS,
    memoryBytes:
      IDLE_BYTES +
      (uplink === 'none' || uplink === 'calls' ? 0 : UPLINK_BYTES) +
      subscribers * SUBSCRIBER_BYTES +
      own * OWN_BYTES +
      (rolledOut ? ROLLOUT_BYTES : 0),
    platformBytes: uplink === 'none' ? 0 : ENROLLED_BYTES + (rolledOut ? DEPLOYED_BYTES : 0),
    ports: connected + own * OWN_DESCRIPTORS,
    diskBytes: FILES * BLOCK_BYTES + logBytes,
    memoryDiskBytes: FILE_BYTES + logBytes,
    inodes: FILES,
  };
}

/** The processes of a fleet. */
interface FleetProcesses {
  /** 0: the robots are in the parent. */
  workers: number;
  /** Whether Muster's own platform runs beside them. */
  platform: boolean;
  /** Whether the robots' files are in memory. */
  filesInMemory: boolean;
  /** They run already: only the robots are still to come. */
  started?: true;
}

/** Bytes that a fleet holds at its peak. The kernel's own memory, e.g. of sockets, comes on top. */
export function memoryOf(
  robots: number,
  cost: RobotCost,
  processes: FleetProcesses,
): Record<keyof RunCosts['parts'] | 'files', number> {
  const { workers: count, platform: own, filesInMemory, started } = processes;
  const connected = cost.platformBytes > 0;
  const begun = (bytes: number): number => (started ? 0 : bytes);
  const hosted = robots * cost.memoryBytes;
  const workers = count === 0 ? 0 : begun(count * (WORKER_BYTES + (connected ? WORKER_UPLINK_BYTES : 0))) + hosted;
  const parent = begun(PARENT_BYTES) + (count === 0 ? hosted : 0);
  const platform = own && connected ? begun(PLATFORM_BYTES) + robots * cost.platformBytes : 0;
  const files = filesInMemory ? robots * cost.memoryDiskBytes : 0;
  return { parent, workers, platform, files, whole: parent + workers + platform + files };
}

// Before a run begins: what its robots cost, how many this machine can hold, and what to change when that is too few.

const MEMORY_DISK = '/dev/shm';
/** Share of the free memory disk that a fleet may fill. */
const USABLE_MEMORY_DISK = 0.5;

/**
 * A folder for `bytes` of temporary files: in memory when there is room, so that a run does not measure the disk. A
 * folder `named` by the caller is not checked.
 */
export function baseDirFor(bytes: number, named?: string): string {
  if (named !== undefined) return named;
  try {
    accessSync(MEMORY_DISK, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(MEMORY_DISK);
    if (bavail * bsize * USABLE_MEMORY_DISK >= bytes) return MEMORY_DISK;
  } catch {
    // Not Linux, or not writable.
  }
  return tmpdir();
}

/** Type of a file system in memory, as `statfs` tells it. */
const TMPFS = 0x01021994;

/** Whether files below `dir` are in memory. */
export const isInMemory = (dir: string): boolean => statfsSync(existingFolder(dir)).type === TMPFS;

/** Free resources of a machine. A 0 means that the system does not say, and that the resource is not checked. */
export interface Limits {
  /** Descriptors that one process may open. */
  descriptors: number;
  memoryBytes: number;
  /** The limit of this process's container (cgroup), where that leaves less memory than the machine has. */
  containerBytes?: number;
  ports: number;
  diskBytes: number;
  inodes: number;
  cores: number;
}

const RESOURCES = ['descriptors', 'memory', 'ports', 'disk'] as const;
type Resource = (typeof RESOURCES)[number];

interface Preflight {
  /** Robots that each resource suffices for. */
  capacity: Record<Resource, number>;
  /** Whether memory is that of this container, and not of the machine. */
  contained: boolean;
  /** Each names a resource, how many robots it holds, and what to change. */
  problems: string[];
}

/** The rest of each resource is left to other processes and to a run's own needs. */
const USABLE = 0.85;
/** Descriptors of a worker beside its robots: connections to the platform, files, pipes. */
const DESCRIPTORS_PER_WORKER = 400;
const CONTAINER = 'this container (cgroup)';
/** Robots that keep one core busy with pings and roll-outs at everyday rates. */
export const ROBOTS_PER_CORE = 2000;
/** Robots without an uplink, which do nothing by themselves. */
const IDLE_PER_CORE = 10_000;

/** Free resources here, of the machine or of this container. `dir`: where robots keep their files. */
export function machineLimits(dir: string, container = memoryLimit(), cpus = cpuLimit()): Limits {
  // Where the system says so, with what it would give back without swapping.
  const memoryBytes = freemem();
  const disk = statfsSync(existingFolder(dir));
  return {
    descriptors: descriptorLimit(),
    ...(container !== undefined && container.freeBytes < memoryBytes
      ? // A 0 would mean that it is not known.
        { memoryBytes: Math.max(1, container.freeBytes), containerBytes: container.limitBytes }
      : { memoryBytes }),
    ports: localPorts(),
    diskBytes: disk.bavail * disk.bsize,
    inodes: disk.ffree,
    cores: processors(cpus),
  };
}

/** Checks whether `robots` fit on a machine, in the processes of a fleet. `looked`: the resources that are checked. */
export function preflight(
  robots: number,
  processes: FleetProcesses,
  cost: RobotCost,
  limits: Limits,
  looked: readonly Resource[] = RESOURCES,
): Preflight {
  const { workers } = processes;
  const capacity = capacityOf(processes, cost, limits);
  const contained = limits.containerBytes !== undefined;
  const problems = looked
    .filter((resource) => capacity[resource] < robots)
    .map((resource) => {
      const hold = resource === 'ports' || resource === 'descriptors' ? 'hold' : 'holds';
      const remedy = remedyFor(resource, robots, workers, cost, limits);
      return (
        `${thousands(robots)} robots do not fit: ${resource} of ` +
        `${contained && resource === 'memory' ? CONTAINER : 'this machine'} ${hold} ` +
        `${thousands(capacity[resource])}; ${remedy}`
      );
    });
  return { capacity, contained, problems };
}

function capacityOf(processes: FleetProcesses, cost: RobotCost, limits: Limits): Preflight['capacity'] {
  const fits = (available: number, each: number): number =>
    available === 0 || each === 0 ? Number.POSITIVE_INFINITY : Math.floor((available * USABLE) / each);
  const perProcess = Math.floor(descriptorsHold(cost, limits));
  // The processes take some before the first robot does.
  const before = memoryOf(0, cost, processes).whole;
  const each = memoryOf(1, cost, processes).whole - before;
  const memory = limits.memoryBytes * USABLE - before;
  return {
    descriptors: limits.descriptors === 0 ? Number.POSITIVE_INFINITY : perProcess * Math.max(processes.workers, 1),
    memory: limits.memoryBytes === 0 ? Number.POSITIVE_INFINITY : Math.floor(Math.max(0, memory) / each),
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
      const { containerBytes } = limits;
      const more =
        containerBytes === undefined
          ? 'use a machine with more memory'
          : `raise its limit (now ${mebibytes(containerBytes)})`;
      return `${more}, or spread the fleet with --shard${fewer}`;
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
export function sensibleWorkers(
  robots: number,
  cost: RobotCost,
  limits: Limits,
  perCore = cost.platformBytes > 0 ? ROBOTS_PER_CORE : IDLE_PER_CORE,
): number {
  const needed = limits.descriptors === 0 ? 1 : Math.ceil(robots / Math.max(descriptorsHold(cost, limits), 1));
  return Math.max(1, needed, Math.min(limits.cores, Math.ceil(robots / perCore)));
}

/** One line for people: what the machine holds, and what is wanted. */
export function capacityLine({ capacity, contained }: Preflight, workers: number, wanted: number): string {
  const holders = workers === 0 ? 'this process holds' : workers === 1 ? '1 worker holds' : `${workers} workers hold`;
  const held = Object.entries(capacity).map(
    ([resource, robots]) =>
      `${Number.isFinite(robots) ? thousands(robots) : 'any number'} ` +
      `(${contained && resource === 'memory' ? `memory of ${CONTAINER}` : resource})`,
  );
  return `preflight: ${holders} at most ${held.join(', ')} robots; ${thousands(wanted)} are wanted`;
}

/** One line for people: what all processes of a fleet will hold, by what they are for, and of one robot. */
export function memoryLine(robots: number, cost: RobotCost, processes: FleetProcesses): string {
  const { whole, ...parts } = memoryOf(robots, cost, processes);
  const held = Object.entries(parts).flatMap(([name, bytes]) =>
    bytes === 0 ? [] : [`${name}${name === 'files' ? ' in memory' : ''} ${Math.round(bytes / 2 ** 20)}`],
  );
  const marginal = memoryOf(robots + 1, cost, processes).whole - whole;
  return (
    `preflight: about ${mebibytes(whole)} of memory (${held.join(', ')}): a robot ` +
    `${kibibytes(whole / Math.max(robots, 1))}, one more ${kibibytes(marginal)}`
  );
}

const FEWEST_CONNECTIONS = 256;
const MOST_CONNECTIONS = 16_384;

/** Connections to the platform that a worker with so many robots may open: what its robots leave of its descriptors. */
export function connectionsFor(robots: number, cost: RobotCost, descriptors = descriptorLimit()): number {
  if (descriptors === 0) return MOST_CONNECTIONS;
  const left = Math.floor(descriptors * USABLE - DESCRIPTORS_PER_WORKER - robots * cost.descriptors);
  return Math.min(MOST_CONNECTIONS, Math.max(FEWEST_CONNECTIONS, left));
}

function localPorts(): number {
  const range = readText('/proc/sys/net/ipv4/ip_local_port_range');
  if (range === undefined) return 0;
  const [low = 0, high = 0] = range.trim().split(/\s+/).map(Number);
  return high - low + 1;
}

function existingFolder(dir: string): string {
  return existsSync(dir) || dirname(dir) === dir ? dir : existingFolder(dirname(dir));
}
