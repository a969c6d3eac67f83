/**
 * Model of an agent and its log: what stays true whatever is done to them, in any order. Each command changes the agent
 * and the model, and compares the two.
 */
import { appendFileSync, existsSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import fc, { type AsyncCommand } from 'fast-check';
import { expect } from 'vitest';
import type { DeviceOptions } from '../options.ts';
import { type EventStream, Refused, type Robot, robot } from './robot.ts';

interface Model {
  up: boolean;
  /** Ids of the stored events, oldest first; those from the earliest retained one on are in the log. */
  events: number[];
  /** No id up to this one may be assigned again. */
  highest: number;
}

interface Real {
  robot: Robot;
  subscribers: Subscriber[];
  /** Envelope of each event as the first client saw it. */
  seen: Map<number, string>;
}

/** A client that comes back with its cursor whenever its stream ends. */
interface Subscriber {
  /** Undefined while it is not connected. */
  stream: EventStream | undefined;
  /** Events after this id are due on the stream. */
  after: number;
  byHeader: boolean;
}

type Command = AsyncCommand<Model, Real>;

const RETAIN = 40;

function command(name: string, when: 'up' | 'down', change: (model: Model, real: Real) => Promise<void>): Command {
  const run = async (model: Model, real: Real): Promise<void> => {
    await change(model, real);
    await settle(model, real);
  };
  return { check: ({ up }) => up === (when === 'up'), run, toString: () => name };
}

/** Several publishers at once. */
const publish = (counts: readonly number[]): Command =>
  command(`publish ${counts.join(' and ')}`, 'up', async (model, real) => {
    const { device } = real.robot;
    const { events: before } = device.stats();
    await Promise.all(counts.map((count) => device.publish(count)));
    stored(model, real);
    // Compaction leaves 80 % of what may be kept; ids lost in a crash are not part of it.
    const published = counts.reduce((sum, count) => sum + count, 0);
    expect(device.stats().events).toBeGreaterThanOrEqual(Math.min(before + published, Math.floor(RETAIN * 0.8)));
  });

/** Deploys, and removes the deployment again or leaves it to be replaced. */
const deploy = (remove: boolean): Command =>
  command(remove ? 'deploy and remove' : 'deploy', 'up', async (model, real) => {
    const { device } = real.robot;
    const { id } = await device.deploy({ config_instances: [{ filepath: '/a', content: 'x' }] });
    if (remove) await device.remove(id);
    expect(device.port.active()).toHaveLength(remove ? 0 : 1);
    stored(model, real);
  });

const compact = command('compact', 'up', async (model, real) => {
  const { earliest_id, latest_id } = await real.robot.device.compact();
  expect(latest_id).toBe(model.highest);
  const kept = model.events.filter((id) => id >= earliest_id);
  if (model.events.length > 0) {
    expect(idsOnDisk(real)).toEqual(kept);
    expect(kept.length).toBeGreaterThan(0);
  }
});

/**
 * A new client without a cursor, or with one between 0 and a little more than the newest event (`at` is the fraction).
 */
const subscribe = (at: number | undefined, byHeader: boolean): Command => {
  const where = at === undefined ? 'live' : `at ${Math.round(at * 100)} % by ${byHeader ? 'header' : 'query'}`;
  return command(`subscribe ${where}`, 'up', async (model, real) => {
    const subscriber = { stream: undefined, after: 0, byHeader };
    real.subscribers.push(subscriber);
    await connect(real, subscriber, at === undefined ? undefined : Math.round(at * (model.highest + 2)));
  });
};

/** A client's connection breaks while events are published, and it comes back with its cursor. */
const cut = (which: number, meanwhile: number): Command =>
  command(`cut ${which}, publish ${meanwhile} meanwhile`, 'up', async (model, real) => {
    const subscriber = real.subscribers[which % Math.max(1, real.subscribers.length)];
    if (!subscriber?.stream) return;
    subscriber.stream.close();
    await subscriber.stream.ended;
    note(real, subscriber.stream);
    for (let published = 0; published < meanwhile; published += 1) {
      const { last_id } = await real.robot.device.publish(1);
      model.events.push(last_id);
      model.highest = last_id;
    }
    await connect(real, subscriber, cursorOf(subscriber));
  });

/** An orderly stop: accepted events are stored. */
const stop = command('stop', 'up', async (model, real) => {
  stored(model, real);
  await real.robot.device.stop();
  await wentDown(model, real);
});

/** SIGKILL some turns of the event loop after events began to be published. */
const kill = (counts: readonly number[], turns: number): Command =>
  command(`kill ${turns} turns after publishing ${counts.join(' and ')}`, 'up', async (model, real) => {
    const { device } = real.robot;
    const publishing = counts.map((count) => device.publish(count).catch(() => undefined));
    for (let at = 0; at < turns; at += 1) await turn();
    device.kill();
    await Promise.all(publishing);
    await wentDown(model, real);
  });

const DAMAGE = ['append half a line', 'cut the last line', 'delete the log'] as const;

/** Does to the log of an agent that is down what a crash of the machine, or a user, may do to it. */
const damage = (kind: (typeof DAMAGE)[number], fraction: number): Command =>
  command(`${kind} at ${Math.round(fraction * 100)} %`, 'down', async (model, real) => {
    const path = `${real.robot.dir}/events.jsonl`;
    if (!existsSync(path)) return;
    // Only the file tells what a kill has stored; perhaps no client has seen it.
    const onDisk = idsOnDisk(real);
    const last = onDisk.at(-1) ?? 0;
    const text = readFileSync(path);
    if (kind === 'delete the log') {
      rmSync(path);
      model.events = [];
    } else if (kind === 'append half a line') {
      const line = `{"object":"event","id":${last + 1},"type":"deployment.deployed","occurred_at":"x","data":{}}`;
      appendFileSync(path, line.slice(0, 1 + Math.floor(fraction * (line.length - 2))));
    } else if (text.at(-1) === 10) {
      const start = text.subarray(0, -1).lastIndexOf(10) + 1;
      // At least one byte stays: a line without any trace is the same as one that never was.
      truncateSync(path, start + 1 + Math.floor(fraction * (text.length - 3 - start)));
      model.events = model.events.filter((id) => id !== last);
    }
    model.highest = Math.max(model.highest, last);
  });

/** Every stored or seen event is there again under its id, no id is assigned again, and every client comes back. */
const start = command('start', 'down', async (model, real) => {
  const { device } = real.robot;
  const newestSeen = Math.max(0, ...real.seen.keys());
  await device.start();
  model.up = true;
  const { earliestId, latestId, events } = device.stats();
  expect(latestId).toBeGreaterThanOrEqual(Math.max(model.highest, newestSeen));
  const retained = model.events.filter((id) => id >= earliestId);
  if (events > 0) {
    // Events that a kill interrupted may have been stored. If so they are there now, and stay.
    const replay = await real.robot.listen(`?after=${earliestId - 1}`);
    await replay.until(() => replay.comments.length > 0);
    await device.publish(1);
    await replay.reach(device.stats().latestId);
    const { ids } = replay;
    expect(ids.slice(0, retained.length)).toEqual(retained);
    const late = ids.slice(retained.length);
    expect(late.every((id, at) => id > (late[at - 1] ?? retained.at(-1) ?? 0))).toBe(true);
    expect(late.at(-1)).toBeGreaterThan(Math.max(model.highest, newestSeen));
    replay.close();
    await replay.ended;
    model.events.push(...late);
  }
  model.highest = device.stats().latestId;
  for (const subscriber of real.subscribers) await connect(real, subscriber, subscriber.after);
});

/** Connects with a cursor, or without one; an expired cursor must be refused, any other must be served. */
async function connect(real: Real, subscriber: Subscriber, cursor: number | undefined): Promise<void> {
  const { earliestId, latestId } = real.robot.device.stats();
  const query = cursor === undefined || subscriber.byHeader ? '' : `?after=${cursor}`;
  const headers = cursor !== undefined && subscriber.byHeader ? { 'Last-Event-ID': String(cursor) } : {};
  const opening = real.robot.listen(query, headers);
  if (cursor !== undefined && cursor < earliestId - 1) {
    await expect(opening).rejects.toEqual(new Refused(410));
    // A client that is refused begins again without a cursor.
    await connect(real, subscriber, undefined);
    return;
  }
  subscriber.stream = await opening;
  subscriber.after = Math.min(cursor ?? latestId, latestId);
}

/** The cursor with which a client comes back. */
const cursorOf = ({ stream, after }: Subscriber): number => stream?.events.at(-1)?.id ?? after;

/** Every subscriber gets exactly the events that are due, with the content that every other client has seen. */
async function settle(model: Model, real: Real): Promise<void> {
  const { events } = model;
  if (!model.up) return;
  for (const { stream, after } of real.subscribers) {
    if (!stream) continue;
    const due = events.filter((id) => id > after);
    await stream.reach(due.at(-1) ?? 0);
    expect(stream.ids).toEqual(due);
    note(real, stream);
  }
  const { events: retained, earliestId, latestId } = real.robot.device.stats();
  expect(latestId).toBe(model.highest);
  expect(retained).toBeLessThanOrEqual(RETAIN);
  expect(retained).toBe(events.filter((id) => id >= earliestId).length);
}

/** Remembers what a stream has shown, which must be what was shown before. */
function note(real: Real, stream: EventStream): void {
  for (const { id, envelope } of stream.events) {
    const text = JSON.stringify(envelope);
    expect(real.seen.get(id) ?? text).toBe(text);
    real.seen.set(id, text);
  }
}

/** Adds to the model what a change of the device has stored. */
function stored(model: Model, real: Real): void {
  const { latestId } = real.robot.device.stats();
  for (let id = model.highest + 1; id <= latestId; id += 1) model.events.push(id);
  model.highest = latestId;
}

/** After the agent went down: subscribers keep their cursors. */
async function wentDown(model: Model, real: Real): Promise<void> {
  model.up = false;
  for (const subscriber of real.subscribers) {
    if (!subscriber.stream) continue;
    await subscriber.stream.ended;
    note(real, subscriber.stream);
    subscriber.after = cursorOf(subscriber);
    subscriber.stream = undefined;
  }
}

/** Ids of the lines in the log that are events. */
function idsOnDisk({ robot: { dir } }: Real): number[] {
  const lines = readFileSync(`${dir}/events.jsonl`, 'utf8').split('\n').slice(0, -1);
  return lines.flatMap((line) => {
    try {
      return [(JSON.parse(line) as { id: number }).id];
    } catch {
      return [];
    }
  });
}

const counts = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 });
const fraction = fc.double({ min: 0, max: 1, noNaN: true });

