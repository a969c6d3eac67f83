/** Section 4.1: cursors, the filter by type, and the header Last-Event-ID. */
import fc from 'fast-check';
import type { Judge } from '../../harness/runner/rules.ts';
import { byOracle } from './oracle/explore.ts';
import { type Device, LIVE, STREAM } from './support/check.ts';
import { publish, publishEveryEventKind, readUpTo, subscribeAtKnownCursor } from './support/drive.ts';
import { carriesNoEvent, DECIMAL, distinct, expectSameEvents, frameText, showIds } from './support/events.ts';
import { laterThan } from './support/replays.ts';
import { isEventStream } from './support/requests.ts';
import { requireRoomFor, retainedFrom } from './support/retention.ts';
import { PUBLISHING, section } from './support/section.ts';
import { describeAnswer, describeOpen } from './support/streams.ts';

export const { requirement, check, rule, checks } = section({ section: '4.1', since: '2026-11-21' });

const malformed = requirement({
  id: 'device.events.cursor.malformed',
  level: 'SHOULD',
  clause: 'integer (event id)',
  text: 'A cursor that is not an integer event id is refused with a 4xx that is not 410: no stream, no 5xx, no hang.',
});
check(malformed, { profile: 'core', premises: STREAM }, async (t: Device, streams) => {
  // Opens a stream without a cursor first, because a device that refuses every request would pass.
  await (await streams.open()).close();
  await t.property(
    fc.tuple(nonsense, fc.constantFrom('after', 'Last-Event-ID')),
    async ([cursor, where]) => {
      const fitsHeader = /^[\x20-\x7e]+$/.test(cursor) && cursor.trim() === cursor;
      if (where === 'Last-Event-ID' && !fitsHeader) return;
      const mayBeServed = HUGE.includes(cursor);
      const accepted = `a 4xx other than 410 (400 is usual)${mayBeServed ? ', or a stream,' : ''}`;
      const expected = `${accepted} for ${describeCursor(cursor, where)}`;
      const asked = where === 'after' ? { after: cursor } : { lastEventId: cursor };
      const stream = await streams.try(asked, undefined, expected);
      const { status } = stream;
      const isStream = isEventStream(stream);
      const isRefused = status >= 400 && status < 500 && status !== 410 && !isStream;
      t.must(isRefused || (mayBeServed && status === 200 && isStream), {
        expected,
        actual: await describeAnswer(t, stream),
      });
      await stream.close();
    },
    {
      runs: 30,
      examples: NONSENSE.flatMap((cursor): [unknown][] => [[[cursor, 'after']], [[cursor, 'Last-Event-ID']]]),
      describe: ([cursor, where]) => describeCursor(cursor, where),
    },
  );
});

/** Cursors that a device may accept, because the specification sets no maximum. */
const HUGE = [String(2n ** 63n), String(2n ** 64n), '9'.repeat(10_000)];

const NONSENSE: string[] = [...HUGE, 'abc', '1.5', '', '1e3', '0x10', '1,2', '1;drop', 'NaN', 'null', '١٢', '1\0'];

const nonsense = fc.oneof(
  fc.constantFrom(...NONSENSE),
  fc.stringMatching(/^[a-z._-]{1,8}$/),
  fc.stringMatching(/^\d{1,6}[a-z%&/ ]{1,3}\d{0,3}$/).filter((text) => !/^\d+\s*$/.test(text)),
);

function describeCursor(cursor: string, where: string): string {
  const short = cursor.length > 60 ? `${cursor.slice(0, 10)}… (${cursor.length} characters)` : cursor;
  const shown = /^[!-~…]+$/.test(short) || cursor.length > 60 ? short : JSON.stringify(short);
  return where === 'after' ? `after=${shown}` : `${where}: ${shown}`;
}

const future = requirement({
  id: 'device.events.cursor.future',
  level: 'INFO',
  text: 'The answer to a cursor beyond the newest event is not stated.',
});
check(future, { premises: STREAM }, async (t: Device, streams) => {
  const stream = await streams.try({ after: 2n ** 52n });
  await stream.close();
  t.observe('a cursor beyond the newest event', stream.status ?? 'no answer');
  const largest = await streams.try({ after: 2n ** 63n - 1n });
  t.observe('the largest 64-bit cursor', largest.status ?? 'no answer');
});

