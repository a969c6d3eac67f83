import type { AsyncCommand } from 'fast-check';
import { publish } from '../../support/drive.ts';
import { type LogModel, type LogReality, witness } from './model.ts';

export class Publish implements AsyncCommand<LogModel, LogReality> {
  readonly count: number;

  constructor(count: number) {
    this.count = count;
  }

  check(model: Readonly<LogModel>): boolean {
    return model.events.length + this.count <= model.capacity;
  }

  async run(model: LogModel, real: LogReality): Promise<void> {
    await witness(model, real, await publish(real.context, this.count));
  }

  toString(): string {
    return `publish(${this.count})`;
  }
}
