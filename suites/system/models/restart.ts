import type { AsyncCommand } from 'fast-check';
import type { StopSignal } from '../../../harness/contract/control.ts';
import type { SystemModel, SystemReality } from './model.ts';

/** The agent ends, in order or not, and starts again. */
export class Restart implements AsyncCommand<SystemModel, SystemReality> {
  readonly signal: StopSignal;

  constructor(signal: StopSignal) {
    this.signal = signal;
  }

  check({ online }: SystemModel): boolean {
    return online;
  }

  async run(_model: SystemModel, { t }: SystemReality): Promise<void> {
    await t.device.control.stop(this.signal);
    await t.device.control.start();
  }

  toString(): string {
    return `restart by ${this.signal}`;
  }
}
