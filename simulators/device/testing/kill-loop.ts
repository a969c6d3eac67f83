/** Kills an agent under load repeatedly, and compares the events that clients saw with the agent's log. */
import { random } from '../../common/random.ts';
import { SupervisedDevice } from '../process/supervisor.ts';
import { EventStream, scratch } from './robot.ts';

export interface KillLoop {
  kills: number;
  seen: number;
  acknowledged: number;
  latest: number;
  problems: string[];
}

const SUBSCRIBERS = 3;
const PUBLISHERS = 4;
const RETAIN = 3_000;
const LARGEST_ROUND = 60;

export async function killLoop({ rounds, seed }: { rounds: number; seed: number | string }): Promise<KillLoop> {
  using home = scratch();
  const socket = `${home.path}/agent.sock`;
  const settings = { device: { dir: `${home.path}/robot`, socket, retain: RETAIN }, logLevel: 'silent' };
  await using device = new SupervisedDevice(settings);
  const source = random(seed);
  const seen = new Map<number, string>();
  const problems: string[] = [];
  let acknowledged = 0;
  await device.start();
  for (let round = 1; round <= rounds; round += 1) {
    const due = Promise.withResolvers<void>();
    let answers = source.integer(0, LARGEST_ROUND);
    const highest = Math.max(0, ...seen.keys());
    const streams = await Promise.all(Array.from({ length: SUBSCRIBERS }, () => open(socket, highest)));
    const publishing = Array.from({ length: PUBLISHERS }, async () => {
      try {
        for (;;) {
          if (answers === 0) due.resolve();
          acknowledged = Math.max(acknowledged, (await device.publish(source.integer(1, 30))).last_id);
          answers -= 1;
        }
      } catch {
        // The kill rejects the pending call.
      }
    });
    await due.promise;
    await device.stop('SIGKILL');
    await Promise.all([...publishing, ...streams.map(({ ended }) => ended)]);
    for (const { events } of streams) {
      for (const { id, envelope } of events) {
        const text = JSON.stringify(envelope);
        if ((seen.get(id) ?? text) !== text) problems.push(`round ${round}: event ${id} was sent with another content`);
        seen.set(id, text);
      }
    }
    await device.start();
    const { earliest_id: from } = await device.log();
    problems.push(...(await compare(socket, seen, acknowledged, from)).map((what) => `round ${round}: ${what}`));
    for (const id of [...seen.keys()].slice(0, Math.max(0, seen.size - 2 * RETAIN))) seen.delete(id);
  }
  const { last_id: latest } = await device.publish(1);
  return { kills: rounds, seen: seen.size, acknowledged, latest, problems };
}

async function compare(
  socket: string,
  seen: Map<number, string>,
  acknowledged: number,
  from: number,
): Promise<string[]> {
  const problems: string[] = [];
  const stream = await EventStream.open(socket, `?after=${from - 1}`);
  const due = Math.max(acknowledged, 0, ...seen.keys());
  await stream.reach(due);
  const now = new Map(stream.events.map(({ id, envelope }) => [id, JSON.stringify(envelope)]));
  stream.close();
  for (const [id, text] of seen) {
    if (id >= from && now.get(id) === undefined) problems.push(`event ${id} was seen and is lost`);
    else if (id >= from && now.get(id) !== text) problems.push(`event ${id} was seen and is another one now`);
  }
  const ids = stream.ids;
  const gap = ids.find((id, at) => at > 0 && id !== (ids[at - 1] ?? 0) + 1);
  if (gap !== undefined) problems.push(`event ${gap} does not follow the one before it`);
  return problems;
}

async function open(socket: string, id: number): Promise<EventStream> {
  return await EventStream.open(socket, `?after=${id}`).catch(() => EventStream.open(socket));
}