const COMMANDS: fc.Arbitrary<Command>[] = [
  counts.map(publish),
  counts.map(publish),
  fc.boolean().map(deploy),
  fc.constant(compact),
  fc.tuple(fc.option(fraction, { nil: undefined }), fc.boolean()).map(([at, byHeader]) => subscribe(at, byHeader)),
  fc.tuple(fc.nat({ max: 9 }), fc.nat({ max: 5 })).map(([which, meanwhile]) => cut(which, meanwhile)),
  fc.constant(stop),
  fc.tuple(counts, fc.nat({ max: 6 })).map(([list, turns]) => kill(list, turns)),
  fc.tuple(fc.constantFrom(...DAMAGE), fraction).map(([kind, at]) => damage(kind, at)),
  fc.constant(start),
  fc.constant(start),
  fc.constant(start),
];

/** Runs commands on a device with these options; `onCommand` is called for each. */
export const modelProperty = (options: Partial<DeviceOptions>, onCommand = () => {}, streamTimeoutMs?: number) =>
  fc.asyncProperty(fc.commands(COMMANDS, { maxCommands: 60, size: 'max' }), async (list) => {
    await using on = await robot({ retain: RETAIN, ...options }, streamTimeoutMs);
    const real: Real = { robot: on, subscribers: [], seen: new Map() };
    const model: Model = { up: true, events: [], highest: 0 };
    const counted = Array.from(list, (one): Command => {
      const run = (...args: [Model, Real]) => {
        onCommand();
        return one.run(...args);
      };
      return { check: (state) => one.check(state), run, toString: () => one.toString() };
    });
    await fc.asyncModelRun(() => ({ model, real }), counted);
  });
