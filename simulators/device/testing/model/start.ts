import { expect } from 'vitest';
import { type Command, connect, type Model, type Real, settle } from './model.ts';

/** Everything that was stored or seen is there again under its id, nothing is numbered anew, and every client comes back. */
export class Start implements Command {
  check({ up }: Readonly<Model>): boolean {
    return !up;
  }
  async run(model: Model, real: Real): Promise<void> {
    const { robot } = real;
    const newestSeen = Math.max(0, ...real.seen.keys());
    await robot.device.start();
    model.up = true;
    const { earliestId, latestId, events } = robot.device.stats();
    expect(latestId).toBeGreaterThanOrEqual(Math.max(model.highest, newestSeen));
    const retained = model.events.filter((id) => id >= earliestId);
    if (events > 0) {
      // What a kill cut off may have been stored: it is there now, and stays.
      const replay = await robot.listen(`?after=${earliestId - 1}`);
      await replay.until(() => replay.comments.length > 0);
      await robot.device.publish(1);
      const { latestId: newest } = robot.device.stats();
      await replay.reach(newest);
      const ids = replay.ids;
      expect(ids.slice(0, retained.length)).toEqual(retained);
      const late = ids.slice(retained.length);
      expect(late.every((id, at) => id > (late[at - 1] ?? retained.at(-1) ?? 0))).toBe(true);
      expect(late.at(-1)).toBeGreaterThan(Math.max(model.highest, newestSeen));
      replay.close();
      await replay.ended;
      model.events.push(...late);
    }
    model.highest = robot.device.stats().latestId;
    for (const subscriber of real.subscribers) await connect(real, subscriber, subscriber.after);
    await settle(model, real);
  }
  toString(): string {
    return 'start';
  }
}
