/** Sections 6 and 6.2: several subscribers, slow readers, and the standard client `eventsource`. */
import type { ClientMessage, EventSourceClient } from '../../harness/client/eventsource.ts';
import { StreamTimeout } from '../../harness/client/sse.ts';
import { parseObject } from '../../harness/common/lenient.ts';
import { Fact } from '../../harness/runner/session.ts';
import { Violation } from '../../harness/runner/violation.ts';
import { byOracle } from './oracle/explore.ts';
import { type Device, inTime, LIVE, timeoutMs } from './support/check.ts';
import { eventBudget, publish, publishEveryEventKind, readUpTo, subscribeAtKnownCursor } from './support/drive.ts';
import { distinct, expectSameEvents, isId, type SeenEvent, sameEnvelope } from './support/events.ts';
import { fillingMs } from './support/replays.ts';
import { endIfGone, requireRoomFor } from './support/retention.ts';
import { PUBLISHING, section } from './support/section.ts';
import type { Streams } from './support/streams.ts';
import type { Subscription } from './support/subscription.ts';

export const { requirement, check, checks } = section({ section: '6', since: '2026-11-21' });

const concurrent = requirement({
  id: 'device.events.concurrent',
  level: 'MUST',
  clause: 'served by an agent running on the device, for clients on the same device',
  text: 'Simultaneous subscribers see the same sequence of events.',
});
byOracle(check, concurrent, { profile: 'core', least: 'publications to several' });

const slowReader = requirement({
  id: 'device.events.slow-reader',
  level: 'SHOULD',
  text: 'A subscriber that stops reading does not delay any other.',
});
const overfilling = { needs: ['drive'], premises: LIVE } as const;
check(slowReader, overfilling, async (t: Device, streams) => {
  const { cursor, live } = await subscribeAtKnownCursor(t, streams);
  await streams.open({ after: cursor, paused: true });
  const tooFew = await overfillBuffers(t, live).catch((error: unknown) => {
    if (error instanceof Violation) t.session.set(UNFILLED, DELAYS);
    throw error;
  });
  if (tooFew !== undefined) t.notApplicable(tooFew);
  t.session.set(HAS_DELAYED_NOBODY, true);
});

const UNFILLED = new Fact<string | undefined>(() => undefined);
const DELAYS = `a slow reader may delay others, which ${slowReader.id} judges`;
const HAS_DELAYED_NOBODY = new Fact(() => false);

async function overfillBuffers(t: Device, live: Subscription): Promise<string | undefined> {
  const { bufferBytes } = t.transport;
  const portion = eventBudget(t, 400);
  const isSmall = portion < 20;
  const started = performance.now();
  let [published, bytes] = [0, 0];
  for (; bytes < bufferBytes && published < 16_000; published += portion) {
    const longestMs = isSmall || t.session.publishesSlowly ? fillingMs(t) : 30_000;
    if (performance.now() - started > longestMs) {
      const speed = isSmall ? `${portion} at a time` : 'slowly';
      const reason = `events are published ${speed}, too slowly to fill buffers of ${bufferBytes} bytes`;
      t.session.set(UNFILLED, reason);
      t.notApplicable(reason);
    }
    const came = await readUpTo(live, await publish(t, portion));
    bytes += came.reduce((sum, { text }) => sum + text.length, 0);
  }
  if (bytes >= bufferBytes) return undefined;
  return `${published} events of ${bytes} bytes do not fill buffers of ${bufferBytes} bytes`;
}

const slowReaderComplete = requirement({
  id: 'device.events.slow-reader.complete',
  level: 'MUST',
  section: '6.2',
  clause: 'Delivery is at-least-once',
  text:
    'A subscriber that stops reading for a while misses no event: ' +
    'not while its stream goes on, and not when it is dropped and reconnects, unless it gets 410.',
});
check(slowReaderComplete, overfilling, async (t: Device, streams) => {
  const unfilled = t.session.get(UNFILLED);
  if (unfilled !== undefined) t.notApplicable(unfilled);
  const { cursor, live } = await subscribeAtKnownCursor(t, streams);
  const slow = await streams.open({ after: cursor, paused: true });
  const tooFew = await overfillBuffers(t, live).catch((error: unknown) => {
    if (!(error instanceof Violation)) throw error;
    if (!t.session.get(HAS_DELAYED_NOBODY)) t.notApplicable(DELAYS);
    // Only warns, because this slow reader may delay others, which device.events.slow-reader judges.
    t.should(false, error.finding);
  });
  await expectNoneMissed(t, streams, { cursor, live, slow });
  if (tooFew !== undefined) t.notApplicable(tooFew);
});

