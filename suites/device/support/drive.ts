/** Publishes events; each check follows its own events by id, because other checks publish too. */

import { isObject } from '../../../harness/common/lenient.ts';
import type { Deployment } from '../../../harness/contract/device-api.ts';
import { Fact } from '../../../harness/runner/session.ts';
import { Violation } from '../../../harness/runner/violation.ts';
import { ControlRefused } from '../../../harness/targets/control/control.ts';
import { type Device, ignoring, recordTimeout } from './check.ts';
import { carriesNoEvent, type SeenEvent } from './events.ts';
import { LOG_STATE } from './log-state.ts';
import { isEventStream } from './requests.ts';
import { eventsAfter, mostEvents, retainedFrom } from './retention.ts';
import type { Streams } from './streams.ts';
import type { Probe, Subscription } from './subscription.ts';

export interface Published {
  first: bigint;
  last: bigint;
  count: number;
  /** Milliseconds of `performance.now()` at control's answer. */
  at: number;
}

export async function publish(t: Device, count: number): Promise<Published> {
  const reason = t.session.whyTooMuch('event', count, t.runTimeLeftMs());
  if (reason !== undefined) t.blocked(reason);
  return publishUnread(t, count);
}

/** Publishes even if streams are slow: for a few events, or for events that no check reads. */
export async function publishUnread(t: Device, count: number): Promise<Published> {
  const { first_id, last_id } = await t.control.publish(count);
  return { first: BigInt(first_id), last: BigInt(last_id), count, at: performance.now() };
}

/**
 * Opens a stream after a new event, because compaction may have removed earlier cursors. On a slow device, reuses the
 * last published event.
 */
export async function subscribeAtKnownCursor(
  t: Device,
  streams: Streams,
): Promise<{ cursor: bigint; live: Subscription }> {
  const { newest, changedAt } = t.session.get(LOG_STATE);
  const isKept = newest !== undefined && newest > changedAt && eventsAfter(t, newest) <= mostEvents(t);
  if (isKept && t.session.publishesSlowly) {
    const stream = await streams.try({ after: newest });
    if (stream.status === 200 && isEventStream(stream)) return { cursor: newest, live: streams.follow(stream) };
    // Publishes an event below, because control may have named a wrong id in an earlier check.
    await stream.close();
  }
  const { last } = await publish(t, 1);
  return { cursor: last, live: await streams.open({ after: last }) };
}

/** Reads up to the last event. On a silent stream, the arrival of an extra event proves the missing one lost. */
export async function readUpTo(subscription: Subscription, published: Published): Promise<SeenEvent[]> {
  const t: Device = subscription.device;
  const { first, last } = published;
  const what = `the published events ${first} to ${last}`;
  const probe = makeProbe(t);
  const seen = await subscription.reach(last, what, probe);
  const came = subscription.events;
  const arrived = probe.published === undefined || came.some(({ id }) => id === last);
  if (!arrived) recordTimeout(t, 'event');
  t.must(arrived, {
    expected: `${what}, on an open stream`,
    actual: `event ${seen.at(-1)?.id}, which was published after them, and not ${last}`,
  });
  const batch = came.filter(({ id }) => id >= first && id <= last);
  const from = Math.max(published.at, batch.at(0)?.frame.at ?? 0);
  const until = batch.at(-1)?.frame.at ?? 0;
  if (batch.length > 1 && until > from) t.session.took('event', (until - from) / (batch.length - 1));
  return seen;
}

export async function readUpToDeployed(
  subscription: Subscription,
  { id, activity_status }: Deployment,
): Promise<SeenEvent> {
  const t: Device = subscription.device;
  // Sends no extra event for an unfinished deployment, because its own event may come much later.
  const probe = activity_status === 'deployed' ? makeProbe(t, t.patienceMs / 4) : undefined;
  const what = `deployment.deployed of ${id}`;
  const seen = await subscription.until((event) => isDeployedEvent(event, id), what, probe, 'deployed');
  return seen.at(-1) ?? t.blocked(`${what} was not read`);
}

function makeProbe(t: Device, graceMs = 0): Probe {
  const probe: Probe = {
    published: undefined,
    id: undefined,
    graceMs,
    send: () => {
      probe.published ??= publishUnread(t, 1).then(
        ({ last }) => (probe.id = last),
        // A failure of control proves nothing about the awaited event.
        () => undefined,
      );
    },
  };
  return probe;
}

/** Judges a live stream and a replay; lost events fail the check only if both are empty. */
export async function expectOnLiveAndReplay(
  t: Device,
  streams: Streams,
  publishLast: () => Promise<Published>,
  expectAll: (t: Device, subscription: Subscription) => void,
): Promise<void> {
  const { live, cursor } = await subscribeAtKnownCursor(t, streams);
  const { last: id } = await publishEveryEventKind(t);
  const replay = await streams.openAnother({ after: retainedFrom(t, cursor, [{ id }]) });
  const both = replay === undefined ? [live] : [live, replay];
  const published = await publishLast();
  const read = await Promise.allSettled(both.map((each) => readUpTo(each, published)));
  const problems = read.flatMap(({ status, ...settled }) => ('reason' in settled ? [settled.reason] : []));
  const other = problems.find((problem) => !(problem instanceof Violation));
  if (other !== undefined) throw other;
  for (const subscription of both) expectAll(t, subscription);
  const came = both.some(({ stream }) => [...stream.frames].some((frame) => !carriesNoEvent(frame)));
  if (!came && problems.length > 0) throw problems[0];
}

export function eventBudget(t: Device, wanted: number): number {
  const { session } = t;
  const eachMs = Math.max(session.typicalMs('event'), session.isSlow('publish') ? session.typicalMs('publish') : 0);
  return Math.max(1, Math.min(wanted, mostEvents(t), countWithin(wanted, eachMs, 1500)));
}

/** Number of events that fit into `withinMs`; at least 2, because one event has no order. */
export const countWithin = (wanted: number, eachMs: number, withinMs: number): number =>
  eachMs * wanted <= withinMs ? wanted : Math.max(2, Math.floor(withinMs / eachMs));

export function payloadOf(event: SeenEvent): Record<string, unknown> {
  const data = event.envelope?.['data'];
  return isObject(data) ? data : {};
}

export const isDeployedEvent = (event: SeenEvent, deploymentId: string): boolean =>
  event.type === 'deployment.deployed' && payloadOf(event)['deployment_id'] === deploymentId;

export async function publishEveryEventKind(t: Device): Promise<Published> {
  const isKnown = t.session.publishesSlowly && t.session.get(EVERY_KIND).published;
  if (isKnown || t.session.isSlow('event', 'deployment')) return publish(t, 2);
  const { first } = await publish(t, 1);
  const one = await t.control.deploy();
  const other = await t.control.deploy();
  // Ignores a refusal, because the second deployment may have replaced the first.
  await t.control.remove(one.id).catch(ignoreRefusal);
  await t.control.remove(other.id).catch(ignoreRefusal);
  const { last, at } = await publish(t, 1);
  t.session.get(EVERY_KIND).published = true;
  return { first, last, count: 4, at };
}

const EVERY_KIND = new Fact(() => ({ published: false }));

export const ignoreRefusal = ignoring(ControlRefused);
