/** Section 6: several subscribers at once, one of which may not keep up. */
import { requirement } from '../../harness/runner/define.ts';
import { Violation } from '../../harness/runner/violation.ts';
import { check, type Device } from './support/context.ts';
import { anchor, deploy, follow, publish, room, stir } from './support/drive.ts';
import { distinct, type SeenEvent, sameEvents } from './support/events.ts';
import { type Subscription, withStreams } from './support/streams.ts';

const concurrent = requirement({
  id: 'device.events.concurrent',
  level: 'MUST',
  section: '6',
  since: '2026-11-21',
  text: 'Simultaneous subscribers see the same sequence of events.',
});

const slowReader = requirement({
  id: 'device.events.slow-reader',
  level: 'SHOULD',
  section: '6',
  since: '2026-11-21',
  text: 'A subscriber that stops reading delays no other one.',
});

const slowReaderComplete = requirement({
  id: 'device.events.slow-reader.complete',
  level: 'MUST',
  section: '6.2',
  since: '2026-11-21',
  text: 'A subscriber that stops reading for a while misses no event of a stream that goes on, and none when it is dropped and comes back, unless it is told with 410.',
});

const MOST_EVENTS = 16_000;

/** More than the buffers between here and there hold, whatever the log retains meanwhile. */
async function flood(context: Device, live: Subscription): Promise<void> {
  const portion = Math.max(1, room(context, 400));
  let bytes = 0;
  for (let published = 0; bytes < context.transport.bufferBytes && published < MOST_EVENTS; published += portion) {
    const came = await follow(live, await publish(context, portion));
    bytes += came.reduce((sum, { text }) => sum + text.length, 0);
  }
}

const upTo = (events: readonly SeenEvent[], last: bigint): SeenEvent[] => events.filter(({ id }) => id <= last);

export default [
  check(concurrent, { needs: ['drive'], sharing: 'exclusive', profile: 'core' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { cursor, live } = await anchor(context, streams);
      const first = await streams.open({ lastEventId: cursor });
      const more = await Promise.all(
        Array.from({ length: 7 }, (_, index) =>
          streams.another(index % 2 === 0 ? { after: cursor } : { lastEventId: cursor }),
        ),
      );
      const others = [first, ...more.filter((one) => one !== undefined)];
      await stir(context);
      await Promise.all([publish(context, room(context, 10)), publish(context, room(context, 10))]);
      await deploy(context, live);
      const end = await publish(context, 1);
      await follow(live, end);
      for (const other of others) {
        await follow(other, end);
        sameEvents(context, other.events, live.events, 'one of several subscribers, as another saw it');
      }
      // One that leaves takes nobody with it.
      await others[0]?.close();
      const after = await publish(context, 3);
      for (const other of others.slice(1)) await follow(other, after);
    }),
  ),

  check(slowReader, { needs: ['drive'], sharing: 'exclusive' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { cursor, live } = await anchor(context, streams);
      await streams.open({ after: cursor, paused: true });
      await flood(context, live);
    }),
  ),

  check(slowReaderComplete, { needs: ['drive'], sharing: 'exclusive' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { cursor, live } = await anchor(context, streams);
      const slow = await streams.open({ after: cursor, paused: true });
      await flood(context, live).catch((error: unknown) => {
        if (error instanceof Violation) context.notApplicable('it holds others up, which is a finding of its own');
        throw error;
      });
      const due = distinct(live.events);
      const last = due.at(-1)?.id ?? cursor;
      slow.stream.resume();
      // It may have been dropped, and it may have been waited for; both are right as long as it misses nothing on the way.
      const seen = await slow.drain(last);
      const dropped = slow.stream.ended?.by === 'server' || slow.stream.ended?.by === 'error';
      const from = seen.at(-1)?.id ?? cursor;
      context.note(
        dropped
          ? `a subscriber that stops reading is dropped, after ${seen.length} of ${due.length} events`
          : 'a subscriber that stops reading is waited for',
      );
      const before = due.filter(({ id }) => id <= from);
      sameEvents(context, upTo(seen, last), upTo(before, last), 'a subscriber that stopped reading, as far as it read');
      if (from >= last) return;
      const again = await streams.try({ after: from });
      // Told that it has been away for too long, it knows; that is not losing.
      if (again.status === 410 && dropped) {
        context.note('when it came back, the log had been compacted past it (410)');
        return;
      }
      context.must(again.status === 200, {
        expected: `200 for a subscriber that stopped reading and comes back after event ${from}`,
        actual: again.status,
      });
      const rest = await streams.follow(again).reach(last);
      sameEvents(
        context,
        upTo([...seen, ...rest], last),
        due,
        'a subscriber that stopped reading for a while, and came back',
      );
    }),
  ),
];
