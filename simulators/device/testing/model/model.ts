/** What must be true of an agent and its log, whatever is done to them. */
import { readFileSync } from 'node:fs';
import type { AsyncCommand } from 'fast-check';
import { expect } from 'vitest';
import type { Robot } from '../robot.ts';
import { type EventStream, Refused } from '../stream.ts';

export interface Model {
  up: boolean;
  /** Ids of the events that were stored, oldest first; those from the earliest retained one on are in the log. */
  events: number[];
  /** No id up to this one may be given out again. */
  highest: number;
  retain: number;
}

export interface Real {
  robot: Robot;
  subscribers: Subscriber[];
  /** Envelope of each event as it was first seen, by anyone. */
  seen: Map<number, string>;
}

/** A client that comes back with its cursor whenever its stream ends. */
export interface Subscriber {
  /** Undefined while it is not connected. */
  stream: EventStream | undefined;
  /** Events after this id are due on the stream. */
  after: number;
  byHeader: boolean;
}

export type Command = AsyncCommand<Model, Real>;

/** Connects with a cursor, or without one; a cursor that is expired must be refused, any other must be served. */
export async function connect(real: Real, subscriber: Subscriber, cursor: number | undefined): Promise<void> {
  const { earliestId, latestId } = real.robot.device.stats();
  const query = cursor === undefined || subscriber.byHeader ? '' : `?after=${cursor}`;
  const headers = cursor !== undefined && subscriber.byHeader ? { 'Last-Event-ID': String(cursor) } : {};
  const opening = real.robot.listen(query, headers);
  if (cursor !== undefined && cursor < earliestId - 1) {
    await expect(opening).rejects.toEqual(new Refused(410));
    // Whoever is refused starts afresh.
    await connect(real, subscriber, undefined);
    return;
  }
  subscriber.stream = await opening;
  subscriber.after = Math.min(cursor ?? latestId, latestId);
}

/** The cursor with which a client comes back. */
export const cursorOf = ({ stream, after }: Subscriber): number => stream?.events.at(-1)?.id ?? after;

/** Every subscriber has, or gets, exactly what is due, as everyone else has seen it. */
export async function settle(model: Model, real: Real): Promise<void> {
  const { events } = model;
  for (const { stream, after } of real.subscribers) {
    if (!stream || !model.up) continue;
    const due = events.filter((id) => id > after);
    await stream.reach(due.at(-1) ?? 0);
    expect(stream.ids).toEqual(due);
    note(real, stream);
  }
  if (!model.up) return;
  const { events: retained, earliestId, latestId } = real.robot.device.stats();
  expect(latestId).toBe(model.highest);
  expect(retained).toBeLessThanOrEqual(model.retain);
  expect(retained).toBe(events.filter((id) => id >= earliestId).length);
}

/** Remembers what a stream has shown, and that it is what was shown before. */
export function note(real: Real, stream: EventStream): void {
  for (const { id, envelope } of stream.events) {
    const text = JSON.stringify(envelope);
    expect(real.seen.get(id) ?? text).toBe(text);
    real.seen.set(id, text);
  }
}

/** What a change of the device has stored. */
export function stored(model: Model, real: Real): void {
  const { latestId } = real.robot.device.stats();
  for (let id = model.highest + 1; id <= latestId; id += 1) model.events.push(id);
  model.highest = latestId;
}

/** After the agent went down: subscribers keep their cursors. */
export async function wentDown(model: Model, real: Real): Promise<void> {
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
export function idsOnDisk({ robot }: Real): number[] {
  const lines = readFileSync(`${robot.dir}/events.jsonl`, 'utf8').split('\n').slice(0, -1);
  return lines.flatMap((line) => {
    try {
      return [(JSON.parse(line) as { id: number }).id];
    } catch {
      return [];
    }
  });
}
