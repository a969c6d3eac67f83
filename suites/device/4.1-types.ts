/** Section 4.1: the filter by event type. */
import fc from 'fast-check';
import type { OpenEvents } from '../../harness/client/sse.ts';
import { Violation } from '../../harness/runner/violation.ts';
import { byOracle } from './oracle/checks.ts';
import { type Device, LIVE } from './support/check.ts';
import { TYPES_IGNORED } from './support/deviations.ts';
import { type Published, publish, publishEveryEventKind, readUpTo, subscribeAtKnownCursor } from './support/drive.ts';
import { distinct, eventsOf, expectSameEvents, type SeenEvent, showIds } from './support/events.ts';
import { laterThan } from './support/replays.ts';
import { requireRoomFor, retainedFrom } from './support/retention.ts';
import { section } from './support/section.ts';
import { describeOpen, type Streams } from './support/streams.ts';
import { quietMs, type Subscription } from './support/subscription.ts';

export const { requirement, check, checks } = section({ section: '4.1', since: '2026-11-21' });

export const types = requirement({
  id: 'device.events.types',
  level: 'MUST',
  clause: 'Comma-separated list of event types; when omitted all types are sent.',
  text:
    'With types only the listed event types arrive, in replay and live, with their own ids; ' +
    'without it all types are sent.',
});
check(
  types,
  {
    needs: ['drive'],
    sharing: 'publishing',
    profile: 'core',
    premises: LIVE,
    deviation: TYPES_IGNORED,
    least: { events: 2 },
  },
  async (t: Device, streams) => {
    const { cursor, live, events } = await recordEveryType(t, streams);
    await live.close();
    const known = typesOf(events);
    t.note(`types that could be made: ${known.join(', ')}`);

    const unknown = await streams.try({ after: cursor, types: [UNKNOWN_TYPE] });
    t.observe('a filter that names an unknown type', unknown.status ?? 'no answer');
    await unknown.close();
    const listable = unknown.status === 200 ? [...known, UNKNOWN_TYPE] : known;

    let from = cursor;
    const filter = fc.record({
      listed: fc.shuffledSubarray(listable, { minLength: 1 }),
      way: fc.constantFrom(...WAYS),
    });
    await t.property(
      fc.array(filter, { minLength: 1, maxLength: MOST_FILTERS }),
      async (filters) => {
        from = await expectFiltered(t, streams, filters, from);
      },
      {
        runs: 3,
        examples: [
          [
            [
              ...WAYS.map((way): Filter => ({ listed: known.slice(0, 1), way })),
              { listed: known.slice(-1), way: 'after' },
              { listed: listable, way: 'after' },
            ],
          ],
        ],
        describe: (filters) => filters.map(describeFilter).join('; '),
      },
    );
  },
);

/** A type that no device sends: a filter with it and others lets through the others. */
const UNKNOWN_TYPE = 'robot.rebalanced';

/** Filters apply with either cursor, and without one. */
const WAYS = ['after', 'header', 'none'] as const;
type Way = (typeof WAYS)[number];
const WITH: Record<Way, string> = { after: 'with after', header: 'with Last-Event-ID', none: 'without a cursor' };

interface Filter {
  listed: readonly string[];
  way: Way;
}

/** Streams that are open at once. */
const MOST_FILTERS = 5;

const describeFilter = ({ listed, way }: Filter): string => `types=${listed.join(',')} ${WITH[way]}`;

const openBy = (way: Way, cursor: bigint): OpenEvents =>
  way === 'after' ? { after: cursor } : way === 'header' ? { lastEventId: cursor } : {};

/** Events of every kind that control can cause, after a cursor. */
async function recordEveryType(t: Device, streams: Streams) {
  const { cursor, live } = await subscribeAtKnownCursor(t, streams);
  await readUpTo(live, await publishEveryEventKind(t));
  // Of a small log, only the last of them can still be replayed.
  return { cursor: retainedFrom(t, cursor, distinct(live.events)), live, events: live.events };
}

const typesOf = (events: readonly SeenEvent[]): string[] => [...new Set(events.map(({ type }) => type))];

/**
 * Compares filtered streams with an unfiltered one, over the events after `from` and those that are published once all
 * are open. Gives a cursor with events after it for the next time. A device that serves few streams at once gets the
 * filters in turns.
 */
async function expectFiltered(t: Device, streams: Streams, filters: readonly Filter[], from: bigint): Promise<bigint> {
  let next = from;
  for (let rest = filters; rest.length > 0; ) {
    const all = await streams.open({ after: next });
    const opened = await openFiltered(streams, rest, next);
    try {
      const published = await publishEveryEventKind(t);
      await readUpTo(all, published);
      // A stream that the device ends is resumed, and there is room for it where few are served at once.
      await all.close();
      for (const one of opened) {
        await expectOneFiltered(t, one, distinct(all.events), published);
        await one.stream.close();
      }
      next = retainedFrom(t, published.first, distinct(all.events));
    } finally {
      await Promise.all([all, ...opened.map(({ stream }) => stream)].map((stream) => stream.close()));
    }
    rest = rest.slice(opened.length);
  }
  return next;
}

interface FilteredStream {
  filter: Filter;
  stream: Subscription;
  /** How it was opened, in words. */
  what: string;
}

