import type { AsyncCommand } from 'fast-check';
import { compact } from '../../support/drive.ts';
import type { LogModel, LogReality } from './model.ts';

/** Events before the earliest that is retained are gone; their ids are expired cursors. Those who are connected lose nothing unseen. */
export class Compact implements AsyncCommand<LogModel, LogReality> {
  check(): boolean {
    return true;
  }

  async run(model: LogModel, real: LogReality): Promise<void> {
    const { earliest } = await compact(real.context);
    const known = [model.origin, ...model.gone, ...model.events.map(({ id }) => id)];
    model.gone = [...new Set(known.filter((id) => id < earliest))].sort((a, b) => Number(a - b));
    for (const client of model.clients) {
      client.mayEnd ||= (client.subscription.events.at(-1)?.id ?? client.cursor) < model.newest;
    }
  }

  toString(): string {
    return 'compact()';
  }
}
