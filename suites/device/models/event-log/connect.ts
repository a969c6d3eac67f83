import type { AsyncCommand } from 'fast-check';
import { connect, type LogModel, type LogReality, nth } from './model.ts';

/** A client that has seen everything up to some event, by query or by header. */
export class Connect implements AsyncCommand<LogModel, LogReality> {
  readonly at: number;
  readonly byHeader: boolean;

  constructor(at: number, byHeader: boolean) {
    this.at = at;
    this.byHeader = byHeader;
  }

  check(model: Readonly<LogModel>): boolean {
    return model.clients.length < 6;
  }

  async run(model: LogModel, real: LogReality): Promise<void> {
    const cursor = nth([...model.events.map(({ id }) => id), ...model.gone], this.at) ?? model.newest;
    await connect(model, real, `client at ${cursor}`, cursor, this.byHeader);
  }

  toString(): string {
    return `connect(after event #${this.at}, ${this.byHeader ? 'by header' : 'by query'})`;
  }
}
