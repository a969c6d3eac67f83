/** The robots of a fleet (or of a shard): which they are, their names, their folders, and how hosts share them. */
import { join } from 'node:path';
import type { HostConfig } from '../host/host.ts';
import { membersOf } from '../schedule/plan.ts';
import type { FleetOptions } from './options.ts';

const DEFAULT_RETAIN = 200;

export class FleetLayout {
  readonly #options: FleetOptions;
  readonly #dir: string;
  /** The robots of this shard, by index. */
  readonly members: readonly number[];

  /** `dir`: the fleet's own folder. */
  constructor(options: FleetOptions, dir: string) {
    this.#options = options;
    this.#dir = dir;
    this.members = membersOf(options.robots, options.shard ?? { index: 1, count: 1 });
  }

  get namePrefix(): string {
    return this.#options.namePrefix ?? 'robot';
  }

  robotName(index: number): string {
    return `${this.namePrefix}-${String(index).padStart(6, '0')}`;
  }

  /** Path of the Unix socket of a robot of this shard, even while the robot does not serve. Throws RangeError. */
  robotSocket(index: number): string {
    const position = this.members.indexOf(index);
    if (position < 0) throw new RangeError(`robot ${index} is not in this shard of ${this.#options.robots} robots`);
    return join(this.#socketsDir(position % this.#hosts), String(index));
  }

  hostConfigs(): HostConfig[] {
    const { robots, seed, scenario, platform, keyBits, stateDir, workers } = this.#options;
    const { retain = DEFAULT_RETAIN, durability = 'os', trace = false, defects = {} } = this.#options;
    return Array.from({ length: this.#hosts }, (_, number) => ({
      name: workers === 0 ? 'this process' : `worker ${number + 1}`,
      members: this.members.filter((_member, position) => position % this.#hosts === number),
      robots,
      seed,
      scenario,
      platform,
      keyBits,
      namePrefix: this.namePrefix,
      stateDir,
      robotsDir: join(this.#dir, 'r', String(number)),
      socketsDir: this.#socketsDir(number),
      retain,
      durability,
      trace,
      defects,
    }));
  }

  get #hosts(): number {
    return Math.max(this.#options.workers, 1);
  }

  #socketsDir(host: number): string {
    return join(this.#dir, 's', String(host));
  }
}
