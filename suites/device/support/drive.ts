/**
 * Makes events happen. Other events may come at any time, so a check follows its own by their
 * ids.
 */
import type { ControlDeployment } from '../../../harness/contract/control.ts';
import type { Deployment } from '../../../harness/contract/device-api.ts';
import { Fact } from '../../../harness/runner/session.ts';
import { Violation } from '../../../harness/runner/violation.ts';
import { ControlRefused } from '../../../harness/targets/control/control.ts';
import { type Device, recordTimeout } from './check.ts';
import { carriesNoEvent, type SeenEvent } from './events.ts';
import { LOG_STATE } from './log-state.ts';
import { isObject } from './requests.ts';
import { eventsAfter, mostEvents } from './retention.ts';
import type { Streams } from './streams.ts';
import type { Question, Subscription } from './subscription.ts';

export interface Published {
  first: bigint;
  last: bigint;
  count: number;
  /** When control had answered, milliseconds of `performance.now()`. */
  at: number;
}

/** Publishes events, to be read on a stream: blocks the check at once when there is no time left for that. */
export async function publish(t: Device, count: number): Promise<Published> {
  const reason = t.session.whyTooMuch('event', count, t.remainingMs());
  if (reason !== undefined) t.blocked(reason);
  return publishUnread(t, count);
}

/** Publishes events that only have to be in the log. */
export async function publishUnread(t: Device, count: number): Promise<Published> {
  const { first_id, last_id } = await t.control.publish(count);
  return { first: BigInt(first_id), last: BigInt(last_id), count, at: performance.now() };
}

/**
 * Publishes one event and subscribes after it: its id is a cursor that is certainly served. The id before it is not,
 * since it may be older than the earliest retained event. Where events are published slowly, the last one that a check
 * published will do.
 */
export async function subscribeAtKnownCursor(
  t: Device,
  streams: Streams,
): Promise<{ cursor: bigint; live: Subscription }> {
  const known = t.session.isMostlySlow('publish') ? t.session.get(LOG_STATE).knownCursor : undefined;
  const isKept = known !== undefined && eventsAfter(t, known) <= mostEvents(t);
  const last = isKept ? known : (await publish(t, 1)).last;
  return { cursor: last, live: await streams.open({ after: last }) };
}

/**
 * Reads up to the last of the published events. When nothing comes for a while, one more event is published: where that
 * one comes and the last of the others has not, it is lost, and nobody has to wait for it.
 */
export async function readUpTo(subscription: Subscription, published: Published): Promise<SeenEvent[]> {
  const t: Device = subscription.device;
  const { first, last } = published;
  const what = `the published events ${first} to ${last}`;
  const question = oneMore(t);
  const seen = await subscription.reach(last, what, question);
  const came = subscription.events;
  const arrived = !question.asked || came.some(({ id }) => id === last);
  if (!arrived) recordTimeout(t, 'event');
  t.must(arrived, {
    expected: `${what}, on an open stream`,
    actual: `event ${seen.at(-1)?.id}, which was published after them, and not ${last}`,
  });
  measurePace(t, published, came);
  return seen;
}

/**
 * Reads up to the `deployment.deployed` of a deployment. Once a later event has come, it is not waited for much longer.
 */
export function readUpToDeployed(
  subscription: Subscription,
  { id, activity_status }: Deployment,
): Promise<SeenEvent[]> {
  const t: Device = subscription.device;
  // The event of a deployment that is not deployed yet may come much later.
  const question = activity_status === 'deployed' ? oneMore(t, t.patienceMs / 4) : undefined;
  return subscription.until(
    (event) => isDeployedEvent(event, id),
    `deployment.deployed of ${id}`,
    question,
    'deployed',
  );
}

