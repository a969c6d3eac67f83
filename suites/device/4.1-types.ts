/** Section 4.1: the filter by event type. */
import { byOracle } from './oracle/checks.ts';
import { type Device, LIVE } from './support/check.ts';
import { publishEveryEventKind, readUpTo, subscribeAtKnownCursor } from './support/drive.ts';
import { distinct, expectSameEvents, showIds } from './support/events.ts';
import { laterThan } from './support/replays.ts';
import { requireRoomFor, retainedFrom } from './support/retention.ts';
import { section } from './support/section.ts';
import { describeOpen } from './support/streams.ts';

export const { requirement, check, checks } = section({ section: '4.1', since: '2026-11-21' });

export const types = requirement({
  id: 'device.events.types',
  level: 'MUST',
  clause: 'Comma-separated list of event types; when omitted all types are sent.',
  text:
    'With types only the listed event types arrive, in replay and live, with their own ids; ' +
    'without it all types are sent.',
});
check(types, ...byOracle(types, { isAlone: true, profile: 'core', least: 'filtered streams' }));

check(types, ...byOracle(types, { aspect: 'near', least: 'filters by types near others' }));

check(
  types,
  { aspect: 'encoded', needs: ['drive'], sharing: 'publishing', premises: LIVE },
  async (t: Device, streams) => {
    requireRoomFor(t, 1);
    const { cursor: before, live } = await subscribeAtKnownCursor(t, streams);
    await readUpTo(live, await publishEveryEventKind(t));
    await live.close();
    const cursor = retainedFrom(t, before, distinct(live.events));
    const events = laterThan(cursor, live.events);
    const last = events.at(-1);
    const known = [...new Set(events.map(({ type }) => type))];
    if (last === undefined) return t.blocked('nothing was published');
    const due = (listed: readonly string[]) => distinct(events).filter(({ type }) => listed.includes(type));
    // A percent-encoded letter or dot equals the plain character (RFC 3986, section 6.2.2.2).
    const query = `after=${cursor}&types=${percentEncoded(last.type)}`;
    const one = await streams.open({ query });
    await one.reach(last.id, `event ${last.id} (${last.type}) for ${describeOpen({ query })}`);
    await one.close();
    expectSameEvents(t, one.events, due([last.type]), describeOpen({ query }));
    if (known.length < 2) return t.note('events of one type alone are retained');
    // RFC 3986, section 2.2, lets an encoded comma differ in meaning, so a difference only warns.
    const list = `after=${cursor}&types=${encodeURIComponent(known.join(','))}`;
    const several = await streams.try({ query: list });
    const came = several.status === 200 ? await streams.follow(several).drain(last.id) : [];
    const missing = due(known).filter(({ id }) => !came.some((event) => event.id === id));
    t.should(missing.length === 0, {
      expected: `the events ${showIds(due(known))} for ${describeOpen({ query: list })}, whose comma is escaped`,
      actual: several.status === 200 ? showIds(came) : several.status,
    });
  },
);

const percentEncoded = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
