/** Section 6.1, and the standard of event streams that it rests on: whether a client reads every stream that a server may send. */
import { requirement } from '../../harness/runner/define.ts';
import { check, DISPATCH, expectDispatched, FOLLOW } from './support/check.ts';
import type { Client } from './support/context.ts';
import { event, eventsFrom, frame, frames, payload, type SentEvent } from './support/events.ts';
import { Scene } from './support/scene.ts';

const SECTION = { section: '6.1', since: '2026-11-23' } as const;
const STREAM = 'Response 200: SSE stream (frame format in section 6).';
const options = { needs: FOLLOW, premises: DISPATCH } as const;

/** Starts the client, sends the bytes in one piece, and waits for the events. */
async function expectRead(t: Client, bytes: string, events: readonly SentEvent[]): Promise<void> {
  await using scene: Scene = await Scene.follow(t);
  const stream = await scene.stream();
  await stream.send(bytes);
  await expectDispatched(scene, events);
}

const dispatch = requirement({
  id: 'client.stream.dispatch',
  level: 'MUST',
  ...SECTION,
  clause: STREAM,
  text: 'Every event of the stream is dispatched once, in order, with its id, type and payload.',
});
const dispatchCheck = check(dispatch, { needs: FOLLOW, profile: 'core' }, async (t) => {
  await using scene: Scene = await Scene.follow(t);
  const stream = await scene.stream();
  const all = eventsFrom(1, 12);
  await stream.send(frames(all.slice(0, 2)));
  await expectDispatched(scene, all.slice(0, 2));
  // And many in one piece.
  await stream.send(frames(all.slice(2)));
  await expectDispatched(scene, all);
});

const lineEnds = requirement({
  id: 'client.stream.line-ends',
  level: 'MUST',
  ...SECTION,
  clause: STREAM,
  text: 'A line of the stream ends with LF, CR LF or CR alone.',
});
const withEnds = (end: string) => async (t: Client) => {
  const [first, second, last] = [event(1), event(2), event(3)];
  await expectRead(t, frames([first, second]).replaceAll('\n', end) + frame(last), [first, second, last]);
};
const crlf = check(lineEnds, { ...options, aspect: 'crlf' }, withEnds('\r\n'));
const cr = check(lineEnds, { ...options, aspect: 'cr' }, withEnds('\r'));

const bom = requirement({
  id: 'client.stream.bom',
  level: 'MUST',
  ...SECTION,
  clause: STREAM,
  text: 'A byte order mark at the beginning of the stream is left out.',
});
const bomCheck = check(bom, options, async (t) => {
  const all = eventsFrom(1, 2);
  // The mark stands before the first line, which is lost with it: here that is data, without which nothing is dispatched.
  const [first = event(1), last = event(2)] = all;
  await expectRead(t, `\uFEFFdata: ${first.json}\nid: ${first.id}\nevent: ${first.type}\n\n${frame(last)}`, all);
});

const comments = requirement({
  id: 'client.stream.comments',
  level: 'MUST',
  section: '6.2',
  since: '2026-11-23',
  clause: 'clients ignore comment lines',
  text: 'Comment lines are ignored, wherever they stand: also heartbeats within an event.',
});
const commentsCheck = check(comments, options, async (t) => {
  const [first, second, last] = [event(1), event(2), event(3)];
  const within = frame(second).replaceAll('\n', '\n: heartbeat\n').replace('\n: heartbeat\n\n', '\n\n');
  const bytes = `:\n\n: heartbeat\n\n${frame(first)}: heartbeat\n:id: 99\n:data: ${event(99).json}\n\n:id: 77\n${within}: heartbeat\n\n${frame(last)}`;
  await expectRead(t, bytes, [first, second, last]);
});

const empty = requirement({
  id: 'client.stream.empty',
  level: 'MUST',
  ...SECTION,
  clause: STREAM,
  text: 'A block without data dispatches nothing.',
});
const emptyCheck = check(empty, options, async (t) => {
  const [first, last] = [event(1), event(2)];
  await expectRead(t, `\n\n\nevent: deployment.removed\n\n${frame(first)}\nid: 1\n\n\n${frame(last)}`, [first, last]);
});

const multiLine = requirement({
  id: 'client.stream.multi-line',
  level: 'MUST',
  ...SECTION,
  clause: STREAM,
  text: 'Several data lines of one event are joined with a line feed.',
});
const multiLineCheck = check(multiLine, options, async (t) => {
  const [first, last] = [event(1), event(2)];
  const data = JSON.stringify(JSON.parse(first.json), null, 2)
    .split('\n')
    .map((line) => `data: ${line}\n`);
  await expectRead(t, `id: 1\nevent: ${first.type}\n${data.join('')}\n${frame(last)}`, [first, last]);
});

const fields = requirement({
  id: 'client.stream.fields',
  level: 'MUST',
  ...SECTION,
  clause: STREAM,
  text: 'Fields come in any order, with or without a space after the colon; unknown fields and lines without a colon are ignored.',
});
const fieldsCheck = check(fields, options, async (t) => {
  const [first, second, last] = [event(1), event(2), event(3)];
  const tight = `data:${first.json}\nevent:${first.type}\nid:${first.id}\n\n`;
  const strange = `priority: 7\nnonsense\nid: 2\nDATA: no\nevent: ${second.type}\ndata: ${second.json}\ndatum: 1\n\n`;
  await expectRead(t, tight + strange + frame(last), [first, second, last]);
});

const retry = requirement({
  id: 'client.stream.retry-field',
  level: 'MUST',
  ...SECTION,
  clause: STREAM,
  text: 'A retry field disturbs no event, also when it is no number.',
});
const retryCheck = check(retry, options, async (t) => {
  const [first, second, last] = [event(1), event(2), event(3)];
  const bytes = `retry: 500\n\n${frame(first)}retry: soon\n${frame(second)}retry\n\n${frame(last)}`;
  await expectRead(t, bytes, [first, second, last]);
});

const LARGE = 1024 * 1024;
const large = requirement({
  id: 'client.stream.large',
  level: 'SHOULD',
  ...SECTION,
  text: 'An event of 1 MiB is dispatched like any other.',
});
const largeCheck = check(large, options, async (t) => {
  const known = payload('2');
  const big = { ...event(2, { data: { ...known, note: 'x'.repeat(LARGE) } }), data: known };
  const [first, last] = [event(1), event(3)];
  await expectRead(t, frames([first, big, last]), [first, big, last]);
});

export default [
  dispatchCheck,
  crlf,
  cr,
  bomCheck,
  commentsCheck,
  emptyCheck,
  multiLineCheck,
  fieldsCheck,
  retryCheck,
  largeCheck,
];
