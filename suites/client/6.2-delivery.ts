import { setImmediate as turn } from 'node:timers/promises';
import {
  event,
  eventsFrom,
  frame,
  frames,
  longId,
  numbered,
  payload,
  TORN,
  UNSAFE_INTEGER,
} from '../../harness/contract/situations.ts';
import { DISPATCH, FOLLOW, NEWEST, RECONNECT, section, WITH_CURSOR } from './support/check.ts';
import { expectCursor, expectDispatched, expectRead, Sequence, StreamRun } from './support/stream-run.ts';

export const { requirement, check, checks } = section({ level: 'MUST', section: '6.2', since: '2026-11-23' });

const options = { needs: FOLLOW, premises: DISPATCH } as const;

const byEnvelope = requirement({
  id: 'client.dispatch.envelope-type',
  clause: 'Clients dispatch on the envelope `type`.',
  text:
    'An event is dispatched by the type of its envelope, also where the event ' +
    'field is missing or says another type.',
});
check(byEnvelope, options, (t) => {
  const [first, second, last] = [event(1), event(2), event(3)];
  const without = `id: 1\ndata: ${first.json}\n\n`;
  const other = `id: 2\nevent: deployment.removed\ndata: ${second.json}\n\n`;
  return expectRead(t, { bytes: without + other + frame(last), events: [first, second, last] });
});

const removed = requirement({
  id: 'client.dispatch.removed',
  section: '6.3',
  clause: '`deployment.removed` | Named as a type; trigger is not stated.',
  text: 'An event of type deployment.removed is dispatched, whatever its payload.',
});
check(removed, options, (t) => {
  const type = 'deployment.removed';
  // Equal payloads leave only the ids to tell the events apart.
  const alike = { type, data: { deployment_id: 'dpl_1' } };
  const all = [event(1), event(2, alike), event(3, alike), event(4, { type, data: {} }), event(5)];
  return expectRead(t, { bytes: frames(all), events: all });
});

const unknownType = requirement({
  id: 'client.dispatch.unknown-type',
  level: 'SHOULD',
  clause: 'the set of types belongs to the API version of the endpoint',
  text: 'An event of a type that the client does not know disturbs no other event.',
});
check(unknownType, options, async (t) => {
  await using run: StreamRun = await StreamRun.open(t);
  const [first, last] = [event(1), event(4)];
  const strange = [
    event(2, { type: 'calibration.finished', data: { device_id: 'dvc_1' } }),
    event(3, { type: 'constructor.toString', data: {} }),
  ];
  await run.current.send([first, ...strange, last].map(frame).join(''));
  await run.untilDispatched(last.id, 'the events around one of an unknown type to be dispatched');
  const known = run.dispatched.filter(({ id }) => !strange.some((one) => one.id === id)).map(({ id }) => id);
  const expected = 'events 1, 4 dispatched once each';
  run.must(known.join() === '1,4', { expected, actual: `dispatched ${known.join(', ')}` });
});

const unknownMembers = requirement({
  id: 'client.dispatch.unknown-members',
  level: 'SHOULD',
  section: '9',
  clause: 'a patch bump is backward-compatible',
  text: 'Members that the client does not know, and members in another order, disturb no event.',
});
check(unknownMembers, options, async (t) => {
  await using run: StreamRun = await StreamRun.open(t);
  const [first, second, last] = [event(1), event(2), event(3)];
  const more = {
    trace: { id: 9, saw: 'event' },
    ...JSON.parse(first.json),
    labels: ['a', null],
    serial: UNSAFE_INTEGER,
  };
  more.data = { attempt: 3, ...payload('1'), applied_by: null, serial: UNSAFE_INTEGER, of: [UNSAFE_INTEGER] };
  const turned = JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(second.json)).toReversed()));
  const [one, two] = [`event: ${first.type}\ndata: ${numbered(more)}`, `event: ${second.type}\ndata: ${turned}`];
  await run.current.send(`id: 1\n${one}\n\nid: 2\n${two}\n\n${frame(last)}`);
  await expectDispatched(run, [first, second, last]);
  const { serial } = Object(run.dispatched[0]?.data) as { serial?: unknown };
  const kept = String(serial) === UNSAFE_INTEGER ? 'has all its digits' : 'is rounded';
  t.observe('a number beyond 2^53 in a payload', serial === undefined ? 'is left out' : kept);
});

