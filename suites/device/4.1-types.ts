/** Section 4.1: the filter by event type. */
import fc from 'fast-check';
import { requirement } from '../../harness/check/define.ts';
import { check, type Device } from './support/context.ts';
import { anchor, follow, publish, stir } from './support/drive.ts';
import { distinct, readEvent, sameEvents } from './support/events.ts';
import { describeOpen, withStreams } from './support/streams.ts';

export const types = requirement(
  'device.events.types',
  'MUST',
  '4.1',
  'With types only the listed event types arrive, in replay and live, with their own ids; without it all types are sent.',
);

/** A type that no device sends: listed beside others it changes nothing. */
const UNHEARD_OF = 'muster.unheard_of';

/** Types that begin or go on like one that is sent, and are others. */
const near = (type: string): string[] =>
  [`${type}_late`, type.slice(0, -2), `x${type}`].filter((other) => /.\../.test(other));

/** A stream begins at once with what it has. Silence proves nothing, so that nothing is concluded from it. */
const QUIET_MS = 150;

export default [
  check(types, { needs: ['drive'], sharing: 'exclusive', profile: 'core' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { cursor, live } = await anchor(context, streams);
      await stir(context);
      await follow(live, await publish(context, 1));
      const known = [...new Set(live.events.map(({ type }) => type))];
      context.note(`types that could be made: ${known.join(', ')}`);

      const unknown = await streams.try({ after: cursor, types: [UNHEARD_OF] });
      if (unknown.status !== 200)
        context.note(`a filter that names an unknown type is answered with ${unknown.status}`);
      await unknown.close();
      const listable = unknown.status === 200 ? [...known, UNHEARD_OF] : known;

      await context.property(
        fc.shuffledSubarray(listable, { minLength: 1 }),
        async (listed) => {
          const { last: from } = await publish(context, 1);
          await stir(context);
          const all = await streams.open({ after: from });
          const filtered = await streams.open({ after: from, types: listed });
          await stir(context);
          await follow(all, await publish(context, 1));
          const due = distinct(all.events).filter(({ type }) => listed.includes(type));
          const last = due.at(-1);
          // That nothing else comes shows by what comes after it: the last event of a listed type.
          if (last !== undefined) {
            const what = describeOpen({ after: from, types: listed });
            await filtered.reach(last.id, `event ${last.id} (${last.type}) for ${what}`);
            sameEvents(context, filtered.events, due, what);
          }
          await all.close();
          await filtered.close();
        },
        { runs: 8, examples: [[known.slice(0, 1)], [known.slice(-1)], [listable]] },
      );
    }),
  ),

  check(types, { aspect: 'near', needs: ['drive'], sharing: 'exclusive' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { cursor, live } = await anchor(context, streams);
      await stir(context);
      await follow(live, await publish(context, 1));
      const known = new Set(live.events.map(({ type }) => type));
      const listed = [...known].flatMap(near).filter((type) => !known.has(type));
      const filtered = await streams.try({ after: cursor, types: listed });
      if (filtered.status !== 200) return context.notApplicable('a filter that names an unknown type is refused');
      await follow(live, await publish(context, 1));
      await filtered.idle(QUIET_MS, { within: 1000, for: 'what a filter lets through' });
      const came = filtered.frames.flatMap((frame) => readEvent(context, frame) ?? []);
      const stray = came.find(({ type }) => !listed.includes(type));
      context.must(stray === undefined, {
        expected: `no event of another type for ${describeOpen({ after: cursor, types: listed })}`,
        actual: `event ${stray?.id} of type ${stray?.type}`,
      });
    }),
  ),
];