async function expectNoneMissed(
  t: Device,
  streams: Streams,
  { cursor, live, slow }: { cursor: bigint; live: Subscription; slow: Subscription },
): Promise<void> {
  const due = distinct(live.events);
  const last = due.at(-1)?.id ?? cursor;
  slow.stream.resume();
  const seen = await slow.drain(last);
  const dropped = slow.stream.ended?.by === 'server' || slow.stream.ended?.by === 'error';
  let from = cursor;
  for (const { id } of seen) if (id > from) from = id;
  t.observe('a subscriber that stops reading', dropped ? 'is dropped' : 'is waited for');
  if (dropped) t.note(`it was dropped after ${seen.length} of ${due.length} events`);
  const before = due.filter(({ id }) => id <= from);
  const where = 'a subscriber that stopped reading, as far as it read';
  expectSameEvents(t, upTo(seen, last), upTo(before, last), where);
  if (from >= last) return;
  const again = await streams.try({ after: from });
  if (again.status === 410 && dropped) return t.note('when it came back, the log had been compacted past it (410)');
  t.must(again.status === 200, {
    expected: `200 for a subscriber that stopped reading and comes back after event ${from}`,
    actual: again.status,
  });
  const published = { first: from + 1n, last, count: 1, at: performance.now() };
  const rest = await readUpTo(streams.follow(again), published);
  const all = upTo([...seen, ...rest], last);
  expectSameEvents(t, all, due, 'a subscriber that stopped reading for a while, and came back');
}

const upTo = (events: readonly SeenEvent[], last: bigint): SeenEvent[] => events.filter(({ id }) => id <= last);

const client = requirement({
  id: 'device.events.client',
  section: '6.2',
  level: 'MUST',
  clause: 'Delivery is at-least-once; after a reconnection the replay window may repeat events already seen.',
  text:
    'A standard EventSource client gets every event with its type and id, ' +
    'and after a broken connection resumes by Last-Event-ID without losing any.',
});
check(client, { ...PUBLISHING, profile: 'core', premises: LIVE }, async (t: Device, streams) => {
  requireRoomFor(t, 1);
  const { live } = await subscribeAtKnownCursor(t, streams);
  await publishEveryEventKind(t);
  const before = await publish(t, 1);
  await readUpTo(live, before);
  const types = [...new Set(['deployment.deployed', ...live.events.map(({ type }) => type)])];
  const source = streams.connect(types, before.last);
  try {
    const first = await firstMessage(t, source, before.last);
    await readUpTo(live, await publish(t, eventBudget(t, 5)));
    const expectNewest = async (): Promise<void> => {
      const newest = live.events.findLast(({ type }) => types.includes(type));
      if (newest !== undefined) await expectReceived(t, source, newest);
    };
    // Checks now, because a small log soon drops events that a slow client needs.
    await expectNewest();
    await source.cut(async () => readUpTo(live, await publish(t, eventBudget(t, 10))));
    await expectNewest();
    await publishEveryEventKind(t);
    await readUpTo(live, await publish(t, 1));
    const later = distinct(live.events).filter(({ id }) => id > BigInt(first.lastEventId));
    for (const event of later) if (types.includes(event.type)) await expectReceived(t, source, event);
  } finally {
    source.close();
  }
});

async function firstMessage(t: Device, source: EventSourceClient, lastEventId: bigint): Promise<ClientMessage> {
  // Time to connect in multiples of the run's patience; a busy machine connects late.
  const connectBy = performance.now() + 3 * t.patienceMs;
  let deadline: number | undefined;
  for (;;) {
    await publish(t, 1);
    try {
      return await source.until(() => true, { within: 500, for: 'a first event' });
    } catch (error) {
      if (!(error instanceof StreamTimeout)) throw error;
      if (source.closed) endIfGone(t, { lastEventId });
      if (source.connected) deadline ??= performance.now() + timeoutMs(t, 'event');
      t.must(!source.closed && performance.now() < (deadline ?? connectBy), {
        expected: 'an EventSource client that is connected gets the events that are published',
        actual: error.message,
      });
    }
  }
}

async function expectReceived(t: Device, source: EventSourceClient, event: SeenEvent): Promise<void> {
  const what = `event ${event.id} (${event.type})`;
  const isSame = (message: ClientMessage): boolean =>
    isId(message.lastEventId, event.id) &&
    message.type === event.type &&
    sameEnvelope(parseObject(message.data), event.envelope);
  const received = inTime(t, 'event', (within) => source.until(isSame, { within, for: what }));
  await received.catch((error: unknown) => {
    if (!(error instanceof StreamTimeout)) throw error;
    const cursor = source.messages.at(-1)?.lastEventId;
    if (source.closed && cursor !== undefined) endIfGone(t, { lastEventId: cursor });
    t.must(false, {
      expected: `${what} at an EventSource client that was cut off and reconnected`,
      actual: error.message,
    });
  });
}
