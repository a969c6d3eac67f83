import { type Command, type Model, type Real, settle, stored } from './model.ts';

/** Several publishers at once. */
export class Publish implements Command {
  readonly counts: readonly number[];
  constructor(counts: readonly number[]) {
    this.counts = counts;
  }
  check({ up }: Readonly<Model>): boolean {
    return up;
  }
  async run(model: Model, real: Real): Promise<void> {
    await Promise.all(this.counts.map((count) => real.robot.device.publish(count)));
    stored(model, real);
    await settle(model, real);
  }
  toString(): string {
    return `publish ${this.counts.join(' and ')}`;
  }
}
