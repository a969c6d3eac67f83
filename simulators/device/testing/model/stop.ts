import { setImmediate as turn } from 'node:timers/promises';
import { type Command, type Model, type Real, stored, wentDown } from './model.ts';

/** A stop in order: whatever was accepted is stored. */
export class Stop implements Command {
  check({ up }: Readonly<Model>): boolean {
    return up;
  }
  async run(model: Model, real: Real): Promise<void> {
    stored(model, real);
    await real.robot.device.stop();
    await wentDown(model, real);
  }
  toString(): string {
    return 'stop';
  }
}

/** SIGKILL while events are being published: some turns of the event loop later. */
export class Kill implements Command {
  readonly counts: readonly number[];
  readonly turns: number;
  constructor(counts: readonly number[], turns: number) {
    this.counts = counts;
    this.turns = turns;
  }
  check({ up }: Readonly<Model>): boolean {
    return up;
  }
  async run(model: Model, real: Real): Promise<void> {
    const publishing = this.counts.map((count) => real.robot.device.publish(count).catch(() => undefined));
    for (let at = 0; at < this.turns; at += 1) await turn();
    real.robot.device.kill();
    await Promise.all(publishing);
    await wentDown(model, real);
  }
  toString(): string {
    return `kill ${this.turns} turns after publishing ${this.counts.join(' and ')}`;
  }
}
