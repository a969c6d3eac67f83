/**
 * The event log as the specification describes it: events in order, the oldest of which may be gone, and clients that
 * have read up to some event. With the commands that act on a device and on the model, and compare the two.
 */

import fc, { type AsyncCommand } from 'fast-check';
import { defined } from '../../../harness/common/defined.ts';
import type { StopSignal } from '../../../harness/contract/control.ts';
import { always, command } from '../../commands.ts';
import { type Device, relocate } from '../support/check.ts';
import { compact } from '../support/compaction.ts';
import { type Published, publish, readUpTo } from '../support/drive.ts';
import { expectSameEvents, type SeenEvent } from '../support/events.ts';
import { EVENTS_OF_A_DEPLOYMENT } from '../support/log-state.ts';
import { isThrottled } from '../support/requests.ts';
import { mayBeGone } from '../support/retention.ts';
import { describeOpen, type Streams } from '../support/streams.ts';
import type { Subscription } from '../support/subscription.ts';

export interface LogModel {
  /** The event after which the run began. */
  origin: bigint;
  /** How many events a run may make without the log being compacted by itself. */
  capacity: number;
  /** All events of this run, oldest first, as the witness saw them. */
  events: SeenEvent[];
  /** Newest id, or the origin. */
  newest: bigint;
  /** Ids that are certainly gone, in order. */
  gone: bigint[];
  /** Clients that are connected. */
  clients: Client[];
  restarts: number;
}

interface Client {
  name: string;
  subscription: Subscription;
  /** It has asked for the events after this id. */
  cursor: bigint;
  /**
   * The log was compacted before it had read all: the device may end its stream, so that it comes back and gets 410.
   */
  mayEnd: boolean;
}

export interface LogReality {
  t: Device;
  streams: Streams;
  /** The client that is always connected; opened again after a restart. */
  witness: Subscription;
}

type LogCommand = AsyncCommand<LogModel, LogReality>;

const MOST_CLIENTS = 6;
/** In one run: they take far longer than all else. */
const MOST_RESTARTS = 2;

const hasRestarts = ({ restarts }: Readonly<LogModel>): boolean => restarts < MOST_RESTARTS;
const hasClients = ({ clients }: Readonly<LogModel>): boolean => clients.length > 0;
const hasRoomFor =
  (count: number) =>
  ({ events, capacity }: Readonly<LogModel>): boolean =>
    events.length + count <= capacity;

const publishSome = (count: number): LogCommand =>
  command(`publish(${count})`, hasRoomFor(count), async (model, real) => {
    await witness(model, real, await publish(real.t, count));
  });

/** Its events have come once the event that is published after them has. */
const deploy = (): LogCommand =>
  command('deploy()', hasRoomFor(EVENTS_OF_A_DEPLOYMENT), async (model, real) => {
    await real.t.control.deploy();
    await witness(model, real, await publish(real.t, 1));
  });

/** A client that has seen everything up to some event, which may be gone. */
const connect = (at: number, byHeader: boolean): LogCommand =>
  command(
    `connect(after event #${at}, ${byHeader ? 'by header' : 'by query'})`,
    ({ clients }) => clients.length < MOST_CLIENTS,
    async (model, real) => {
      const cursor = nth([...model.events.map(({ id }) => id), ...model.gone], at) ?? model.newest;
      await connectClient(model, real, `client at ${cursor}`, cursor, byHeader);
    },
  );

/** A client reads up to the newest event: it gets everything after its cursor, in order, as the witness saw it. */
const read = (which: number): LogCommand =>
  command(`read(client #${which})`, hasClients, async (model, { t }) => {
    const client = nth(model.clients, which);
    if (client === undefined) return;
    const { subscription, cursor, name, mayEnd } = client;
    const due = model.events.filter(({ id }) => id > cursor);
    const known = (events: readonly SeenEvent[]) => events.filter(({ id }) => id <= model.newest);
    if (mayEnd) {
      const came = await subscription.drain(model.newest);
      removeClient(model, client);
      const { by } = subscription.stream.ended ?? {};
      if (by !== 'server' && by !== 'error') expectSameEvents(t, known(came), due, name);
      return;
    }
    if (lastSeen(client) < model.newest) await subscription.reach(model.newest);
    expectSameEvents(t, known(subscription.events), due, name);
  });

/** A client is cut off, and comes back with the last id it saw. */
const reconnect = (which: number, byHeader: boolean): LogCommand =>
  command(`reconnect(client #${which}, ${byHeader ? 'by header' : 'by query'})`, hasClients, async (model, real) => {
    const client = nth(model.clients, which);
    if (client === undefined) return;
    await client.subscription.close();
    removeClient(model, client);
    const cursor = lastSeen(client);
    await connectClient(model, real, `${client.name}, back at ${cursor}`, cursor, byHeader);
  });

