/** What a robot needs of its machine, and what the processes of a fleet hold: estimates from measured runs. */
import type { Scenario } from '../scenario/scenario.ts';

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
const FILE_BYTES = 28 * KIB;
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

type Told = Partial<Pick<Scenario, 'uplink' | 'subscribers' | 'phases'>>;

/** The cost by uplink, subscribers and phases. */
export function robotCost({ uplink = 'agent', subscribers = 1, phases = [] }: Told): RobotCost {
  const connected = uplink === 'agent' ? 1 : 0;
  const rolledOut = phases.some((phase) => phase.do === 'rollout');
  return {
    descriptors: IDLE_DESCRIPTORS + connected + subscribers * SUBSCRIBER_DESCRIPTORS,
    memoryBytes:
      IDLE_BYTES +
      (uplink === 'none' ? 0 : UPLINK_BYTES) +
      subscribers * SUBSCRIBER_BYTES +
      (rolledOut ? ROLLOUT_BYTES : 0),
    platformBytes: uplink === 'none' ? 0 : ENROLLED_BYTES + (rolledOut ? DEPLOYED_BYTES : 0),
    ports: connected,
    diskBytes: FILES * BLOCK_BYTES,
    memoryDiskBytes: FILE_BYTES,
    inodes: FILES,
  };
}

/** The processes of a fleet. */
export interface FleetProcesses {
  /** 0: the robots are in the parent. */
  workers: number;
  /** Whether Muster's own platform runs beside them. */
  platform: boolean;
  /** Whether the robots' files are in memory. */
  filesInMemory: boolean;
  /** They run already: only the robots are still to come. */
  started?: true;
}

/** Bytes by what they are for. The kernel's own memory, e.g. of sockets, comes on top. */
export interface MemoryEstimate {
  parent: number;
  workers: number;
  platform: number;
  files: number;
  whole: number;
}

/** What a fleet holds at its peak. */
export function memoryOf(robots: number, cost: RobotCost, processes: FleetProcesses): MemoryEstimate {
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
