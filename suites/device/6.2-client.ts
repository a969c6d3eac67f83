/** Section 6.2: the stream as the standard client `eventsource` sees it. */
import type { ClientMessage, EventSourceClient } from '../../harness/client/eventsource.ts';
import { StreamTimeout } from '../../harness/client/sse.ts';
import { parseObject } from '../json.ts';
import { type Device, inTime, LIVE, timeoutMs } from './support/check.ts';
import { eventBudget, publish, publishEveryEventKind, readUpTo, subscribeAtKnownCursor } from './support/drive.ts';
import { distinct, type SeenEvent, sameEnvelope } from './support/events.ts';
import { endIfGone, requireRoomFor } from './support/retention.ts';
import { section } from './support/section.ts';

export const { requirement, check, checks } = section({ section: '6.2', since: '2026-11-21' });

const client = requirement({
  id: 'device.events.client',
  level: 'MUST',
  clause: 'Delivery is at-least-once; after a reconnection the replay window may repeat events already seen.',
  text:
    'A standard EventSource client gets every event with its type and id, ' +
    'and after a broken connection resumes by Last-Event-ID without losing any.',
});
check(
  client,
  { needs: ['drive'], sharing: 'publishing', profile: 'core', premises: LIVE },
  async (t: Device, streams) => {
    requireRoomFor(t, 1);
    const { live } = await subscribeAtKnownCursor(t, streams);
    await publishEveryEventKind(t);
    await readUpTo(live, await publish(t, 1));
    // The `eventsource` package receives only the types that it listens for.
    const types = [...new Set(['deployment.deployed', ...live.events.map(({ type }) => type)])];
    const source = streams.connect(types);
    try {
      const first = await firstMessage(t, source);
      await readUpTo(live, await publish(t, eventBudget(t, 5)));
      const expectNewest = async (): Promise<void> => {
        const newest = live.events.findLast(({ type }) => types.includes(type));
        if (newest !== undefined) await expectReceived(t, source, newest);
      };
      // Checks now, because a small log soon drops the events that a slow client still needs.
      await expectNewest();
      await source.cut(async () => readUpTo(live, await publish(t, eventBudget(t, 10))));
      await expectNewest();
      await publishEveryEventKind(t);
      await readUpTo(live, await publish(t, 1));
      const due = distinct(live.events).filter(
        ({ id, type }) => id > BigInt(first.lastEventId) && types.includes(type),
      );
      for (const event of due) await expectReceived(t, source, event);
    } finally {
      source.close();
    }
  },
);

/** Multiple of the run's patience within which the client connects; a busy machine connects late. */
const LONGEST_CONNECT = 3;

async function firstMessage(t: Device, source: EventSourceClient): Promise<ClientMessage> {
  const connectBy = performance.now() + LONGEST_CONNECT * t.patienceMs;
  let deadline: number | undefined;
  for (;;) {
    await publish(t, 1);
    try {
      return await source.until(() => true, { within: 500, for: 'a first event' });
    } catch (error) {
      if (!(error instanceof StreamTimeout)) throw error;
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
    message.lastEventId === String(event.id) &&
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
