/** Section 6.2, rule 6, and section 9: dispatch by the envelope's type, and unknown types, members and values. */

import { event, frame, frames, longId, numbered, payload, UNSAFE_INTEGER } from '../../harness/contract/situations.ts';
import { DISPATCH, FOLLOW, NEWEST, section } from './support/check.ts';
import { expectDispatched, expectRead, StreamRun } from './support/stream-run.ts';

export const { requirement, check, checks } = section({ section: '6.2', since: '2026-11-23' });

const options = { needs: FOLLOW, premises: DISPATCH } as const;

const byEnvelope = requirement({
  id: 'client.dispatch.envelope-type',
  level: 'MUST',
  clause: 'Clients dispatch on the envelope `type`.',
  text:
    'An event is dispatched by the type of its envelope, ' +
    'also where the event field is missing or says another type.',
});
check(byEnvelope, options, (t) => {
  const [first, second, last] = [event(1), event(2), event(3)];
  const without = `id: 1\ndata: ${first.json}\n\n`;
  const other = `id: 2\nevent: deployment.removed\ndata: ${second.json}\n\n`;
  return expectRead(t, { bytes: without + other + frame(last), events: [first, second, last] });
});

const removed = requirement({
  id: 'client.dispatch.removed',
  level: 'MUST',
  section: '6.3',
  clause: '`deployment.removed` | Named as a type; trigger is not stated.',
  text: 'An event of type deployment.removed is dispatched, whatever its payload.',
});
check(removed, options, (t) => {
  const type = 'deployment.removed';
  // The events have equal payloads, so a client can distinguish them by their ids only.
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
  await using run: StreamRun = await StreamRun.follow(t);
  const stream = await run.stream();
  const [first, last] = [event(1), event(4)];
  const strange = [
    event(2, { type: 'calibration.finished', data: { device_id: 'dvc_1' } }),
    event(3, { type: 'constructor.toString', data: {} }),
  ];
  await stream.send([first, ...strange, last].map(frame).join(''));
  await run.untilDispatched(last.id, 'the events around one of an unknown type to be dispatched');
  const known = run.dispatched.filter(({ id }) => !strange.some((one) => one.id === id)).map(({ id }) => id);
  run.must(known.join() === '1,4', {
    expected: 'events 1, 4 dispatched once each',
    actual: `dispatched ${known.join(', ')}`,
  });
});

const unknownMembers = requirement({
  id: 'client.dispatch.unknown-members',
  level: 'SHOULD',
  section: '9',
  clause: 'a patch bump is backward-compatible',
  text: 'Members that the client does not know, and members in another order, disturb no event.',
});
check(unknownMembers, options, async (t) => {
  await using run: StreamRun = await StreamRun.follow(t);
  const stream = await run.stream();
  const [first, second, last] = [event(1), event(2), event(3)];
  const more = {
    trace: { id: 9, saw: 'event' },
    ...JSON.parse(first.json),
    labels: ['a', null],
    serial: UNSAFE_INTEGER,
  };
  more.data = { attempt: 3, ...payload('1'), applied_by: null, serial: UNSAFE_INTEGER, of: [UNSAFE_INTEGER] };
  const turned = JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(second.json)).toReversed()));
  await stream.send(
    `id: 1\nevent: ${first.type}\ndata: ${numbered(more)}\n\nid: 2\nevent: ${second.type}\ndata: ` +
      `${turned}\n\n${frame(last)}`,
  );
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