const withoutCursor = requirement({
  id: 'device.events.no-cursor',
  level: 'INFO',
  text: 'Whether a stream without a cursor starts with live events or with a replay is not stated.',
});
check(withoutCursor, { ...PUBLISHING, premises: LIVE }, async (t: Device, streams) => {
  const { cursor, live } = await subscribeAtKnownCursor(t, streams);
  await live.close();
  const stream = await streams.open();
  const sentinel = await publish(t, 1);
  const seen = await readUpTo(stream, sentinel);
  const replayed = seen.some(({ id }) => id <= cursor);
  t.observe('a stream without a cursor', replayed ? 'retained events are replayed' : 'only live events come');
});

const liveWithoutCursor = requirement({
  id: 'device.events.no-cursor.live',
  level: 'MUST',
  clause: 'open a long-lived SSE stream of events',
  text: 'What is published after a stream without a cursor was opened arrives on it, from the first event on.',
});
byOracle(check, liveWithoutCursor, { profile: 'core', least: 'streams by none' });

export const types = requirement({
  id: 'device.events.types',
  level: 'MUST',
  clause: 'Comma-separated list of event types; when omitted all types are sent.',
  text:
    'With types only the listed event types arrive, in replay and live, with their own ids; ' +
    'without it all types are sent.',
});
byOracle(check, types, { profile: 'core', least: 'filtered streams' });
byOracle(check, types, { aspect: 'near', least: 'filters by unknown types' });
rule(types, { premises: [types.id], traffic: 'an event on a stream with types' }, () => (seen, judge: Judge) => {
  if (seen.kind !== 'frame' || !DECIMAL.test(seen.frame.id ?? '') || carriesNoEvent(seen.frame)) return;
  const { event: type } = seen.frame;
  const [listed = '', ...others] = new URLSearchParams(/\?(.*)/.exec(seen.asked.url)?.[1]).getAll('types');
  const names = listed.split(',');
  // Skips wildcards, empty names and several lists, about which section 4.1 is silent.
  if (type === undefined || others.length > 0 || !names.every((name) => /^[\w-]+\.[\w-]+$/.test(name))) return;
  judge.saw(() => frameText(seen.frame));
  const isListed = names.some((name) => name.toLowerCase() === type.toLowerCase());
  judge.must(isListed, { expected: `events of the types ${listed} alone`, actual: type });
});

check(types, { ...PUBLISHING, aspect: 'encoded', premises: LIVE }, async (t: Device, streams) => {
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
  // Percent-encoded letters and dots equal plain ones (RFC 3986, section 6.2.2.2).
  const escaped = [...Buffer.from(last.type)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`);
  const query = `after=${cursor}&types=${escaped.join('')}`;
  const one = await streams.open({ query });
  await one.reach(last.id, `event ${last.id} (${last.type}) for ${describeOpen({ query })}`);
  await one.close();
  expectSameEvents(t, one.events, due([last.type]), describeOpen({ query }));
  if (known.length < 2) return t.note('events of one type alone are retained');
  // Only warns, because an encoded comma may differ in meaning (RFC 3986, section 2.2).
  const list = `after=${cursor}&types=${encodeURIComponent(known.join(','))}`;
  const several = await streams.try({ query: list });
  const came = several.status === 200 ? await streams.follow(several).drain(last.id) : [];
  const missing = due(known).filter(({ id }) => !came.some((event) => event.id === id));
  t.should(missing.length === 0, {
    expected: `the events ${showIds(due(known))} for ${describeOpen({ query: list })}, whose comma is escaped`,
    actual: several.status === 200 ? showIds(came) : several.status,
  });
});

export const header = requirement({
  id: 'device.events.header-cursor',
  level: 'MUST',
  clause: '`Last-Event-ID: <id>` (optional) carries the cursor, with the same semantics as `after`.',
  text: 'The header Last-Event-ID carries a cursor with the same semantics as after.',
});
export const afterWins = requirement({
  id: 'device.events.after-wins',
  level: 'MUST',
  clause: 'Takes precedence over the header.',
  text: 'With both cursors after decides, whichever is larger.',
});
byOracle(check, header, { profile: 'core', least: 'streams by header' });
byOracle(check, afterWins, { profile: 'core', least: 'streams by both' });
byOracle(check, afterWins, { aspect: 'zero', least: 'cursors of zero' });
