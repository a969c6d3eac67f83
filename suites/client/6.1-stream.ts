/** Section 6.1 and the standard of event streams: all variants of streams that a server may send. */

import { event, eventsFrom, frame, frames, payload, STREAMS } from '../../harness/contract/situations.ts';
import { DISPATCH, FOLLOW, section } from './support/check.ts';
import { DISPATCH_ODD, expectDispatched, expectRead, FOR_LARGE, StreamRun } from './support/stream-run.ts';

export const { requirement, check, checks } = section({ section: '6.1', since: '2026-11-23' });

const STREAM = 'Response 200: SSE stream (frame format in section 6).';
const options = { needs: FOLLOW, premises: DISPATCH } as const;

const dispatch = requirement({
  id: 'client.stream.dispatch',
  level: 'MUST',
  clause: STREAM,
  text: 'Every event of the stream is dispatched once, in order, with its id, type and payload.',
});
/**
 * Essential: a client that dispatches nothing makes every other check meaningless. The next check judges order and
 * repeats.
 */
check(dispatch, { aspect: 'any', needs: FOLLOW, profile: 'core', essential: true }, async (t) => {
  await using run: StreamRun = await StreamRun.follow(t);
  const first = event(1);
  await (await run.stream()).send(frame(first));
  await run.untilDispatched(first.id);
  const ids = new Set(run.dispatched.map(({ id }) => id));
  run.must(ids.size === 1, { expected: 'event 1 and no other', actual: run.outcome });
});

const whole = { needs: FOLLOW, premises: [`${dispatch.id}.any`], profile: 'core', deviation: DISPATCH_ODD } as const;
check(dispatch, whole, async (t) => {
  const all = eventsFrom(1, 12);
  await using run: StreamRun = await StreamRun.after(t, all.slice(0, 2));
  await run.current.send(frames(all.slice(2)));
  await expectDispatched(run, all);
});

const lineEnds = requirement({
  id: 'client.stream.line-ends',
  level: 'MUST',
  clause: STREAM,
  text: 'A line of the stream ends with LF, CR LF or CR alone.',
});
check(lineEnds, { ...options, aspect: 'crlf' }, (t) => expectRead(t, STREAMS.crlf));
check(lineEnds, { ...options, aspect: 'cr' }, (t) => expectRead(t, STREAMS.cr));

const bom = requirement({
  id: 'client.stream.bom',
  level: 'MUST',
  clause: STREAM,
  text: 'A byte order mark at the beginning of the stream is left out.',
});
check(bom, options, (t) => expectRead(t, STREAMS.bom));

const empty = requirement({
  id: 'client.stream.empty',
  level: 'MUST',
  clause: STREAM,
  text: 'A block without data dispatches nothing.',
});
check(empty, options, (t) => expectRead(t, STREAMS.empty));

const afterEmpty = { ...options, premises: [...DISPATCH, empty.id] } as const;

const comments = requirement({
  id: 'client.stream.comments',
  level: 'MUST',
  section: '6.2',
  clause: 'clients ignore comment lines',
  text: 'Comment lines are ignored, wherever they stand: also heartbeats within an event.',
});
check(comments, afterEmpty, (t) => expectRead(t, STREAMS.comments));

const multiLine = requirement({
  id: 'client.stream.multi-line',
  level: 'MUST',
  clause: STREAM,
  text: 'Several data lines of one event are joined with a line feed.',
});
check(multiLine, options, (t) => expectRead(t, STREAMS['multi-line']));

const fields = requirement({
  id: 'client.stream.fields',
  level: 'MUST',
  clause: STREAM,
  text:
    'Fields come in any order, with or without a space after the colon; ' +
    'unknown fields and lines without a colon are ignored.',
});
check(fields, options, (t) => expectRead(t, STREAMS.fields));

const retry = requirement({
  id: 'client.stream.retry-field',
  level: 'MUST',
  clause: STREAM,
  text: 'A retry field disturbs no event, also when it is no number.',
});
check(retry, afterEmpty, (t) => expectRead(t, STREAMS.retry));

const LARGE = 1024 * 1024;
const large = requirement({
  id: 'client.stream.large',
  level: 'SHOULD',
  text: 'An event of 1 MiB is dispatched like any other.',
});
check(large, options, async (t) => {
  const known = payload('2');
  const big = { ...event(2, { data: { ...known, note: 'x'.repeat(LARGE) } }), data: known };
  const [first, last] = [event(1), event(3)];
  await expectRead(t, { bytes: frames([first, big, last]), events: [first, big, last] }, FOR_LARGE);
});