function oneMore(t: Device, graceMs = 0): Question {
  const question: Writable<Question> = {
    asked: false,
    id: undefined,
    graceMs,
    ask: () => {
      if (question.asked) return;
      question.asked = true;
      publishUnread(t, 1).then(
        ({ last }) => {
          question.id = last;
        },
        // Trouble with control decides nothing: then the wait goes on.
        () => {},
      );
    },
  };
  return question;
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

/** How far apart the events of one batch came. Where they had come before the last was published, that says nothing. */
function measurePace(t: Device, { first, last, at }: Published, came: readonly SeenEvent[]): void {
  const batch = came.filter(({ id }) => id >= first && id <= last);
  const from = Math.max(at, batch.at(0)?.frame.at ?? 0);
  const until = batch.at(-1)?.frame.at ?? 0;
  if (batch.length > 1 && until > from) t.session.took('event', (until - from) / (batch.length - 1));
}

/**
 * Reads up to the published events wherever they come. Whether all of them come is decided elsewhere, so the finding is
 * given back only when not one event has come on any of the streams.
 */
export async function readWhatComes(
  subscriptions: readonly Subscription[],
  published: Published,
): Promise<Violation | undefined> {
  const read = await Promise.allSettled(subscriptions.map((each) => readUpTo(each, published)));
  const problems = read.flatMap(({ status, ...settled }) => ('reason' in settled ? [settled.reason] : []));
  const other = problems.find((problem) => !(problem instanceof Violation));
  if (other !== undefined) throw other;
  const came = subscriptions.some(({ stream }) => [...stream.frames].some((frame) => !carriesNoEvent(frame)));
  return came ? undefined : problems[0];
}

/** Milliseconds that one batch of events may take. */
const BATCH_MS = 1500;

/**
 * As many of the `wanted` events as come soon, and as a check may publish without the log being compacted meanwhile. At
 * least 1.
 */
export function eventBudget(t: Device, wanted: number): number {
  const { session } = t;
  const eachMs = Math.max(session.typicalMs('event'), session.isSlow('publish') ? session.typicalMs('publish') : 0);
  return Math.max(1, Math.min(wanted, mostEvents(t), asMany(wanted, eachMs, BATCH_MS)));
}

/** How many of the `wanted` take no longer than `withinMs` together. At least 2, since one alone shows no order. */
export const asMany = (wanted: number, eachMs: number, withinMs: number): number =>
  eachMs * wanted <= withinMs ? wanted : Math.max(2, Math.floor(withinMs / eachMs));

/** Deploys and reads up to its `deployment.deployed`. */
export async function deploy(
  t: Device,
  subscription: Subscription,
  request: ControlDeployment = {},
): Promise<{ id: string; event: SeenEvent; before: SeenEvent[] }> {
  const made = await t.control.deploy(request);
  const { id } = made;
  const seen = await readUpToDeployed(subscription, made);
  const event = seen.pop();
  if (event === undefined) return t.blocked('the stream gave nothing');
  return { id, event, before: seen };
}

export function payloadOf(event: SeenEvent): Record<string, unknown> {
  const data = event.envelope?.['data'];
  return isObject(data) ? data : {};
}

/** Whether the event is `deployment.deployed` of that deployment. */
export const isDeployedEvent = (event: SeenEvent, deploymentId: string): boolean =>
  event.type === 'deployment.deployed' && payloadOf(event)['deployment_id'] === deploymentId;

/**
 * Makes an event of every kind that control can cause, between two published ones: once the last has come, so have the
 * others. A device that takes seconds for each gets the published ones alone.
 */
export async function publishEveryEventKind(t: Device): Promise<Published> {
  const isKnown = t.session.isMostlySlow('publish') && t.session.get(EVERY_KIND).published;
  if (isKnown || t.session.isSlow('event', 'deployment')) return publish(t, 2);
  const { first } = await publish(t, 1);
  const one = await t.control.deploy();
  const other = await t.control.deploy();
  // The second deployment may have replaced the first, so that it cannot be removed any more.
  await t.control.remove(one.id).catch(ignoreRefusal);
  await t.control.remove(other.id).catch(ignoreRefusal);
  const { last, at } = await publish(t, 1);
  t.session.get(EVERY_KIND).published = true;
  return { first, last, count: 4, at };
}

/** Rules judge every event of a run: where events take long, one check publishes every kind for all of them. */
const EVERY_KIND = new Fact(() => ({ published: false }));

/**
 * For what a device need not do, so that control may refuse it; any other error, such as control that fails, is thrown
 * on.
 */
export function ignoreRefusal(error: unknown): undefined {
  if (!(error instanceof ControlRefused)) throw error;
}
