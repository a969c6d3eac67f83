import { type Command, connect, type Model, type Real, settle } from './model.ts';

/** A new client with a cursor anywhere from 0 to a little beyond the newest event, or without one. */
export class Subscribe implements Command {
  readonly at: number | undefined;
  readonly byHeader: boolean;
  constructor(at: number | undefined, byHeader: boolean) {
    this.at = at;
    this.byHeader = byHeader;
  }
  check({ up }: Readonly<Model>): boolean {
    return up;
  }
  async run(model: Model, real: Real): Promise<void> {
    const subscriber = { stream: undefined, after: 0, byHeader: this.byHeader };
    real.subscribers.push(subscriber);
    await connect(real, subscriber, this.at === undefined ? undefined : Math.round(this.at * (model.highest + 2)));
    await settle(model, real);
  }
  toString(): string {
    const where =
      this.at === undefined ? 'live' : `at ${Math.round(this.at * 100)} % by ${this.byHeader ? 'header' : 'query'}`;
    return `subscribe ${where}`;
  }
}