const unknownValues = requirement({
  id: 'client.dispatch.unknown-values',
  since: NEWEST,
  level: 'SHOULD',
  section: '9',
  clause: 'a patch bump is backward-compatible',
  text: 'Values of an enumeration that the client does not know, and long ids, disturb no event.',
});
check(unknownValues, options, (t) => {
  const ids = { deployment_id: longId('dpl_'), release_id: longId('rls_') };
  const states = { status: 'hibernating', activity_status: 'hibernating', target_status: 'orbiting' };
  const odd = event(2, { data: { ...payload('2'), ...states, ...ids } });
  const [first, last] = [event(1), event(3)];
  return expectRead(t, { bytes: frames([first, odd, last]), events: [first, { ...odd, data: ids }, last] });
});

const unreadable = requirement({
  id: 'client.dispatch.unreadable',
  level: 'SHOULD',
  section: '6.1',
  text: 'An event whose data is no JSON is not dispatched, and those after it are.',
});
check(unreadable, options, (t) => {
  const [first, last] = [event(1), event(3)];
  const broken = `id: 2\nevent: ${first.type}\ndata: {"object":"event","id":2,\n\n`;
  return expectRead(t, { bytes: frame(first) + broken + frame(last), events: [first, last] });
});

const reconnect = requirement({
  id: 'client.delivery.reconnect',
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
  id: 'client.delivery.cursor',
  section: '4.1',
  clause: '`Last-Event-ID: <id>` (optional) carries the cursor, with the same semantics as `after`.',
  text:
    'A client that asks for the stream again names the last event that it ' +
    'received whole, as after or Last-Event-ID.',
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

const MOST_CUTS = 5;
for (const last of ['end', 'cut'] as const)
  check(reconnect, { ...WITH_CURSOR, aspect: `with-its-${last}` }, async (t) => {
    const all = eventsFrom(1, 2 * (2 + MOST_CUTS));
    await using run: StreamRun = await StreamRun.after(t, all.slice(0, 2));
    let stream = run.current;
    let given = 2;
    // Repeats the cut, because each cut may discard bytes that the client has not read yet.
    const most = last === 'cut' ? MOST_CUTS : 1;
    for (let n = 0; n < most && stream.cursor !== String(given); n += 1) {
      const from = n === 0 ? given : Number(stream.cursor ?? 0);
      given += 2;
      const sent = stream.send(frames(all.slice(from, given)));
      // Sends all events before a cut, which discards unsent bytes; an orderly end may share a packet with them.
      if (last === 'cut') await sent;
      stream[last]();
      stream = await run.stream();
    }
    const shown = all.slice(0, given + 2);
    await stream.send(frames(shown.slice(Number(stream.cursor ?? 0))));
    await run.untilDispatched(String(shown.length));
    // A replay may repeat events.
    const once = new Set(run.dispatched.map(({ id }) => id));
    const expected = `events 1 to ${shown.length} to be dispatched, in order`;
    run.must([...once].join() === shown.map(({ id }) => id).join(), { expected, actual: run.outcome });
  });

// No section says that ids begin with 1.
check(cursor, { ...WITH_CURSOR, aspect: 'zero' }, async (t) => {
  await using run: StreamRun = await StreamRun.after(t, [event(0)]);
  run.current.cut();
  expectCursor(run, await run.stream(), '0');
});

const bigIds = requirement({
  id: 'client.delivery.big-ids',
  section: '6.1',
  clause: 'Monotonically increasing integer; the replay cursor.',
  text: 'A cursor beyond 2^53 is sent back with all its digits.',
});
check(bigIds, WITH_CURSOR, async (t) => {
  await using run: StreamRun = await StreamRun.open(t);
  const ids = ['9007199254740993', '9007199254740995'];
  await run.current.send(ids.map((id) => frame(event(id))).join(''));
  await run.untilRead(() => (run.dispatched.length >= ids.length ? true : undefined));
  const expected = `events ${ids.join(', ')} to be dispatched`;
  run.must(run.dispatched.length === ids.length, { expected, actual: run.outcome });
  run.current.cut();
  expectCursor(run, await run.stream(), ids.at(-1) ?? '');
  const seen = run.dispatched.map(({ id }) => id);
  t.should(seen.join() === ids.join(), {
    expected: `the ids ${ids.join(', ')} with all their digits`,
    actual: seen.join(', '),
  });
});

export const torn = requirement({
  id: 'client.delivery.torn',
  clause: 'Delivery is at-least-once',
  text: 'An event whose frame was cut off is not dispatched and is no cursor; it is dispatched when it comes again.',
});
for (const [aspect, { piece, last }] of Object.entries(TORN))
  check(torn, { ...WITH_CURSOR, aspect }, async (t) => {
    await using run: StreamRun = await StreamRun.open(t);
    const all = eventsFrom(1001, 4);
    const [third = event(1003)] = all.slice(2);
    await run.current.send(frames(all.slice(0, 2)) + piece(third));
    await expectDispatched(run, all.slice(0, 2));
    run.current[last]();
    const again = await run.stream();
    expectCursor(run, again, '1002');
    await expectDispatched(run, all.slice(0, 2));
    await again.send(frames(all.slice(2)));
    await expectDispatched(run, all);
  });

const duplicates = requirement({
  id: 'client.delivery.duplicates',
  level: 'SHOULD',
  clause: 'Clients may deduplicate by `id`.',
  text: 'A client that says that it deduplicates dispatches an event that is repeated after a reconnection only once.',
});
check(duplicates, { ...WITH_CURSOR, needs: [...FOLLOW, 'deduplicates'] }, async (t) => {
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
      name: 'capability deduplicates',
      declared: 'an event that is repeated is dispatched once',
      observed,
      holds: twice.length === 0,
    });
  });
});