/** One at least, and as many of them as the device serves at once. */
async function openFiltered(streams: Streams, filters: readonly Filter[], from: bigint): Promise<FilteredStream[]> {
  const opened: FilteredStream[] = [];
  for (const filter of filters) {
    const opening = { ...openBy(filter.way, from), types: filter.listed };
    const stream = opened.length === 0 ? await streams.open(opening) : await streams.openAnother(opening);
    if (stream === undefined) break;
    opened.push({ filter, stream, what: describeOpen(opening) });
  }
  return opened;
}

async function expectOneFiltered(
  t: Device,
  { filter, stream, what }: FilteredStream,
  all: readonly SeenEvent[],
  live: Published,
): Promise<void> {
  const { listed, way } = filter;
  // Where a stream without a cursor begins is not stated.
  const due = all.filter(({ id, type }) => listed.includes(type) && (way !== 'none' || id >= live.first));
  const last = due.at(-1);
  if (last === undefined) return;
  try {
    // Once the last event of a listed type has come, no other can come before it any more.
    await stream
      .reach(last.id, `event ${last.id} (${last.type}) for ${what}`)
      .finally(() => expectOnlyTypes(t, stream.events, listed, what));
    if (way !== 'none') expectSameEvents(t, stream.events, due, what);
  } catch (error) {
    // Beside the others it is the one that shows the finding.
    if (error instanceof Violation) error.finding.counterexample = describeFilter(filter);
    throw error;
  }
}

function expectOnlyTypes(t: Device, came: readonly SeenEvent[], listed: readonly string[], what: string): void {
  const other = came.find(({ type }) => !listed.includes(type));
  t.must(other === undefined, {
    expected: `no event of another type for ${what}`,
    actual: `event ${other?.id} of type ${other?.type}`,
  });
}

check(
  types,
  { aspect: 'encoded', needs: ['drive'], sharing: 'publishing', premises: [types.id] },
  async (t: Device, streams) => {
    requireRoomFor(t, 1);
    const { cursor, events: all } = await recordEveryType(t, streams);
    const events = laterThan(cursor, all);
    const last = events.at(-1);
    const known = typesOf(events);
    if (last === undefined) return t.blocked('nothing was published');
    const due = (listed: readonly string[]) => distinct(events).filter(({ type }) => listed.includes(type));
    // An escaped letter or dot is the same text (RFC 3986, section 6.2.2.2).
    const query = `after=${cursor}&types=${percentEncoded(last.type)}`;
    const one = await streams.open({ query });
    await one.reach(last.id, `event ${last.id} (${last.type}) for ${describeOpen({ query })}`);
    expectSameEvents(t, one.events, due([last.type]), describeOpen({ query }));
    if (known.length < 2) return t.note('events of one type alone are retained');
    // An escaped comma need not mean the same (section 2.2 there), though most clients write it so.
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

/** Every character, even those that need no encoding. */
const percentEncoded = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');

check(
  types,
  { aspect: 'near', needs: ['drive'], sharing: 'publishing', premises: [types.id] },
  async (t: Device, streams) => {
    const { cursor, live, events } = await recordEveryType(t, streams);
    const known = typesOf(events);
    await observeVersioned(t, streams, cursor, known[0] ?? '');
    const near = known.flatMap(similarTypes).filter((type) => !known.includes(type));
    const filtered = await streams.try({ after: cursor, types: near });
    if (filtered.status !== 200) return t.notApplicable('a filter that names an unknown type is refused');
    await readUpTo(live, await publish(t, 1));
    await filtered.idle(quietMs(t, QUIET_MS), { within: 1000, for: 'what a filter lets through' });
    expectOnlyTypes(t, eventsOf(t, filtered), near, describeOpen({ after: cursor, types: near }));
    // Beside a type that is sent, its last event shows that all before it would have come.
    for (const type of known) {
      const last = laterThan(cursor, events).findLast((event) => event.type === type);
      if (last === undefined) continue;
      const opening = { after: cursor, types: [...near, type] };
      const beside = await streams.open(opening);
      await beside.reach(last.id, `event ${last.id} (${type}) for ${describeOpen(opening)}`);
      expectOnlyTypes(t, beside.events, opening.types, describeOpen(opening));
      await beside.close();
    }
  },
);

/** A type has no version suffix (section 6.2, rule 4); what a filter that names one selects is not stated. */
async function observeVersioned(t: Device, streams: Streams, after: bigint, type: string): Promise<void> {
  const stream = await streams.try({ after, types: [`${type}.v1`] });
  if (stream.status === 200)
    await stream.idle(quietMs(t, QUIET_MS), { within: 1000, for: 'what a filter lets through' });
  const came = eventsOf(t, stream).length > 0;
  t.observe(
    'a filter by a type with a version',
    stream.status === 200 ? (came ? 'selects that type' : 'selects nothing') : stream.status,
  );
  await stream.close();
}

/** Other types that share their beginning or their end with this one. */
const similarTypes = (type: string): string[] =>
  [`${type}_late`, type.slice(0, -2), `x${type}`].filter((other) => /.\../.test(other));

/** A stream sends what it has at once. Silence proves nothing: only events that came are looked at. */
const QUIET_MS = 150;

check(types, ...byOracle(types, { least: 'filtered streams' }));
