import {
  event,
  eventsFrom,
  frame,
  frames,
  payload,
  type SentEvent,
  STREAMS,
} from '../../harness/contract/situations.ts';
import { type Client, DISPATCH, FOLLOW, section } from './support/check.ts';
import {
  DISPATCH_ODD,
  expectDispatched,
  expectExactly,
  expectRead,
  FOR_LARGE,
  StreamRun,
} from './support/stream-run.ts';

export const { requirement, check, checks } = section({ level: 'MUST', section: '6.1', since: '2026-11-23' });

const STREAM = 'Response 200: SSE stream (frame format in section 6).';
const options = { needs: FOLLOW, premises: DISPATCH } as const;

const dispatch = requirement({
  id: 'client.stream.dispatch',
  clause: STREAM,
  text: 'Every event of the stream is dispatched once, in order, with its id, type and payload.',
});
/** Essential, because without a dispatch no other check has a meaning. The next check judges order and repeats. */
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
  clause: STREAM,
  text: 'A line of the stream ends with LF, CR LF or CR alone.',
});
check(lineEnds, { ...options, aspect: 'crlf' }, (t) => expectRead(t, STREAMS.crlf));
check(lineEnds, { ...options, aspect: 'cr' }, (t) => expectRead(t, STREAMS.cr));

const bom = requirement({
  id: 'client.stream.bom',
  clause: STREAM,
  text: 'A byte order mark at the beginning of the stream is left out.',
});
check(bom, options, (t) => expectRead(t, STREAMS.bom));

const empty = requirement({
  id: 'client.stream.empty',
  clause: STREAM,
  text: 'A block without data dispatches nothing.',
});
check(empty, options, (t) => expectRead(t, STREAMS.empty));

const afterEmpty = { ...options, premises: [...DISPATCH, empty.id] } as const;

const comments = requirement({
  id: 'client.stream.comments',
  section: '6.2',
  clause: 'clients ignore comment lines',
  text: 'Comment lines are ignored, wherever they stand: also heartbeats within an event.',
});
check(comments, afterEmpty, (t) => expectRead(t, STREAMS.comments));

const multiLine = requirement({
  id: 'client.stream.multi-line',
  clause: STREAM,
  text: 'Several data lines of one event are joined with a line feed.',
});
check(multiLine, options, (t) => expectRead(t, STREAMS['multi-line']));

const fields = requirement({
  id: 'client.stream.fields',
  clause: STREAM,
  text:
    'Fields come in any order, with or without a space after the colon; ' +
    'unknown fields and lines without a colon are ignored.',
});
check(fields, options, (t) => expectRead(t, STREAMS.fields));

const retry = requirement({
  id: 'client.stream.retry-field',
  clause: STREAM,
  text: 'A retry field disturbs no event, also when it is no number.',
});
check(retry, afterEmpty, (t) => expectRead(t, STREAMS.retry));

const MIB = 1024 * 1024;
const large = requirement({
  id: 'client.stream.large',
  level: 'SHOULD',
  text: 'An event of 1 MiB is dispatched like any other.',
});
check(large, options, async (t) => {
  const known = payload('2');
  const big = { ...event(2, { data: { ...known, note: 'x'.repeat(MIB) } }), data: known };
  const [first, last] = [event(1), event(3)];
  await expectRead(t, { bytes: frames([first, big, last]), events: [first, big, last] }, FOR_LARGE);
});

const boundaries = requirement({
  id: 'client.stream.boundaries',
  clause: 'Response 200: SSE stream (frame format in section 6).',
  text:
    'A stream that arrives in pieces is read as in one, wherever it is torn: ' +
    'within a field, a line end or a character.',
});

/** Characters of two, three and four bytes in UTF-8. */
const TEXT = 'é€😀';
/** Bytes between two splits of plain text. */
const STEP = 6;

/**
 * Splits each event at another byte. The dispatch of the previous event proves that the client has read the first part.
 */
