/** Section 4.1: malformed cursors, cursors beyond the newest event, and streams without a cursor. */
import fc from 'fast-check';
import { byOracle } from './oracle/checks.ts';
import { type Device, LIVE, STREAM } from './support/check.ts';
import { publish, readUpTo, subscribeAtKnownCursor } from './support/drive.ts';
import { isEventStream } from './support/requests.ts';
import { section } from './support/section.ts';
import { describeAnswer, type Streams } from './support/streams.ts';

export const { requirement, check, checks } = section({ section: '4.1', since: '2026-11-21' });

const malformed = requirement({
  id: 'device.events.cursor.malformed',
  level: 'SHOULD',
  clause: 'integer (event id)',
  text: 'A cursor that is not an integer event id is refused with a 4xx that is not 410: no stream, no 5xx, no hang.',
});
check(malformed, { profile: 'core', premises: STREAM }, async (t: Device, streams) => {
  // Opens a stream first: a device that refuses every request must not pass.
  await (await streams.open()).close();
  await t.property(
    fc.tuple(nonsense, fc.constantFrom('after', 'Last-Event-ID')),
    ([cursor, where]) => expectRefusal(t, streams, cursor, where),
    {
      runs: 30,
      examples: NONSENSE.flatMap((cursor): [unknown][] => [[[cursor, 'after']], [[cursor, 'Last-Event-ID']]]),
      describe: ([cursor, where]) => describeCursor(cursor, where),
    },
  );
});

/** Cursors far above usual event ids; a device may accept them, because the specification sets no maximum. */
const HUGE = [String(2n ** 63n), String(2n ** 64n), '9'.repeat(10_000)];

const NONSENSE: string[] = [...HUGE, 'abc', '1.5', '', '1e3', '0x10', '1,2', '1;drop', 'NaN', 'null', '١٢', '1\0'];

const nonsense = fc.oneof(
  fc.constantFrom(...NONSENSE),
  fc.stringMatching(/^[a-z._-]{1,8}$/),
  fc.stringMatching(/^\d{1,6}[a-z%&/ ]{1,3}\d{0,3}$/).filter((text) => !/^\d+\s*$/.test(text)),
);

const REFUSAL = 'a 4xx other than 410 (400 is usual)';

async function expectRefusal(t: Device, streams: Streams, cursor: string, where: string): Promise<void> {
  const fitsHeader = /^[\x20-\x7e]+$/.test(cursor) && cursor.trim() === cursor;
  if (where === 'Last-Event-ID' && !fitsHeader) return;
  const mayBeServed = HUGE.includes(cursor);
  const expected = `${REFUSAL}${mayBeServed ? ', or a stream,' : ''} for ${describeCursor(cursor, where)}`;
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
}

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
check(withoutCursor, { needs: ['drive'], sharing: 'publishing', premises: LIVE }, async (t: Device, streams) => {
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
check(liveWithoutCursor, ...byOracle(liveWithoutCursor, { isAlone: true, profile: 'core', least: 'streams by none' }));
