/** Which robots a fleet or its shard has, what they are called, where their files are, and how its hosts share them. */
import { join } from 'node:path';
import type { HostConfig } from '../host/host.ts';
import { membersOf } from '../schedule/plan.ts';
import type { FleetOptions } from './options.ts';
import { connectionsFor } from './preflight.ts';
import { robotCost } from './robot-cost.ts';

const DEFAULT_RETAIN = 200;

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
    const { retain = DEFAULT_RETAIN, durability = 'os', trace = false, defects = {}, keep = false } = this.#options;
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
      retain,
      durability,
      trace,
      defects,
      ...(keep && { keep }),
      ...(this.#options.onStates !== undefined && { watched: true }),
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