async function expectWhole(
  t: Client,
  render: (event: SentEvent) => string,
  isTorn: (bytes: Buffer, at: number) => boolean,
) {
  await using run: StreamRun = await StreamRun.open(t);
  const stream = run.current;
  const first = eventWithText(100);
  const sample = Buffer.from(render(first));
  const places = [...sample.keys()].filter((at) => at > 0 && isTorn(sample, at));
  const sent = [first];
  let rest = sample;
  for (const [index, place] of places.entries()) {
    const before = sent.at(-1) ?? first;
    const next = eventWithText(101 + index);
    const bytes = Buffer.from(render(next));
    await stream.send(Buffer.concat([rest, bytes.subarray(0, place)]));
    await run.untilDispatched(before.id, expectedWhole(bytes, places[index - 1]));
    sent.push(next);
    rest = bytes.subarray(place);
  }
  await stream.send(rest);
  await run.untilDispatched(sent.at(-1)?.id ?? '', expectedWhole(sample, places.at(-1)));
  expectExactly(run, sent);
}

/** Three digits in the id keep a byte offset at the same place in every event. */
const eventWithText = (id: number): SentEvent =>
  event(id, { data: { ...payload(String(id)), release_id: `rls_${TEXT}` } });

function expectedWhole(bytes: Buffer, place: number | undefined): string {
  if (place === undefined) return 'an event that came in one piece to be dispatched';
  const [head, tail] = [bytes.subarray(0, place), bytes.subarray(place)];
  return (
    `an event to be dispatched whose frame is torn after byte ${place}: ` +
    `…${JSON.stringify(head.toString('latin1').slice(-12))} then ` +
    `${JSON.stringify(tail.toString('latin1').slice(0, 12))}…`
  );
}

check(boundaries, options, (t) =>
  expectWhole(t, frame, (bytes, at) => {
    // Splits at critical places too: line ends, colons before the JSON, and bytes within a character.
    const near = [bytes[at - 1], bytes[at]];
    const isColon = at < bytes.indexOf('{') && near.includes(58);
    return at % STEP === 0 || near.includes(10) || isColon || near.some((byte) => (byte ?? 0) >= 0x80);
  }),
);
check(boundaries, { ...options, aspect: 'crlf' }, (t) =>
  expectWhole(
    t,
    // Two data lines, so that a superfluous line end splits the event.
    (each) => frame(each).replace(',"data"', ',\ndata: "data"').replaceAll('\n', '\r\n'),
    (bytes, at) => [bytes[at - 1], bytes[at]].some((byte) => byte === 13 || byte === 10),
  ),
);

const HUGE = 10 * MIB;
const LINE = 100;

const huge = requirement({
  id: 'client.stream.huge',
  level: 'SHOULD',
  text:
    'An event of 10 MiB is dispatched like any other. ' +
    'A client that takes no such event says that it is lost, and goes on with the next one.',
});
const afterLarge = { needs: FOLLOW, premises: [...DISPATCH, 'client.stream.large'] } as const;

check(huge, { ...afterLarge, aspect: 'one-line' }, (t) =>
  expectTaken(t, { ...event(2, { data: { ...payload('2'), note: 'x'.repeat(HUGE) } }), data: payload('2') }, frame),
);

check(huge, { ...afterLarge, aspect: 'many-lines' }, (t) => {
  const lines = Array.from({ length: Math.ceil(HUGE / LINE) }, () => 'x'.repeat(LINE));
  const each = (sent: SentEvent): string => frame(sent).replaceAll('","xx', '",\ndata: "xx');
  return expectTaken(t, { ...event(2, { data: { ...payload('2'), lines } }), data: payload('2') }, each);
});

async function expectTaken(t: Client, big: SentEvent, render: (sent: SentEvent) => string): Promise<void> {
  const [first, last] = [event(1), event(3)];
  await using run: StreamRun = await StreamRun.after(t, [first]);
  // Does not wait for the sends, because the client may hang up or stop reading.
  void run.current.send(render(big));
  void run.current.send(frame(last));
  const isBound = (): boolean => run.reported !== undefined && !run.dispatched.some(({ id }) => id === big.id);
  const isGone = (): boolean => run.current.isLeft && isBound();
  for (let round = 0; !run.dispatched.some(({ id }) => id === last.id); round += 1) {
    if (isGone()) await (await run.stream()).send(frame(last));
    const seen = run.dispatched.length + run.requests.length;
    const isNew = (): boolean => run.dispatched.length + run.requests.length > seen || isGone();
    const more = await run.untilRead(() => isNew() || undefined, FOR_LARGE * run.patienceMs);
    const expected = 'an event of 10 MiB to be dispatched, or a gap, and the event after it';
    // Bounds the wait for a client that neither dispatches the last event nor ends.
    run.must(more && round < 12, { expected, actual: run.outcome });
  }
  await expectDispatched(run, isBound() ? [first, last] : [first, big, last]);
}
