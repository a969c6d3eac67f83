import type { AsyncCommand } from 'fast-check';
import { rollOut } from '../support/roll-out.ts';
import type { SystemModel, SystemReality } from './model.ts';

/** A deployment for the device, wherever it is; with `wait` it has to arrive before anything else happens. */
export class RollOut implements AsyncCommand<SystemModel, SystemReality> {
  readonly wait: boolean;

  constructor(wait: boolean) {
    this.wait = wait;
  }

  check(): boolean {
    return true;
  }

  async run(model: SystemModel, { t, events }: SystemReality): Promise<void> {
    const rolled = await rollOut(t);
    model.made.push(rolled);
    if (this.wait && model.online) await events.until('deployment.deployed', rolled.id);
  }

  toString(): string {
    return this.wait ? 'deploy, wait' : 'deploy';
  }
}
