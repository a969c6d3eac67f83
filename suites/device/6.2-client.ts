/** Section 6.2: the stream as a standard client sees it, the `eventsource` package. */

import { type ClientMessage, EventSourceClient } from '../../harness/client/eventsource.ts';
import { StreamTimeout } from '../../harness/client/sse.ts';
import { requirement } from '../../harness/runner/define.ts';
import { check, type Device } from './support/context.ts';
import { anchor, follow, publish, room, stir } from './support/drive.ts';
import { distinct, parseObject, sameEnvelope } from './support/events.ts';
import { withStreams } from './support/streams.ts';

const client = requirement({
  id: 'device.events.client',
  level: 'MUST',
  section: '6.2',
  since: '2026-11-21',
  text: 'A standard EventSource client gets every event with its type and id, and after a broken connection resumes by Last-Event-ID without losing any.',
});

export default [
  check(client, { needs: ['drive'], sharing: 'exclusive', profile: 'core' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { live } = await anchor(context, streams);
      await stir(context);
      await follow(live, await publish(context, 1));
      const types = [...new Set(['deployment.deployed', ...live.events.map(({ type }) => type)])];
      const source = new EventSourceClient(context.http, { path: '/events', types });
      try {
        const first = await firstMessage(context, source);
        await follow(live, await publish(context, room(context, 5)));
        // Without the connection, so that what comes now has to be replayed.
        source.cut();
        await follow(live, await publish(context, room(context, 10)));
        await stir(context);
        await follow(live, await publish(context, 1));
        const due = distinct(live.events).filter(
          ({ id, type }) => id > BigInt(first.lastEventId) && types.includes(type),
        );
        for (const event of due) {
          const same = (message: ClientMessage): boolean =>
            message.lastEventId === String(event.id) &&
            message.type === event.type &&
            sameEnvelope(parseObject(message.data), event.envelope);
          await source
            .until(same, { within: context.patienceMs, for: `event ${event.id} (${event.type})` })
            .catch((error: unknown) => {
              if (!(error instanceof StreamTimeout)) throw error;
              context.must(false, {
                expected: `event ${event.id} (${event.type}) at an EventSource client that was cut off and reconnected`,
                actual: error.message,
              });
            });
        }
      } finally {
        source.close();
      }
    }),
  ),
];

/** Publishes until the client has heard something: from then on it has a cursor, and may miss nothing. */
async function firstMessage(context: Device, source: EventSourceClient): Promise<ClientMessage> {
  const deadline = performance.now() + context.patienceMs;
  for (;;) {
    await publish(context, 1);
    try {
      return await source.until(() => true, { within: 500, for: 'a first event' });
    } catch (error) {
      if (!(error instanceof StreamTimeout)) throw error;
      context.must(!source.closed && performance.now() < deadline, {
        expected: 'an EventSource client that is connected gets the events that are published',
        actual: error.message,
      });
    }
  }
}
