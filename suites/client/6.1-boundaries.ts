/** Section 6.1: streams that arrive in pieces. */

import { event, frame, payload, type SentEvent } from '../../harness/contract/situations.ts';
import { type Client, DISPATCH, FOLLOW, section } from './support/check.ts';
import { expectExactly, StreamRun } from './support/stream-run.ts';

export const { requirement, check, checks } = section({ section: '6.1', since: '2026-11-23' });

const boundaries = requirement({
  id: 'client.stream.boundaries',
  level: 'MUST',
  clause: 'Response 200: SSE stream (frame format in section 6).',
  text:
    'A stream that arrives in pieces is read as in one, wherever it is torn: ' +
    'within a field, a line end or a character.',
});

/** Characters of two, three and four bytes in UTF-8. */
const TEXT = 'é€😀';
/** Number of bytes between two places where the check splits plain text. */
const STEP = 6;

/**
 * Splits each event at another byte. Sends the first part right after the previous event, whose dispatch proves that
 * the client has read the part.
 */
async function expectWhole(
  t: Client,
  render: (event: SentEvent) => string,
  isTorn: (bytes: Buffer, at: number) => boolean,
) {
  await using run: StreamRun = await StreamRun.follow(t);
  const stream = await run.stream();
  const sample = Buffer.from(render(eventWithText(100)));
  const places = [...sample.keys()].filter((at) => at > 0 && isTorn(sample, at));
  const first = eventWithText(100);
  const sent = [first];
  let rest = Buffer.from(render(first));
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

/** Builds an event with an id of three digits, so that a byte offset means the same place in every event. */
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

const options = { needs: FOLLOW, premises: DISPATCH } as const;

check(boundaries, options, (t) => expectWhole(t, frame, (bytes, at) => at % STEP === 0 || isCritical(bytes, at)));

/** True at critical places: line ends, colons before the JSON, and bytes within a character. */
function isCritical(bytes: Buffer, at: number): boolean {
  const near = [bytes[at - 1], bytes[at]];
  const json = bytes.indexOf('{');
  return near.includes(10) || (at < json && near.includes(58)) || near.some((byte) => (byte ?? 0) >= 0x80);
}

check(boundaries, { ...options, aspect: 'crlf' }, (t) =>
  expectWhole(
    t,
    // Writes two data lines, so that a superfluous line end splits the event.
    (each) => frame(each).replace(',"data"', ',\ndata: "data"').replaceAll('\n', '\r\n'),
    (bytes, at) => [bytes[at - 1], bytes[at]].some((byte) => byte === 13 || byte === 10),
  ),
);
