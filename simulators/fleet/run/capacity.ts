/** Estimates the memory, files and processes that a fleet needs, from measurements of earlier runs. */

import { accessSync, constants, existsSync, statfsSync } from 'node:fs';
import { availableParallelism, freemem, tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { memoryText } from '../../../harness/common/units.ts';
import { thousands } from '../measure/costs.ts';
import { descriptorLimit, memoryLimit, readText } from '../measure/saturation.ts';
import { meanOf, type Scenario, subscribersOf, USUAL_RETAIN } from '../scenario/scenario.ts';

export interface RobotCost {
  descriptors: number;
  memoryBytes: number;
  platformBytes: number;
  ports: number;
  /** Bytes of a robot's files on disk, where every file and folder takes a whole block. */
  diskBytes: number;
  /** Bytes of a robot's files in memory (`/dev/shm`). */
  memoryDiskBytes: number;
  inodes: number;
}

/** Connections that the robots of a worker share for their requests to the platform. */
export const UPLINK_CONNECTIONS = 64;
/** File descriptors of an idle robot: one socket, and sometimes the open event log. */
const IDLE_DESCRIPTORS = 1.2;
/** File descriptors of an event stream: client and server run in the same process. */
const SUBSCRIBER_DESCRIPTORS = 2;
/** Files and folders of a robot after some roll-outs. */
const FILES = 16;
const BLOCK_BYTES = 4096;
const KIB = 1024;
const MIB = 2 ** 20;
/** Bytes of memory (PSS) that each robot adds, measured with 500 to 10,000 robots. */
const IDLE_BYTES = 7 * KIB;
const UPLINK_BYTES = 20 * KIB;
const SUBSCRIBER_BYTES = 22 * KIB;
const FILE_BYTES = 28 * KIB;
/** Bytes of an event in the log, and of a copy of the event during compaction of the log. */
const EVENT_BYTES = 640;
const ENROLLED_BYTES = 28 * KIB;
/** Bytes of memory that a robot's last roll-out occupies: first in the robot's process, second on the platform. */
const ROLLOUT_BYTES = 36 * KIB;
const DEPLOYED_BYTES = 40 * KIB;
const PARENT_BYTES = 92 * MIB;
const WORKER_BYTES = 86 * MIB;
const WORKER_UPLINK_BYTES = 14 * MIB;
const PLATFORM_BYTES = 115 * MIB;

export function robotCost(scenario: Partial<Scenario>): RobotCost {
  const { uplink = 'agent', phases = [] } = scenario;
  const usual = subscribersOf(scenario);
  const subscribers = meanOf(scenario, ({ subscribers: own = usual }) => own);
  const connected = meanOf(scenario, ({ uplink: each = uplink }) => (each === 'agent' ? 1 : 0));
  const events = phases.reduce((sum, phase) => sum + (('events' in phase ? phase.events : undefined) ?? 0), 0);
  const logBytes = EVENT_BYTES * meanOf(scenario, ({ retain = USUAL_RETAIN }) => Math.min(retain, events));
  const rolledOut = phases.some((phase) => phase.do === 'rollout');
  return {
    descriptors: IDLE_DESCRIPTORS + connected + subscribers * SUBSCRIBER_DESCRIPTORS,
    memoryBytes:
      IDLE_BYTES +
      (uplink === 'none' || uplink === 'calls' ? 0 : UPLINK_BYTES) +
      subscribers * SUBSCRIBER_BYTES +
      (rolledOut ? ROLLOUT_BYTES : 0),
    platformBytes: uplink === 'none' ? 0 : ENROLLED_BYTES + (rolledOut ? DEPLOYED_BYTES : 0),
    ports: connected,
    diskBytes: FILES * BLOCK_BYTES + logBytes,
    memoryDiskBytes: FILE_BYTES + logBytes,
    inodes: FILES,
  };
}

interface FleetProcesses {
  workers: number;
  platform: boolean;
  filesInMemory: boolean;
  /** Set if the processes run already, so that only robots add memory. */
  started?: true;
}

/** Estimates the peak memory in bytes, without kernel memory, e.g. of sockets. */
export function memoryOf(robots: number, cost: RobotCost, processes: FleetProcesses) {
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

const MEMORY_DISK = '/dev/shm';

/** Returns `named`, else `/dev/shm` if twice `bytes` are free there, because a disk is slower, else `tmpdir()`. */
export function baseDirFor(bytes: number, named?: string): string {
  if (named !== undefined) return named;
  try {
    accessSync(MEMORY_DISK, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(MEMORY_DISK);
    if ((bavail * bsize) / 2 >= bytes) return MEMORY_DISK;
  } catch {
    // `/dev/shm` is missing or not writable.
  }
  return tmpdir();
}

const TMPFS = 0x01021994;
export const isInMemory = (dir: string): boolean => statfsSync(existingFolder(dir)).type === TMPFS;

/** Limits of a machine: free memory, disk and inodes, and total descriptors, ports and cores; infinite if unknown. */
export interface Limits {
  descriptors: number;
  memoryBytes: number;
  containerBytes?: number;
  ports: number;
  diskBytes: number;
  inodes: number;
  cores: number;
}

const RESOURCES = ['descriptors', 'memory', 'ports', 'disk'] as const;
type Resource = (typeof RESOURCES)[number];

/** Share of each free resource that robots may use. */
const USABLE = 0.85;
/** File descriptors of a worker itself, e.g. for connections to the platform. */
const DESCRIPTORS_PER_WORKER = 400;
const CONTAINER = 'this container (cgroup)';
/** Robots with pings and roll-outs that keep one core busy. */
export const ROBOTS_PER_CORE = 2000;

const UNKNOWN = Number.POSITIVE_INFINITY;

export function machineLimits(dir: string, container = memoryLimit(), disk = statfsSync(existingFolder(dir))): Limits {
  // Includes, on Linux, caches that the kernel can reclaim.
  const memoryBytes = freemem();
  const range = readText('/proc/sys/net/ipv4/ip_local_port_range');
  const [low = 0, high = 0] = (range ?? '').trim().split(/\s+/).map(Number);
  return {
    descriptors: descriptorLimit() || UNKNOWN,
    ...(container !== undefined && container.freeBytes < memoryBytes
      ? { memoryBytes: container.freeBytes, containerBytes: container.limitBytes }
      : { memoryBytes }),
    ports: range === undefined ? UNKNOWN : high - low + 1,
    // Btrfs reports 0 inodes, because it has no fixed table of them, and some remote file systems report 0 blocks.
    diskBytes: disk.blocks === 0 ? UNKNOWN : disk.bavail * disk.bsize,
    inodes: disk.files === 0 ? UNKNOWN : disk.ffree,
    cores: availableParallelism(),
  };
}

export function preflight(
  robots: number,
  processes: FleetProcesses,
  cost: RobotCost,
  limits: Limits,
  looked: readonly Resource[] = RESOURCES,
) {
  const { workers } = processes;
  const fits = (available: number, each: number): number => Math.floor((available * USABLE) / each);
  const perProcess = Math.floor(descriptorsHold(cost, limits));
  const before = memoryOf(0, cost, processes).whole;
  const each = memoryOf(1, cost, processes).whole - before;
  const memory = limits.memoryBytes * USABLE - before;
  const capacity = {
    descriptors: perProcess * Math.max(workers, 1),
    memory: Math.floor(Math.max(0, memory) / each),
    ports: fits(limits.ports, cost.ports),
    disk: Math.min(fits(limits.diskBytes, cost.diskBytes), fits(limits.inodes, cost.inodes)),
  };
  const { containerBytes } = limits;
  const contained = containerBytes !== undefined;
  const more = contained ? `raise its limit (now ${memoryText(containerBytes)})` : 'use a machine with more memory';
  const fewer = workers > limits.cores ? `, or use fewer --workers (now ${workers})` : '';
  const needed = Math.ceil(robots / Math.max(perProcess, 1));
  const remedies: Readonly<Record<Resource, string>> = {
    descriptors: `use --workers ${needed} or more, or raise 'ulimit -n' (now ${limits.descriptors} per process)`,
    memory: `${more}, or spread the fleet with --shard${fewer}`,
    ports: 'spread the fleet over more machines with --shard: each robot needs a local port towards the platform',
    disk: 'free space or inodes where robots keep their files (--dir)',
  };
  const problems = looked
    .filter((resource) => capacity[resource] < robots)
    .map((resource) => {
      const hold = resource === 'ports' || resource === 'descriptors' ? 'hold' : 'holds';
      const where = contained && resource === 'memory' ? CONTAINER : 'this machine';
      const most = `${resource} of ${where} ${hold} ${thousands(capacity[resource])}`;
      return `${thousands(robots)} robots do not fit: ${most}; ${remedies[resource]}`;
    });
  return { capacity, contained, problems };
}

const descriptorsHold = (cost: RobotCost, limits: Pick<Limits, 'descriptors'>): number =>
  Math.max(0, (limits.descriptors * USABLE - DESCRIPTORS_PER_WORKER) / cost.descriptors);

export function sensibleWorkers(robots: number, cost: RobotCost, limits: Pick<Limits, 'descriptors' | 'cores'>) {
  // Robots without an uplink that one core can run.
  const perCore = cost.platformBytes > 0 ? ROBOTS_PER_CORE : 10_000;
  const needed = Math.ceil(robots / Math.max(descriptorsHold(cost, limits), 1));
  return Math.max(1, needed, Math.min(limits.cores, Math.ceil(robots / perCore)));
}

type Checked = ReturnType<typeof preflight>;

export function capacityLine({ capacity, contained }: Checked, workers: number, wanted: number): string {
  const holders = workers === 0 ? 'this process holds' : workers === 1 ? '1 worker holds' : `${workers} workers hold`;
  const held = Object.entries(capacity).map(([resource, robots]) => {
    const what = contained && resource === 'memory' ? `memory of ${CONTAINER}` : resource;
    return `${Number.isFinite(robots) ? thousands(robots) : 'any number'} (${what})`;
  });
  return `preflight: ${holders} at most ${held.join(', ')} robots; ${thousands(wanted)} are wanted`;
}

export function memoryLine(robots: number, cost: RobotCost, processes: FleetProcesses): string {
  const { whole, ...parts } = memoryOf(robots, cost, processes);
  const held = Object.entries(parts).flatMap(([name, bytes]) =>
    bytes === 0 ? [] : [`${name}${name === 'files' ? ' in memory' : ''} ${Math.round(bytes / 2 ** 20)}`],
  );
  const marginal = memoryOf(robots + 1, cost, processes).whole - whole;
  const more = `one more robot ${memoryText(marginal)}`;
  return `preflight: about ${memoryText(whole)} of memory (${held.join(', ')}): ${more}`;
}

const MOST_CONNECTIONS = 16_384;

/** Maximum connections of a worker beside its uplinks: the usable descriptors that robots leave, 256 to 16,384. */
export function connectionsFor(robots: number, cost: RobotCost): number {
  const descriptors = descriptorLimit();
  if (descriptors === 0) return MOST_CONNECTIONS;
  const left = Math.floor(descriptors * USABLE - DESCRIPTORS_PER_WORKER - robots * cost.descriptors);
  return Math.min(MOST_CONNECTIONS, Math.max(256, left));
}

const existingFolder = (dir: string): string =>
  existsSync(dir) || dirname(dir) === dir ? dir : existingFolder(dirname(dir));
