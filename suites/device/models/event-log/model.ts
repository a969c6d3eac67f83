/** The event log as the specification has it: events in order, the oldest of which may be gone, and clients somewhere in it. */
import type { HttpClient } from '../../../../harness/client/http.ts';
import { puttingOff } from '../../support/busy.ts';
import type { Device } from '../../support/context.ts';
import { follow, type Published } from '../../support/drive.ts';
import type { SeenEvent } from '../../support/events.ts';
import { relocate } from '../../support/restart.ts';
import { describeOpen, type Streams, type Subscription } from '../../support/streams.ts';

export interface LogModel {
  /** The event that the run began after. */
  origin: bigint;
  /** Events that a run may make without the log being compacted behind its back. */
  capacity: number;
  /** Everything since the beginning of this run, oldest first, as a client that was always there saw it. */
  events: SeenEvent[];
  /** Newest id, or the origin. */
  newest: bigint;
  /** Ids that are certainly gone, in order. */
  gone: bigint[];
  /** Clients that are connected. */
  clients: Client[];
}

export interface Client {
  name: string;
  subscription: Subscription;
  /** It has asked for what lies after this id. */
  cursor: bigint;
  /** The log was compacted while it had still to read: its stream may have been ended, so that it comes back and is told. */
  mayEnd: boolean;
}

export interface LogReality {
  context: Device;
  streams: Streams;
  /** The client that is always there; opened again after a restart. */
  witness: Subscription;
}

export const nth = <T>(items: readonly T[], which: number): T | undefined => items[which % Math.max(1, items.length)];

/** Takes into the model what the witness sees, up to the published events. */
export async function witness(model: LogModel, real: LogReality, published: Published): Promise<void> {
  const context: Device = real.context;
  const seen = await follow(real.witness, published);
  const fresh = seen.filter(({ id }) => id > model.newest);
  context.must(fresh.length >= published.count, {
    expected: `${published.count} new events, with ids above ${model.newest}`,
    actual: `${fresh.length} in ${seen.length} events, the last ${seen.at(-1)?.id}`,
  });
  model.events.push(...fresh);
  model.newest = model.events.at(-1)?.id ?? model.newest;
}

/** Whether a cursor must be served, must be refused, or may be either. */
export function fate(model: LogModel, cursor: bigint): 'served' | 'expired' | 'either' {
  const lastGone = model.gone.at(-1);
  // With nothing lost after it, the cursor just before the earliest event may be read either way.
  if (lastGone === undefined || cursor > lastGone) return 'served';
  return cursor === lastGone ? 'either' : 'expired';
}

/** Connects a client, and judges whether the cursor was rightly served or refused. */
export async function connect(
  model: LogModel,
  real: LogReality,
  name: string,
  cursor: bigint,
  byHeader: boolean,
): Promise<void> {
  const context: Device = real.context;
  const options = byHeader ? { lastEventId: cursor } : { after: cursor };
  const stream = await real.streams.try(options);
  // Beside the clients that are there no more may be served at once.
  if (puttingOff(stream.status) && model.clients.length > 0) return stream.close();
  const due = fate(model, cursor);
  const right = due === 'either' ? [200, 410] : due === 'served' ? [200] : [410];
  context.must(right.includes(stream.status), {
    expected: `${right.join(' or ')} for ${describeOpen(options)}${due === 'expired' ? `; events up to ${model.gone.at(-1)} are compacted away` : ''}`,
    actual: stream.status,
  });
  if (stream.status !== 200) return stream.close();
  model.clients.push({ name, subscription: real.streams.follow(stream), cursor, mayEnd: false });
}

/** After the agent has been down: everybody is cut off, and the witness comes back with the last id it saw. */
export async function comeBack(model: LogModel, real: LogReality): Promise<void> {
  const http: HttpClient = await relocate(real.context);
  real.streams.use(http);
  model.clients.length = 0;
  const options = { after: model.newest };
  // With everything compacted away, the newest id may be read as expired too; nothing has happened that could be missed.
  const stream = fate(model, model.newest) === 'either' ? await real.streams.try(options) : undefined;
  if (stream?.status === 200) real.witness = real.streams.follow(stream);
  else real.witness = await real.streams.open(stream?.status === 410 ? {} : options);
}
