/** Making events happen. Foreign events may come at any time, so a check follows its own by id. */
import type { ControlDeployment } from '../../../harness/contract/control.ts';
import { ControlError } from '../../../harness/targets/control/control.ts';
import type { Device } from './context.ts';
import type { SeenEvent } from './events.ts';
import type { Streams, Subscription } from './streams.ts';

export interface Published {
  first: bigint;
  last: bigint;
  count: number;
}

export async function publish(context: Device, count: number): Promise<Published> {
  const { first_id, last_id } = await context.control.publish(count);
  return { first: BigInt(first_id), last: BigInt(last_id), count };
}

/**
 * Publishes one event, and gives back a cursor that certainly is served: the id of that event. The id before it would not do,
 * since a cursor older than the earliest retained event is refused.
 */
export async function anchor(context: Device, streams: Streams): Promise<{ cursor: bigint; live: Subscription }> {
  const { last } = await publish(context, 1);
  return { cursor: last, live: await streams.open({ after: last }) };
}

/** Reads up to the last of the published events. */
export function follow(subscription: Subscription, published: Published, within?: number): Promise<SeenEvent[]> {
  const { first, last } = published;
  return subscription.reach(last, `the published events ${first} to ${last}`, within);
}

/** Has the log compacted; the first id that is retained, and the newest there is. Above the newest, nothing is retained. */
export async function compact(context: Device): Promise<{ earliest: bigint; latest: bigint }> {
  const { earliest_id, latest_id } = await context.control.compact();
  return { earliest: BigInt(earliest_id), latest: BigInt(latest_id) };
}

/** How many events a check may publish without the log being compacted behind its back. */
export function room(context: Device, wanted: number): number {
  return Math.max(1, Math.min(wanted, Math.floor((context.info.retention ?? 200) / 4)));
}

/** Deploys and reads up to its `deployment.deployed`. */
export async function deploy(
  context: Device,
  subscription: Subscription,
  request: ControlDeployment = {},
): Promise<{ id: string; event: SeenEvent; before: SeenEvent[] }> {
  const { id } = await context.control.deploy(request);
  const seen = await subscription.until((event) => isDeployed(event, id), `deployment.deployed of ${id}`);
  const event = seen.pop();
  if (event === undefined) return context.blocked('the stream gave nothing');
  return { id, event, before: seen };
}

export const payloadOf = (event: SeenEvent): Record<string, unknown> => {
  const data = event.envelope?.['data'];
  return typeof data === 'object' && data !== null ? (data as Record<string, unknown>) : {};
};

export const isDeployed = (event: SeenEvent, deploymentId: string): boolean =>
  event.type === 'deployment.deployed' && payloadOf(event)['deployment_id'] === deploymentId;

/** Makes an event of every kind that control knows of, and one more at the end by which the others have come. */
export async function stir(context: Device): Promise<Published> {
  const { first } = await publish(context, 1);
  const one = await context.control.deploy();
  const other = await context.control.deploy();
  await context.control.remove(one.id).catch(ignoreRefusal);
  await context.control.remove(other.id).catch(ignoreRefusal);
  const { last } = await publish(context, 1);
  return { first, last, count: 4 };
}

/** A deployment that another has replaced may be gone already. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof ControlError)) throw error;
}
