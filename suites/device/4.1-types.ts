/** Section 4.1: the filter by event type. */
import fc from 'fast-check';
import type { OpenEvents } from '../../harness/client/sse.ts';
import { requirement } from '../../harness/runner/define.ts';
import { check, type Device } from './support/context.ts';
import { anchor, follow, publish, stir } from './support/drive.ts';
import { distinct, readEvent, type SeenEvent, sameEvents, showIds } from './support/events.ts';
import { describeOpen, withStreams } from './support/streams.ts';

export const types = requirement({
  id: 'device.events.types',
  level: 'MUST',
  section: '4.1',
  since: '2026-11-21',
  text: 'With types only the listed event types arrive, in replay and live, with their own ids; without it all types are sent.',
});

/** A type that no device sends: listed beside others it changes nothing. */
const UNHEARD_OF = 'muster.unheard_of';

/** Types that begin or go on like one that is sent, and are others. */
const near = (type: string): string[] =>
  [`${type}_late`, type.slice(0, -2), `x${type}`].filter((other) => /.\../.test(other));

/** How a stream is opened: the filter holds with every cursor, and without one. */
const WAYS = ['after', 'header', 'none'] as const;

const cursorBy = (way: (typeof WAYS)[number], cursor: bigint): OpenEvents =>
  way === 'after' ? { after: cursor } : way === 'header' ? { lastEventId: cursor } : {};

function nothingElse(context: Device, came: readonly SeenEvent[], listed: readonly string[], what: string): void {
  const stray = came.find(({ type }) => !listed.includes(type));
  context.must(stray === undefined, {
    expected: `no event of another type for ${what}`,
    actual: `event ${stray?.id} of type ${stray?.type}`,
  });
}

/** Every character of it percent-encoded. */
const escaped = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');

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
        fc.tuple(fc.shuffledSubarray(listable, { minLength: 1 }), fc.constantFrom(...WAYS)),
        async ([listed, way]) => {
          const { last: from } = await publish(context, 1);
          await stir(context);
          const all = await streams.open({ after: from });
          const opening = { ...cursorBy(way, from), types: listed };
          const filtered = await streams.open(opening);
          await stir(context);
          await follow(all, await publish(context, 1));
          const due = distinct(all.events).filter(({ type }) => listed.includes(type));
          const last = due.at(-1);
          // That nothing else comes shows by what comes after it: the last event of a listed type.
          if (last !== undefined) {
            const what = describeOpen(opening);
            const come = filtered.reach(last.id, `event ${last.id} (${last.type}) for ${what}`);
            await come.finally(() => nothingElse(context, filtered.events, listed, what));
            // Where a stream without a cursor begins is not stated.
            if (way !== 'none') sameEvents(context, filtered.events, due, what);
          }
          await all.close();
          await filtered.close();
        },
        {
          runs: 12,
          examples: [
            ...WAYS.map((way): [unknown] => [[known.slice(0, 1), way]]),
            [[known.slice(-1), 'after']],
            [[listable, 'after']],
          ],
        },
      );
    }),
  ),

  check(types, { aspect: 'encoded', needs: ['drive'], sharing: 'exclusive' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const { cursor, live } = await anchor(context, streams);
      await stir(context);
      await follow(live, await publish(context, 1));
      const last = live.events.at(-1);
      const known = [...new Set(live.events.map(({ type }) => type))];
      if (last === undefined) return context.blocked('nothing was published');
      const due = (listed: readonly string[]) => distinct(live.events).filter(({ type }) => listed.includes(type));
      // An escaped letter or dot is the same text (RFC 3986, section 6.2.2.2).
      const query = `after=${cursor}&types=${escaped(last.type)}`;
      const one = await streams.open({ query });
      await one.reach(last.id, `event ${last.id} (${last.type}) for ${describeOpen({ query })}`);
      sameEvents(context, one.events, due([last.type]), describeOpen({ query }));
      if (known.length < 2) return context.note('events of one type alone could be made');
      // Of an escaped comma that can't be said (section 2.2 there), though most clients write it so.
      const list = `after=${cursor}&types=${encodeURIComponent(known.join(','))}`;
      const several = await streams.try({ query: list });
      const came = several.status === 200 ? await streams.follow(several).drain(last.id) : [];
      const missing = due(known).filter(({ id }) => !came.some((event) => event.id === id));
      context.should(missing.length === 0, {
        expected: `the events ${showIds(due(known))} for ${describeOpen({ query: list })}, whose comma is escaped`,
        actual: several.status === 200 ? showIds(came) : several.status,
      });
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
      nothingElse(context, came, listed, describeOpen({ after: cursor, types: listed }));
    }),
  ),
];