const replay = requirement({
  id: 'client.delivery.long-replay',
  clause: 'Delivery is at-least-once',
  text: 'A replay of very many events is dispatched whole and in order, unless the client says that events are lost.',
});

/** Number of events in the first round; few, because a client may start a process for each event. */
const FIRST_EVENTS = 250;
const MOST_EVENTS = 100_000;
const QUICK_MS = 2000;
const EVENTS_IN_A_PIECE = 250;

check(replay, WITH_CURSOR, async (t) => {
  await using run: StreamRun = await StreamRun.after(t, [event(1)]);
  run.current.cut();
  const again = await run.stream();
  const sequence = new Sequence(1);
  run.sequence = sequence;
  const started = performance.now();
  for (let count = FIRST_EVENTS, sent = 1; sent < MOST_EVENTS; count *= 2) {
    const since = performance.now();
    const last = sent + count;
    // Does not wait for the client, which may have stopped reading, or left to come back for the rest.
    for (let id = sent + 1; id <= last; id += EVENTS_IN_A_PIECE) {
      void again.send(frames(eventsFrom(id, Math.min(last - id + 1, EVENTS_IN_A_PIECE))));
      await turn();
    }
    sent = last;
    while (sequence.last < last) {
      const seen = sequence.last;
      const more = await run.untilRead(() => sequence.last > seen || sequence.wrong !== undefined || run.reported);
      if (run.reported !== undefined) return t.note(`the client told of a gap in a replay of ${last} events`);
      run.must(more !== undefined && sequence.wrong === undefined, {
        expected: `events 2 to ${last} dispatched once each, in order`,
        actual: sequence.wrong ?? `nothing after event ${sequence.last}; ${run.state}`,
      });
    }
    const now = performance.now();
    if (now - started + 2 * (now - since) > QUICK_MS) break;
  }
  run.must(sequence.wrong === undefined, { expected: 'each event once', actual: sequence.wrong ?? '' });
});
