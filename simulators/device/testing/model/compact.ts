import { expect } from 'vitest';
import { type Command, idsOnDisk, type Model, type Real, settle } from './model.ts';

export class Compact implements Command {
  check({ up }: Readonly<Model>): boolean {
    return up;
  }
  async run(model: Model, real: Real): Promise<void> {
    const { earliest_id, latest_id } = await real.robot.device.compact();
    expect(latest_id).toBe(model.highest);
    const kept = model.events.filter((id) => id >= earliest_id);
    if (model.events.length > 0) {
      expect(idsOnDisk(real)).toEqual(kept);
      expect(kept.length).toBeGreaterThan(0);
    }
    await settle(model, real);
  }
  toString(): string {
    return 'compact';
  }
}
