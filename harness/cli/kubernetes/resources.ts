/** What the pod of a shard asks of its node, from what a robot costs. */
import { sensibleWorkers } from '../../../simulators/fleet/run/preflight.ts';
import { memoryOf, robotCost } from '../../../simulators/fleet/run/robot-cost.ts';
import type { Scenario } from '../../../simulators/fleet/scenario/scenario.ts';

/** Quantities as Kubernetes writes them. */
export interface ShardResources {
  cpu: string;
  memory: string;
  memoryLimit: string;
  /** The memory disk for the files of robots; counts as memory of the pod too. */
  files: string;
}

const MIB = 2 ** 20;
/** The rest is left free, as the preflight of a shard does. */
const USED = 0.85;
/** Fewer robots than this keep one processor busy while they come up. */
const ROBOTS_PER_CPU = 5000;
/** A memory disk is used when the files fill half of it at most; event logs grow with each roll-out. */
const FILES_SPARE = 3;

/** `robots`: of the largest shard. */
export function shardResources(
  robots: number,
  scenario: Pick<Scenario, 'uplink' | 'subscribers' | 'phases'>,
): ShardResources {
  const cost = robotCost(scenario);
  const unknown = { descriptors: 0, memoryBytes: 0, ports: 0, diskBytes: 0, inodes: 0 };
  const workers = sensibleWorkers(robots, cost, { ...unknown, cores: robots });
  const { whole } = memoryOf(robots, cost, { workers, platform: false, filesInMemory: true });
  const memory = whole / MIB / USED;
  return {
    cpu: String(Math.max(1, Math.ceil(robots / ROBOTS_PER_CPU))),
    memory: steps(memory, 256),
    memoryLimit: steps(2 * memory, 512),
    files: steps((FILES_SPARE * robots * cost.memoryDiskBytes) / MIB, 64),
  };
}

/** Rounded up to whole steps. */
const steps = (mebibytes: number, step: number): string => `${Math.max(1, Math.ceil(mebibytes / step)) * step}Mi`;
