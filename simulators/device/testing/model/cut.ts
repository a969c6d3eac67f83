import { type Command, connect, cursorOf, type Model, note, type Real, settle } from './model.ts';

/** A client's connection breaks while events are published, and it comes back with its cursor. */
export class Cut implements Command {
  readonly which: number;
  readonly meanwhile: number;
  constructor(which: number, meanwhile: number) {
    this.which = which;
    this.meanwhile = meanwhile;
  }
  check({ up }: Readonly<Model>): boolean {
    return up;
  }
  async run(model: Model, real: Real): Promise<void> {
    const subscriber = real.subscribers[this.which % Math.max(1, real.subscribers.length)];
    if (!subscriber?.stream) return;
    subscriber.stream.close();
    await subscriber.stream.ended;
    note(real, subscriber.stream);
    for (let published = 0; published < this.meanwhile; published += 1) {
      const { last_id } = await real.robot.device.publish(1);
      model.events.push(last_id);
      model.highest = last_id;
    }
    await connect(real, subscriber, cursorOf(subscriber));
    await settle(model, real);
  }
  toString(): string {
    return `cut ${this.which}, publish ${this.meanwhile} meanwhile`;
  }
}