/** Events before the earliest retained one are gone; connected clients lose nothing that they have not seen. */
const compactLog = (): LogCommand =>
  command('compact()', always, async (model, real) => {
    const t: Device = real.t;
    const { earliest } = await compact(t);
    const known = [model.origin, ...model.gone, ...model.events.map(({ id }) => id)];
    model.gone = [...new Set(known.filter((id) => id < earliest))].sort((a, b) => Number(a - b));
    for (const client of model.clients) client.mayEnd ||= lastSeen(client) < model.newest;
    if (t.info.compact_restarts === true) await comeBack(model, real);
  });

/** The agent ends, in order or killed, and comes back: every event that was seen is still there. */
const restart = (signal: StopSignal): LogCommand =>
  command(`restart(${signal})`, hasRestarts, async (model, real) => {
    const { t } = real;
    model.restarts += 1;
    await t.control.stop(signal);
    await t.control.start();
    await comeBack(model, real);
  });

/** The agent was restarted: every client is cut off, and the witness comes back with the last id it saw. */
async function comeBack(model: LogModel, real: LogReality): Promise<void> {
  const { t, streams } = real;
  streams.use(await relocate(t));
  model.clients.length = 0;
  const options = { after: model.newest };
  // With everything compacted away, the newest id may be expired too; nothing has happened that could be missed.
  const stream = fate(model, model.newest) === 'served' ? undefined : await streams.try(options);
  real.witness =
    stream?.status === 200 ? streams.follow(stream) : await streams.open(stream?.status === 410 ? {} : options);
}

const index = fc.nat({ max: 30 });

const USUAL = [
  fc.integer({ min: 1, max: 6 }).map(publishSome),
  fc.constant(deploy()),
  fc.tuple(index, fc.boolean()).map(([at, byHeader]) => connect(at, byHeader)),
  index.map(read),
  fc.tuple(index, fc.boolean()).map(([client, byHeader]) => reconnect(client, byHeader)),
];

const DISRUPTIVE = [
  fc.constant(compactLog()),
  // Twice, so that few histories go without.
  fc.constant(restart('SIGTERM')),
  fc.constant(restart('SIGKILL')),
];

interface Options {
  /** With compaction and restarts, or without. */
  disruptive: boolean;
  replayPath: string | undefined;
}

export const logCommands = ({ disruptive, replayPath }: Options) =>
  fc.commands(disruptive ? [...USUAL, ...DISRUPTIVE] : USUAL, {
    maxCommands: 16,
    ...defined({ replayPath }),
  });

const nth = <T>(items: readonly T[], which: number): T | undefined => items[which % Math.max(1, items.length)];

const lastSeen = ({ subscription, cursor }: Client): bigint => subscription.events.at(-1)?.id ?? cursor;

const removeClient = (model: LogModel, client: Client): void => {
  model.clients.splice(model.clients.indexOf(client), 1);
};

/** Adds to the model what the witness sees, up to the published events. */
async function witness(model: LogModel, real: LogReality, published: Published): Promise<void> {
  const t: Device = real.t;
  const seen = await readUpTo(real.witness, published);
  const fresh = seen.filter(({ id }) => id > model.newest);
  t.must(fresh.length >= published.count, {
    expected: `${published.count} new events, with ids above ${model.newest}`,
    actual: `${fresh.length} in ${seen.length} events, the last ${seen.at(-1)?.id}`,
  });
  model.events.push(...fresh);
  model.newest = model.events.at(-1)?.id ?? model.newest;
}

/** Whether a cursor must be served, must be refused, or may be either. */
function fate(model: LogModel, cursor: bigint): 'served' | 'expired' | 'either' {
  const lastGone = model.gone.at(-1);
  if (lastGone === undefined || cursor > lastGone) return 'served';
  // No event after the last one that is gone is lost, so a device may serve it as a cursor.
  return cursor === lastGone ? 'either' : 'expired';
}

/** Connects a client: its cursor is served or refused as the model says. */
async function connectClient(
  model: LogModel,
  real: LogReality,
  name: string,
  cursor: bigint,
  byHeader: boolean,
): Promise<void> {
  const t: Device = real.t;
  const options = byHeader ? { lastEventId: cursor } : { after: cursor };
  const stream = await real.streams.try(options);
  // The device may serve no more streams beside those of the other clients.
  if (isThrottled(stream) && model.clients.length > 0) return stream.close();
  const known = fate(model, cursor);
  // A small log may have been compacted by itself.
  const due = known === 'served' && stream.status === 410 && mayBeGone(t, options) ? 'either' : known;
  const allowed = due === 'either' ? [200, 410] : due === 'served' ? [200] : [410];
  t.must(allowed.includes(stream.status), {
    expected:
      `${allowed.join(' or ')} for ` +
      `${describeOpen(options)}${due === 'expired' ? `; events up to ${model.gone.at(-1)} are compacted away` : ''}`,
    actual: stream.status,
  });
  if (stream.status !== 200) return stream.close();
  model.clients.push({ name, subscription: real.streams.follow(stream), cursor, mayEnd: false });
}
