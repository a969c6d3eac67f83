import type { AsyncCommand } from 'fast-check';
import { sameEvents } from '../../support/events.ts';
import { type LogModel, type LogReality, nth } from './model.ts';

/** A client reads up to the newest event: it has everything after its cursor, in order, as everybody else saw it. */
export class Read implements AsyncCommand<LogModel, LogReality> {
  readonly which: number;

  constructor(which: number) {
    this.which = which;
  }

  check(model: Readonly<LogModel>): boolean {
    return model.clients.length > 0;
  }

  async run(model: LogModel, real: LogReality): Promise<void> {
    const client = nth(model.clients, this.which);
    if (client === undefined) return;
    const due = model.events.filter(({ id }) => id > client.cursor);
    const { subscription } = client;
    if (client.mayEnd) {
      const came = await subscription.drain(model.newest);
      model.clients.splice(model.clients.indexOf(client), 1);
      const { by } = subscription.stream.ended ?? {};
      if (by === 'server' || by === 'error') return;
      sameEvents(
        real.context,
        came.filter(({ id }) => id <= model.newest),
        due,
        client.name,
      );
      return;
    }
    if ((subscription.events.at(-1)?.id ?? client.cursor) < model.newest) await subscription.reach(model.newest);
    const came = subscription.events.filter(({ id }) => id <= model.newest);
    sameEvents(real.context, came, due, client.name);
  }

  toString(): string {
    return `read(client #${this.which})`;
  }
}
