/** Section 6.1: event ids increase within a connection. */
import type { Happening } from '../../harness/client/happening.ts';
import type { Judge } from '../../harness/runner/rules.ts';
import { byOracle } from './oracle/checks.ts';
import type { Device } from './support/check.ts';
import { eventBudget, expectOnLiveAndReplay, type Published, publish } from './support/drive.ts';
import { carriesNoEvent, DECIMAL, eventsOf, frameText, type SeenEvent, sameEnvelope } from './support/events.ts';
import { requireRetained } from './support/sample.ts';
import { section } from './support/section.ts';
import type { Subscription } from './support/subscription.ts';

export const { requirement, check, rule, checks } = section({ section: '6.1', since: '2026-11-21' });

const monotonic = requirement({
  id: 'device.events.monotonic',
  level: 'MUST',
  clause: 'Monotonically increasing integer; the replay cursor.',
  text:
    'Within a connection every event that was not seen before has an id above all earlier ones; ' +
    'the same event comes once.',
});
check(
  monotonic,
  { needs: ['drive'], sharing: 'publishing', profile: 'core', premises: ['device.events.frame'], least: { events: 4 } },
  (t: Device, streams) => expectOnLiveAndReplay(t, streams, () => publishAtOnce(t), expectRisingIds),
);

/** Publishes by concurrent calls, which may make an agent store events out of order. */
async function publishAtOnce(t: Device): Promise<Published> {
  const portion = Math.ceil(eventBudget(t, 40) / 4);
  await Promise.all(Array.from({ length: 4 }, () => publish(t, portion)));
  return await publish(t, 1);
}

check(
  monotonic,
  {
    aspect: 'retained',
    turn: 'last',
    profile: 'core',
    premises: ['device.events.frame.retained'],
    // Requires two events, because one event has no order.
    least: { events: 2 },
    orElse: 'a log that keeps two events or more shows their order',
  },
  async (t: Device, streams) => expectRisingIds(t, await requireRetained(t, streams)),
);

rule(monotonic, { premises: [monotonic.id] }, () => {
  const newest = new WeakMap<object, bigint>();
  return (seen: Happening, judge: Judge): void => {
    if (seen.kind !== 'frame' || !DECIMAL.test(seen.frame.id ?? '') || carriesNoEvent(seen.frame)) return;
    const id = BigInt(seen.frame.id ?? '');
    const before = newest.get(seen.stream);
    newest.set(seen.stream, before === undefined || id > before ? id : before);
    judge.saw(() => frameText(seen.frame));
    // Allows two equal ids in a row, because other checks judge repeated events.
    judge.must(before === undefined || id >= before, {
      expected: `an id above ${before}, the highest so far on this stream`,
      actual: `event ${id}`,
    });
  };
});

function expectRisingIds(t: Device, { stream }: Subscription): void {
  const seen = new Map<bigint, SeenEvent>();
  let highest: bigint | undefined;
  for (const event of eventsOf(t, stream)) {
    const before = seen.get(event.id);
    t.must(before === undefined || (before.type === event.type && sameEnvelope(before.envelope, event.envelope)), {
      expected: `an id of its own for each event; ${event.id} is that of ${before?.text.slice(0, 300)}`,
      actual: event.text.slice(0, 300),
    });
    t.should(before === undefined, {
      expected: 'each event once in a connection',
      actual: `event ${event.id} again after event ${highest}`,
    });
    t.must(before !== undefined || highest === undefined || event.id > highest, {
      expected: `an id above ${highest}, the highest so far`,
      actual: `new event ${event.id}`,
    });
    seen.set(event.id, before ?? event);
    if (highest === undefined || event.id > highest) highest = event.id;
  }
}

check(monotonic, ...byOracle(monotonic));
