/** Section 6.2, rules 1 and 2: no loss between consecutive streams. */

import { event, eventsFrom, frame, frames, TORN, type TornFrame } from '../../harness/contract/situations.ts';
import { type Client, DISPATCH, FOLLOW, RECONNECT, section } from './support/check.ts';
import { expectCursor, expectDispatched, StreamRun } from './support/stream-run.ts';

export const { requirement, check, checks } = section({ section: '6.2', since: '2026-11-23' });

const CURSOR = 'client.delivery.cursor';

const reconnect = requirement({
  id: 'client.delivery.reconnect',
  level: 'MUST',
  clause: 'Delivery is at-least-once; after a reconnection the replay window may repeat events already seen.',
  text: 'A client whose stream has ended asks for it again, and dispatches what comes then.',
});
check(reconnect, { needs: FOLLOW, premises: DISPATCH, profile: 'core', essential: true }, async (t) => {
  const [first, second] = [event(1), event(2)];
  await using run: StreamRun = await StreamRun.after(t, [first]);
  run.current.end();
  const again = await run.stream('the client to ask for the stream again, which has ended');
  await again.send(frame(second));
  await expectDispatched(run, [first, second]);
});

export const cursor = requirement({
  id: CURSOR,
  level: 'MUST',
  section: '4.1',
  clause: '`Last-Event-ID: <id>` (optional) carries the cursor, with the same semantics as `after`.',
  text:
    'A client that asks for the stream again names the last event that it received whole, ' +
    'as after or Last-Event-ID.',
});
check(cursor, { needs: FOLLOW, premises: RECONNECT, profile: 'core' }, async (t) => {
  const all = eventsFrom(41, 4);
  await using run: StreamRun = await StreamRun.after(t, all.slice(0, 3));
  run.current.cut();
  const again = await run.stream();
  expectCursor(run, again, '43');
  await again.send(frames(all.slice(3)));
  await expectDispatched(run, all);
  again.cut();
  expectCursor(run, await run.stream(), '44');
});

const OF_CURSOR = { needs: FOLLOW, premises: [...RECONNECT, CURSOR] } as const;

for (const last of ['end', 'cut'] as const)
  check(reconnect, { ...OF_CURSOR, aspect: `with-its-${last}` }, async (t) => {
    const all = eventsFrom(1, 6);
    await using run: StreamRun = await StreamRun.after(t, all.slice(0, 2));
    const sent = run.current.send(frames(all.slice(2, 4)));
    // Waits before a cut, which discards unsent bytes; a proper end may share a packet with the events.
    if (last === 'cut') await sent;
    run.current[last]();
    const again = await run.stream();
    await again.send(frames(all.slice(Number(again.cursor ?? 0))));
    await run.untilDispatched('6');
    // Counts each event once, because a replay may repeat events.
    const once = new Set(run.dispatched.map(({ id }) => id));
    run.must([...once].join() === all.map(({ id }) => id).join(), {
      expected: 'events 1 to 6 to be dispatched, in order',
      actual: run.outcome,
    });
  });

// Tests the id 0, because no section says that ids begin with 1.
check(cursor, { ...OF_CURSOR, aspect: 'zero' }, async (t) => {
  await using run: StreamRun = await StreamRun.after(t, [event(0)]);
  run.current.cut();
  expectCursor(run, await run.stream(), '0');
});

const bigIds = requirement({
  id: 'client.delivery.big-ids',
  level: 'MUST',
  section: '6.1',
  clause: 'Monotonically increasing integer; the replay cursor.',
  text: 'A cursor beyond 2^53 is sent back with all its digits.',
});
check(bigIds, OF_CURSOR, async (t) => {
  await using run: StreamRun = await StreamRun.follow(t);
  const ids = ['9007199254740993', '9007199254740995'];
  const stream = await run.stream();
  await stream.send(ids.map((id) => frame(event(id))).join(''));
  await run.until(() => (run.dispatched.length >= ids.length ? true : undefined));
  run.must(run.dispatched.length === ids.length, {
    expected: `events ${ids.join(', ')} to be dispatched`,
    actual: run.outcome,
  });
  stream.cut();
  expectCursor(run, await run.stream(), ids.at(-1) ?? '');
  const seen = run.dispatched.map(({ id }) => id);
  t.should(seen.join() === ids.join(), {
    expected: `the ids ${ids.join(', ')} with all their digits`,
    actual: seen.join(', '),
  });
});

export const torn = requirement({
  id: 'client.delivery.torn',
  level: 'MUST',
  clause: 'Delivery is at-least-once',
  text: 'An event whose frame was cut off is not dispatched and is no cursor; it is dispatched when it comes again.',
});
const tornAfter =
  ({ piece, last }: TornFrame) =>
  async (t: Client) => {
    await using run: StreamRun = await StreamRun.follow(t);
    const all = eventsFrom(1001, 4);
    const [third = event(1003)] = all.slice(2);
    const stream = await run.stream();
    await stream.send(frames(all.slice(0, 2)) + piece(third));
    await expectDispatched(run, all.slice(0, 2));
    stream[last]();
    const again = await run.stream();
    expectCursor(run, again, '1002');
    await expectDispatched(run, all.slice(0, 2));
    await again.send(frames(all.slice(2)));
    await expectDispatched(run, all);
  };
for (const [aspect, each] of Object.entries(TORN)) check(torn, { ...OF_CURSOR, aspect }, tornAfter(each));

const duplicates = requirement({
  id: 'client.delivery.duplicates',
  level: 'SHOULD',
  clause: 'Clients may deduplicate by `id`.',
  text: 'A client that says that it deduplicates dispatches an event that is repeated after a reconnection only once.',
});
check(duplicates, { ...OF_CURSOR, needs: [...FOLLOW, 'deduplicates'] }, async (t) => {
  const all = eventsFrom(1, 5);
  await using run: StreamRun = await StreamRun.after(t, all.slice(0, 3));
  run.current.cut();
  const again = await run.stream();
  await again.send(frames(all.slice(1)));
  await expectDispatched(run, all).finally(() => {
    const ids = run.dispatched.map(({ id }) => id);
    const twice = ids.filter((id, at) => ids.indexOf(id) !== at);
    const observed = twice.length === 0 ? 'each event once' : `events ${twice.join(', ')} dispatched twice`;
    t.session.declarations.saw({
      ...{ name: 'capability deduplicates', declared: 'an event that is repeated is dispatched once' },
      ...{ observed, holds: twice.length === 0 },
    });
  });
});
