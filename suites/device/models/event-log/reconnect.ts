import type { AsyncCommand } from 'fast-check';
import { connect, type LogModel, type LogReality, nth } from './model.ts';

/** A client is cut off, and comes back with the last id it saw. */
export class Reconnect implements AsyncCommand<LogModel, LogReality> {
  readonly which: number;
  readonly byHeader: boolean;

  constructor(which: number, byHeader: boolean) {
    this.which = which;
    this.byHeader = byHeader;
  }

  check(model: Readonly<LogModel>): boolean {
    return model.clients.length > 0;
  }

  async run(model: LogModel, real: LogReality): Promise<void> {
    const client = nth(model.clients, this.which);
    if (client === undefined) return;
    await client.subscription.close();
    model.clients.splice(model.clients.indexOf(client), 1);
    const cursor = client.subscription.events.at(-1)?.id ?? client.cursor;
    await connect(model, real, `${client.name}, back at ${cursor}`, cursor, this.byHeader);
  }

  toString(): string {
    return `reconnect(client #${this.which}, ${this.byHeader ? 'by header' : 'by query'})`;
  }
}
