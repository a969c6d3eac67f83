/** Section 6.1: ids rise. */
import { requirement } from '../../harness/runner/define.ts';
import { check, type Device } from './support/context.ts';
import { anchor, follow, publish, room, stir } from './support/drive.ts';
import { readEvent, type SeenEvent, sameEnvelope } from './support/events.ts';
import { retained } from './support/retained.ts';
import { type Subscription, withStreams } from './support/streams.ts';

const monotonic = requirement({
  id: 'device.events.monotonic',
  level: 'MUST',
  section: '6.1',
  since: '2026-11-21',
  text: 'Within a connection every event not seen before has an id above all earlier ones; the same event comes once.',
});

function judgeOrder(context: Device, subscription: Subscription): void {
  const seen = new Map<bigint, SeenEvent>();
  let highest: bigint | undefined;
  for (const frame of subscription.stream.frames) {
    const event = readEvent(context, frame);
    if (event === undefined) continue;
    const before = seen.get(event.id);
    context.must(
      before === undefined || (before.type === event.type && sameEnvelope(before.envelope, event.envelope)),
      {
        expected: `an id of its own for each event; ${event.id} is that of ${before?.text.slice(0, 300)}`,
        actual: event.text.slice(0, 300),
      },
    );
    context.should(before === undefined, {
      expected: 'each event once in a connection',
      actual: `event ${event.id} again after event ${highest}`,
    });
    context.must(before !== undefined || highest === undefined || event.id > highest, {
      expected: `an id above ${highest}, the highest so far`,
      actual: `new event ${event.id}`,
    });
    seen.set(event.id, before ?? event);
    if (highest === undefined || event.id > highest) highest = event.id;
  }
}

export default [
  check(monotonic, { needs: ['drive'], sharing: 'exclusive', profile: 'core' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { live, cursor } = await anchor(context, streams);
      await stir(context);
      const replay = await streams.open({ after: cursor });
      // At once, so that whoever gives out ids and whoever stores events are seen to agree.
      const portion = room(context, 40);
      const batches = await Promise.all(Array.from({ length: 4 }, () => publish(context, Math.ceil(portion / 4))));
      const last = batches.reduce((latest, batch) => (batch.last > latest.last ? batch : latest));
      await follow(live, last);
      // What came too late comes before this.
      await follow(live, await publish(context, 1));
      judgeOrder(context, live);
      await follow(replay, last);
      judgeOrder(context, replay);
    }),
  ),
  check(monotonic, { aspect: 'retained', sharing: 'shared' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const found = await retained(context, streams);
      if (found === undefined) context.notApplicable('the device replays no event that it retained');
      judgeOrder(context, found.sample);
    }),
  ),
];
