import type { AsyncCommand } from 'fast-check';
import { publish } from '../../support/drive.ts';
import { type LogModel, type LogReality, witness } from './model.ts';

/** Of the deployment, of the one that it replaces, and of what may come beside. */
const MOST_EVENTS = 4;

/** Events that come of a deployment, with one more behind them by which they have come. */
export class Deploy implements AsyncCommand<LogModel, LogReality> {
  check(model: Readonly<LogModel>): boolean {
    return model.events.length + MOST_EVENTS <= model.capacity;
  }

  async run(model: LogModel, real: LogReality): Promise<void> {
    await real.context.control.deploy();
    await witness(model, real, await publish(real.context, 1));
  }

  toString(): string {
    return 'deploy()';
  }
}
