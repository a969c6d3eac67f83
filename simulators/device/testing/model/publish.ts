import { expect } from 'vitest';
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
    const { events: before } = real.robot.device.stats();
    await Promise.all(this.counts.map((count) => real.robot.device.publish(count)));
    stored(model, real);
    // Compaction leaves 80 % of what may be kept; ids that a crash cost are not among it.
    const published = this.counts.reduce((sum, count) => sum + count, 0);
    const due = Math.min(before + published, Math.floor(model.retain * 0.8));
    expect(real.robot.device.stats().events).toBeGreaterThanOrEqual(due);
    await settle(model, real);
  }
  toString(): string {
    return `publish ${this.counts.join(' and ')}`;
  }
}
