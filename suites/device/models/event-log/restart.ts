import type { AsyncCommand } from 'fast-check';
import type { StopSignal } from '../../../../harness/contract/control.ts';
import { comeBack, type LogModel, type LogReality } from './model.ts';

/** The agent ends, in order or killed, and comes back: everything that was seen is still there. */
export class Restart implements AsyncCommand<LogModel, LogReality> {
  readonly signal: StopSignal;

  constructor(signal: StopSignal) {
    this.signal = signal;
  }

  check(): boolean {
    return true;
  }

  async run(model: LogModel, real: LogReality): Promise<void> {
    await real.context.control.stop(this.signal);
    await real.context.control.start();
    await comeBack(model, real);
  }

  toString(): string {
    return `restart(${this.signal})`;
  }
}
