/** Section 6.2: nothing is lost between replay and live, nor between one connection and the next. */
import fc from 'fast-check';
import { requirement } from '../../harness/runner/define.ts';
import { check, type Device } from './support/context.ts';
import { anchor, follow, publish, room } from './support/drive.ts';
import { distinct, type SeenEvent, sameEvents } from './support/events.ts';
import { describeOpen, type Subscription, withStreams } from './support/streams.ts';

export const seam = requirement({
  id: 'device.events.replay.seam',
  level: 'MUST',
  section: '6.2',
  since: '2026-11-21',
  text: 'No event is lost between replay and live while events are being published.',
});

const atLeastOnce = requirement({
  id: 'device.events.at-least-once',
  level: 'MUST',
  section: '6.2',
  since: '2026-11-21',
  text: 'Whoever reconnects after a cut at any byte, from the last whole frame, gets every event at least once.',
});

export default [
  check(seam, { needs: ['drive'], sharing: 'exclusive', profile: 'core' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { cursor, live } = await anchor(context, streams);
      await follow(live, await publish(context, room(context, 10)));
      const opened: Subscription[] = [];
      let publishing = true;
      let rest = room(context, 300);
      // Publishing goes on while streams are opened, so that each finds another moment of it.
      const publisher = (async () => {
        while (publishing && rest > 0) {
          const portion = Math.min(rest, 3);
          await publish(context, portion);
          rest -= portion;
        }
      })();
      try {
        for (let round = 0; round < 24 && rest > 0; round += 1) {
          const one = await streams.another(round % 2 === 0 ? { after: cursor } : { lastEventId: cursor });
          if (one === undefined) break;
          opened.push(one);
        }
      } finally {
        publishing = false;
        await publisher;
      }
      const end = await publish(context, 1);
      await follow(live, end);
      for (const subscription of opened) {
        await follow(subscription, end);
        sameEvents(
          context,
          subscription.events,
          live.events,
          `${describeOpen({ after: cursor })}, opened while events were published`,
        );
      }
    }),
  ),

  check(atLeastOnce, { needs: ['drive'], sharing: 'exclusive', profile: 'core' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { cursor, live } = await anchor(context, streams);
      await follow(live, await publish(context, room(context, 12)));
      const due = distinct(live.events);
      const last = due.at(-1)?.id ?? cursor;
      await context.property(
        fc.array(fc.record({ bytes: fc.nat({ max: 2500 }), byHeader: fc.boolean() }), { minLength: 1, maxLength: 6 }),
        async (cuts) => {
          const seen: SeenEvent[] = [];
          const from = (): bigint => seen.at(-1)?.id ?? cursor;
          const options = (byHeader: boolean) => (byHeader ? { lastEventId: from() } : { after: from() });
          for (const { bytes, byHeader } of cuts) {
            if (from() >= last) break;
            const cut = await streams.open({ ...options(byHeader), cutAfterBytes: bytes });
            seen.push(...(await cut.drain(last)));
          }
          const rest = await streams.open(options(false));
          // With nothing left to replay, an event must come along to show that nothing was.
          const end = from() >= last ? (await publish(context, 1)).last : last;
          await rest.reach(end);
          const union = [...seen, ...rest.events].filter(({ id }) => id <= last);
          union.sort((left, right) => Number(left.id - right.id));
          sameEvents(context, union, due, `a client that was cut off ${cuts.length} times and came back`);
          await rest.close();
        },
        { runs: 15 },
      );
    }),
  ),
];
