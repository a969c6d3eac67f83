import type { AsyncCommand } from 'fast-check';
import type { SystemModel, SystemReality } from './model.ts';

/** The device loses the platform. */
export class Cut implements AsyncCommand<SystemModel, SystemReality> {
  check({ online }: SystemModel): boolean {
    return online;
  }

  async run(model: SystemModel, { t }: SystemReality): Promise<void> {
    await t.offline();
    model.online = false;
  }

  toString(): string {
    return 'cut';
  }
}

/** The device finds the platform again. */
export class Reconnect implements AsyncCommand<SystemModel, SystemReality> {
  check({ online }: SystemModel): boolean {
    return !online;
  }

  async run(model: SystemModel, { t }: SystemReality): Promise<void> {
    await t.online();
    model.online = true;
  }

  toString(): string {
    return 'reconnect';
  }
}
