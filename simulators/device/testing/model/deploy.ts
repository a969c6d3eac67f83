import { expect } from 'vitest';
import { type Command, type Model, type Real, settle, stored } from './model.ts';

/** Deploys, and removes it again or leaves it to be replaced. */
export class Deploy implements Command {
  readonly remove: boolean;
  constructor(remove: boolean) {
    this.remove = remove;
  }
  check({ up }: Readonly<Model>): boolean {
    return up;
  }
  async run(model: Model, real: Real): Promise<void> {
    const { device } = real.robot;
    const { id } = await device.deploy({ config_instances: [{ filepath: '/a', content: 'x' }] });
    if (this.remove) await device.remove(id);
    expect(device.port.active()).toHaveLength(this.remove ? 0 : 1);
    stored(model, real);
    await settle(model, real);
  }
  toString(): string {
    return this.remove ? 'deploy and remove' : 'deploy';
  }
}
