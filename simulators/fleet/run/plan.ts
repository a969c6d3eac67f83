/** Options of a fleet, and of a run of a scenario by one. */

import { join } from 'node:path';
import { defined } from '../../../harness/common/defined.ts';
import type { Output } from '../../../harness/common/terminal.ts';
import type { HostConfig, StateChanges } from '../host/host.ts';
import type { PlatformAddress } from '../platform/client.ts';
import type { FleetResult, Tick, Violation } from '../result/result.ts';
import { membersOf } from '../schedule/schedule.ts';
import { connectionsFor, robotCost } from './capacity.ts';

/** Part `index`, from 1, of `count` parts of a fleet. */
export interface Shard {
  index: number;
  count: number;
}

type OfHosts = Pick<
  HostConfig,
  'robots' | 'scenario' | 'seed' | 'connections' | 'keyBits' | 'stateDir' | 'keep' | 'defects'
>;

/** What a fleet and a run of it have in common. */
interface CommonOptions extends OfHosts {
  /** The part of the fleet on this machine. Default: all of it. */
  shard?: Shard;
  /**
   * Folder for the robots' files while the fleet runs. Default: in memory (`/dev/shm`) when it has room, else
   * `tmpdir()`.
   */
  dir?: string;
  /** Default: `robot`. */
  namePrefix?: string;
  /** A worker that gives no sign of life for so many milliseconds is lost. Default 60 000. */
  silentMs?: number;
  /** Milliseconds for a call that prepares a phase, with all its attempts. Default: a minute. */
  setUpMs?: number;
}

export interface FleetOptions extends CommonOptions, Pick<HostConfig, 'platform' | 'trace'> {
  /** Worker processes; 0: everything in this process. */
  workers: number;
  onKeys?(done: number, of: number): void;
  onSecond?(tick: Tick): void;
  onViolation?(violation: Violation): void;
  /** Is told the states of single robots. */
  onStates?(changes: StateChanges): void;
}

/** Of which run a shard is a part. */
export interface RunIdentity {
  /** The same for all shards of a run, and for no other run. */
  runId: string;
  /** What started this shard, e.g. the uid of a Kubernetes Job: with the same one, a shard may be started again. */
  jobId?: string;
  /** Milliseconds to wait for the other shards before the first phase. */
  startWithinMs: number;
}

export interface RunOptions extends CommonOptions {
  /** Shards of one run on a shared disk. Default: this process knows of no others. */
  identity?: RunIdentity;
  platform: PlatformAddress | 'embedded' | undefined;
  /** Default: a number that suits this machine. */
  workers?: number;
  /** Folder for `result.json`, `report.html` and `rollouts.jsonl`. */
  out: string;
  /** Thresholds beside those of the scenario. */
  thresholds: readonly string[];
  /** Where to serve Prometheus metrics. Default: nowhere. */
  metrics?: { port: number; host: string };
  /** Where to serve the console; port 0: any free one. Default: nowhere. */
  ui?: { port: number };
  /** Starts although preflight says that the machine is too small. */
  force?: boolean;
  screen: Output;
  /** Version of Muster, for the result. */
  version: string;
  /** Called with the result before anything is written, since a full disk must not cost it. */
  onResult?(result: FleetResult): void;
  /** Interrupts the run. */
  signal: AbortSignal;
}

// Which robots a fleet or its shard has, what they are called, where their files are, and how its hosts share them.

export class FleetLayout {
  readonly #options: FleetOptions;
  readonly #dir: string;
  readonly #members: number[];

  /** `dir`: the fleet's own folder. */
  constructor(options: FleetOptions, dir: string) {
    this.#options = options;
    this.#dir = dir;
    this.#members = membersOf(options.robots, options.shard ?? { index: 1, count: 1 });
  }

  /** The robots of this shard, by index. */
  get members(): readonly number[] {
    return this.#members;
  }

  /** Adds robots behind the last one; gives their indices. Not for a shard, whose indices others have. */
  grow(count: number): number[] {
    const first = this.#members.length;
    const more = Array.from({ length: count }, (_, number) => first + number);
    this.#members.push(...more);
    return more;
  }

  /** The folder of a robot's files. Throws RangeError. */
  robotDir(index: number): string {
    return join(this.#dir, 'r', String(this.#hostOf(index)), String(index));
  }

  #hostOf(index: number): number {
    const position = this.members.indexOf(index);
    if (position < 0) throw new RangeError(`robot ${index} is not in this shard of ${this.#options.robots} robots`);
    return position % this.#hosts;
  }

  get namePrefix(): string {
    return this.#options.namePrefix ?? 'robot';
  }

  robotName(index: number): string {
    return `${this.namePrefix}-${String(index).padStart(6, '0')}`;
  }

  /** Holds the sockets of all robots. */
  get socketsDir(): string {
    return join(this.#dir, 's');
  }

  /** Path of the Unix socket of a robot of this shard, even while the robot does not serve. Throws RangeError. */
  robotSocket(index: number): string {
    return join(this.#socketsOf(this.#hostOf(index)), String(index));
  }

  hostConfigs(): HostConfig[] {
    const { robots, seed, scenario, platform, keyBits, stateDir, workers } = this.#options;
    const { trace, defects, keep, onStates } = this.#options;
    return Array.from({ length: this.#hosts }, (_, number) => ({
      name: workers === 0 ? 'this process' : `worker ${number + 1}`,
      members: this.members.filter((_member, position) => position % this.#hosts === number),
      robots,
      seed,
      scenario,
      platform,
      connections: this.connections,
      keyBits,
      namePrefix: this.namePrefix,
      stateDir,
      robotsDir: join(this.#dir, 'r', String(number)),
      socketsDir: this.#socketsOf(number),
      ...defined({ trace, defects, keep, watched: onStates === undefined ? undefined : true }),
    }));
  }

  /** Connections to the platform that each host may open. */
  get connections(): number {
    const { connections, scenario } = this.#options;
    return connections ?? connectionsFor(Math.ceil(this.members.length / this.#hosts), robotCost(scenario));
  }

  get #hosts(): number {
    return Math.max(this.#options.workers, 1);
  }

  #socketsOf(host: number): string {
    return join(this.socketsDir, String(host));
  }
}
