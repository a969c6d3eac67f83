/** Section 6: several subscribers at once, including one that stops reading. */
import { Fact } from '../../harness/runner/session.ts';
import { Violation } from '../../harness/runner/violation.ts';
import { byOracle } from './oracle/checks.ts';
import { type Device, LIVE } from './support/check.ts';
import { eventBudget, publish, readUpTo, subscribeAtKnownCursor } from './support/drive.ts';
import { distinct, expectSameEvents, type SeenEvent } from './support/events.ts';
import { fillingMs } from './support/replays.ts';
import { section } from './support/section.ts';
import type { Streams } from './support/streams.ts';
import type { Subscription } from './support/subscription.ts';

export const { requirement, check, checks } = section({ section: '6', since: '2026-11-21' });

const concurrent = requirement({
  id: 'device.events.concurrent',
  level: 'MUST',
  clause: 'served by an agent running on the device, for clients on the same device',
  text: 'Simultaneous subscribers see the same sequence of events.',
});
check(concurrent, ...byOracle(concurrent, { isAlone: true, profile: 'core' }));

const slowReader = requirement({
  id: 'device.events.slow-reader',
  level: 'SHOULD',
  text: 'A subscriber that stops reading does not delay any other.',
});
const overfilling = {
  needs: ['drive'],
  premises: LIVE,
  least: { 'full buffers': 1 },
  orElse: 'a faster control, or --max-time, lets buffers fill up',
} as const;
check(slowReader, overfilling, async (t: Device, streams) => {
  const { cursor, live } = await subscribeAtKnownCursor(t, streams);
  await streams.open({ after: cursor, paused: true });
  await overfillBuffers(t, live).catch((error: unknown) => {
    if (error instanceof Violation) t.session.set(DELAYING, true);
    throw error;
  });
});

const DELAYING = new Fact(() => false);

const MOST_EVENTS = 16_000;
const SMALL_PORTION = 20;

async function overfillBuffers(t: Device, live: Subscription): Promise<void> {
  const portion = eventBudget(t, 400);
  const started = performance.now();
  let bytes = 0;
  for (let published = 0; bytes < t.transport.bufferBytes && published < MOST_EVENTS; published += portion) {
    const takesLong = portion < SMALL_PORTION ? 'a few at a time, as the log keeps no more' : 'slowly';
    if ((t.session.publishesSlowly || portion < SMALL_PORTION) && performance.now() - started > fillingMs(t)) {
      const wanted = `of the ${t.transport.bufferBytes} bytes that buffers may hold`;
      return t.note(`events are published ${takesLong}: ${published} of them, ${bytes} ${wanted}, and no more`);
    }
    const came = await readUpTo(live, await publish(t, portion));
    bytes += came.reduce((sum, { text }) => sum + text.length, 0);
  }
  if (bytes >= t.transport.bufferBytes) t.saw('full buffers');
}

const slowReaderComplete = requirement({
  id: 'device.events.slow-reader.complete',
  level: 'MUST',
  section: '6.2',
  clause: 'Delivery is at-least-once',
  text:
    'A subscriber that stops reading for a while misses no event: ' +
    'not while its stream goes on, and not when it is dropped and reconnects, unless it gets 410.',
});
check(slowReaderComplete, overfilling, async (t: Device, streams) => {
  const delays = `the slow reader delays others, which ${slowReader.id} reports`;
  if (t.session.get(DELAYING)) t.notApplicable(delays);
  const { cursor, live } = await subscribeAtKnownCursor(t, streams);
  const slow = await streams.open({ after: cursor, paused: true });
  await overfillBuffers(t, live).catch((error: unknown) => {
    if (error instanceof Violation) t.notApplicable(delays);
    throw error;
  });
  const due = distinct(live.events);
  const last = due.at(-1)?.id ?? cursor;
  slow.stream.resume();
  // A device may drop the slow reader or wait for it, but must not skip an event.
  const seen = await slow.drain(last);
  const dropped = slow.stream.ended?.by === 'server' || slow.stream.ended?.by === 'error';
  const from = seen.at(-1)?.id ?? cursor;
  t.observe('a subscriber that stops reading', dropped ? 'is dropped' : 'is waited for');
  if (dropped) t.note(`it was dropped after ${seen.length} of ${due.length} events`);
  const before = due.filter(({ id }) => id <= from);
  const where = 'a subscriber that stopped reading, as far as it read';
  expectSameEvents(t, upTo(seen, last), upTo(before, last), where);
  if (from < last) await expectCaughtUp(t, streams, { due, seen, from, last, dropped });
});

const upTo = (events: readonly SeenEvent[], last: bigint): SeenEvent[] => events.filter(({ id }) => id <= last);

interface Interrupted {
  due: SeenEvent[];
  seen: SeenEvent[];
  from: bigint;
  last: bigint;
  dropped: boolean;
}

async function expectCaughtUp(
  t: Device,
  streams: Streams,
  { due, seen, from, last, dropped }: Interrupted,
): Promise<void> {
  const again = await streams.try({ after: from });
  // Accepts status 410, which tells the client that the log no longer holds its next events.
  if (again.status === 410 && dropped) return t.note('when it came back, the log had been compacted past it (410)');
  t.must(again.status === 200, {
    expected: `200 for a subscriber that stopped reading and comes back after event ${from}`,
    actual: again.status,
  });
  const published = { first: from + 1n, last, count: 1, at: performance.now() };
  const rest = await readUpTo(streams.follow(again), published);
  const all = upTo([...seen, ...rest], last);
  expectSameEvents(t, all, due, 'a subscriber that stopped reading for a while, and came back');
}
