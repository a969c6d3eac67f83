/** Scenarios that the client suite serves to a client: event streams, refusals and scripts of answers. */

import type { DeployedPayload } from './device-api.ts';

/** `id` is text, because an id may exceed 2^53. */
export interface SentEvent {
  id: string;
  type: string;
  data: unknown;
  json: string;
}

const MOMENT = '2026-05-06T10:00:00Z';

export const payload = (id: string): DeployedPayload => ({
  deployment_id: `dpl_${id}`,
  release_id: `rls_${id}`,
  status: 'deployed',
  activity_status: 'deployed',
  error_status: 'none',
  target_status: 'deployed',
  deployed_at: MOMENT,
});

export function event(id: number | string, { type = 'deployment.deployed', data }: Partial<SentEvent> = {}): SentEvent {
  const name = String(id);
  const content = data ?? payload(name);
  const rest = `"type":${JSON.stringify(type)},"occurred_at":"${MOMENT}","data":${numbered(content)}`;
  const json = `{"object":"event","id":${name},${rest}}`;
  return { id: name, type, data: content, json };
}

/** 2^53 + 1, which no double-precision number can hold. */
export const UNSAFE_INTEGER = '9007199254740993';
/** Writes the text `UNSAFE_INTEGER` as a number, which JSON.stringify cannot. */
export const numbered = (value: unknown): string =>
  JSON.stringify(value).replaceAll(`"${UNSAFE_INTEGER}"`, UNSAFE_INTEGER);

/** More than 320 characters, because the specification sets no limit. */
export const longId = (prefix: string): string => `${prefix}${'0123456789abcdef'.repeat(20)}`;

export const eventsFrom = (first: number, count: number): SentEvent[] =>
  Array.from({ length: count }, (_, index) => event(first + index));

export const frame = ({ id, type, json }: SentEvent): string => `id: ${id}\nevent: ${type}\ndata: ${json}\n\n`;
export const frames = (events: readonly SentEvent[]): string => events.map(frame).join('');

export const HEARTBEAT = ': heartbeat\n\n';

export interface Refusal {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: object;
}

export const EXPIRED: Refusal = {
  status: 410,
  headers: {},
  body: { error: { code: 'cursor_expired', message: 'events are gone' } },
};

export const UNAVAILABLE: Refusal = { status: 503, headers: {}, body: { error: 'starting' } };

export const RETRY_AFTER_SECONDS = 4;
export const withRetryAfter = (refusal: Refusal, seconds: number): Refusal => ({
  ...refusal,
  headers: { 'retry-after': String(seconds) },
});

// Unusual streams that the HTML standard of server-sent events allows.

export interface OneStream {
  summary: string;
  bytes: string;
  events: readonly SentEvent[];
}

const [first, second, last] = [event(1), event(2), event(3)];
const three = [first, second, last];

const withEnds = (end: string): string => frames([first, second]).replaceAll('\n', end) + frame(last);

/** Starts with `data`; a client that takes the byte order mark for a part of the field name drops that field. */
const afterMark = `data: ${first.json}\nid: 1\nevent: ${first.type}\n\n${frame(second)}`;

const heartbeatsWithin = frame(second).replaceAll('\n', '\n: heartbeat\n');
const comments =
  `:\n\n: heartbeat\n\n${frame(first)}: heartbeat\n:id: 99\n:data: ${event(99).json}\n\n:id: ` +
  `77\n${heartbeatsWithin}: heartbeat\n\n${frame(last)}`;

const inLines = JSON.stringify(JSON.parse(first.json), null, 2)
  .split('\n')
  .map((line) => `data: ${line}\n`);

const tight = `data:${first.json}\nevent:${first.type}\nid:1\n\n`;
const strange = `priority: 7\nnonsense\nid: 2\nDATA: no\nevent: ${second.type}\ndata: ${second.json}\ndatum: 1\n\n`;

export const STREAMS = {
  crlf: { summary: 'Lines end with CR LF.', bytes: withEnds('\r\n'), events: three },
  cr: { summary: 'Lines end with CR alone.', bytes: withEnds('\r'), events: three },
  bom: { summary: 'Begins with a byte order mark.', bytes: `\uFEFF${afterMark}`, events: eventsFrom(1, 2) },
  comments: { summary: 'Has comments between events and within one.', bytes: comments, events: three },
  empty: {
    summary: 'Has blocks without data.',
    bytes: `\n\n\nevent: deployment.removed\n\n${frame(first)}\nid: 1\n\n\n${frame(second)}`,
    events: [first, second],
  },
  'multi-line': {
    summary: 'Has an event in many data lines.',
    bytes: `id: 1\nevent: ${first.type}\n${inLines.join('')}\n${frame(second)}`,
    events: [first, second],
  },
  fields: {
    summary: 'Has fields in another order, without a space, and unknown ones.',
    bytes: tight + strange + frame(last),
    events: three,
  },
  retry: {
    summary: 'Has retry fields, also some that are no number.',
    bytes: `retry: 500\n\n${frame(first)}retry: soon\n${frame(second)}retry\n\n${frame(last)}`,
    events: three,
  },
} as const satisfies Record<string, OneStream>;

export interface TornFrame {
  summary: string;
  piece(event: SentEvent): string;
  last: 'cut' | 'end';
}

export const TORN = {
  id: { summary: 'Ends the stream in the id of the third event.', piece: () => 'id: 10', last: 'end' },
  'id-line': {
    summary: 'Cuts the connection after the id line of the third event.',
    piece: ({ id }) => `id: ${id}\n`,
    last: 'cut',
  },
  data: {
    summary: 'Cuts the connection in the data of the third event.',
    piece: (event) => frame(event).slice(0, 120),
    last: 'cut',
  },
  'data-line': {
    summary: 'Ends the stream before the empty line of the third event.',
    piece: (event) => frame(event).slice(0, -1),
    last: 'end',
  },
} as const satisfies Record<string, TornFrame>;

/** The server sends `pieces` one by one; `hold` leaves the connection open. */
export interface ScriptedStream {
  pieces: readonly (string | Buffer)[];
  last: 'cut' | 'end' | 'hold';
}

/** `cut` breaks the connection without an answer. */
export type ScriptedAnswer = ScriptedStream | { refusal: Refusal } | 'cut';

export interface Situation {
  summary: string;
  answers: readonly ScriptedAnswer[];
}

const before = eventsFrom(1001, 2);
const after = eventsFrom(1003, 2);

const between = (last: ScriptedStream['last'], ...answers: readonly ScriptedAnswer[]): readonly ScriptedAnswer[] => [
  { pieces: [frames(before)], last },
  ...answers,
  { pieces: [frames(after)], last: 'hold' },
];
const tornAfter = ({ summary, piece, last }: TornFrame): Situation => ({
  summary,
  answers: [
    { pieces: [frames(before) + piece(event(1003))], last },
    { pieces: [frames(after)], last: 'hold' },
  ],
});
const refused = (refusal: Refusal, times: number): ScriptedAnswer[] =>
  Array.from({ length: times }, () => ({ refusal }));

export const SITUATIONS: Readonly<Record<string, Situation>> = {
  ...Object.fromEntries(
    Object.entries(STREAMS).map(([name, { summary, bytes }]): [string, Situation] => [
      name,
      { summary, answers: [{ pieces: [bytes], last: 'hold' }] },
    ]),
  ),
  'byte-by-byte': {
    summary: 'Sends three events, each byte by itself.',
    answers: [{ pieces: [...Buffer.from(frames(eventsFrom(1, 3)))].map((byte) => Buffer.of(byte)), last: 'hold' }],
  },
  ended: { summary: 'Ends the stream after two events; goes on with the next request.', answers: between('end') },
  cut: { summary: 'Cuts the connection after two events; goes on with the next request.', answers: between('cut') },
  ...Object.fromEntries(Object.entries(TORN).map(([name, each]) => [`torn-${name}`, tornAfter(each)])),
  duplicates: {
    summary: 'Cuts the connection, and repeats the last event with the next request.',
    answers: [
      { pieces: [frames(before)], last: 'cut' },
      { pieces: [frames([...before.slice(1), ...after])], last: 'hold' },
    ],
  },
  'big-ids': {
    summary: 'Sends ids beyond 2^53, and cuts the connection.',
    answers: [
      { pieces: [frames([event('9007199254740993'), event('9007199254740995')])], last: 'cut' },
      { pieces: [frames([event('9007199254740997')])], last: 'hold' },
    ],
  },
  heartbeats: {
    summary: 'Sends heartbeats after two events, and ends the stream.',
    answers: [
      { pieces: [frames(before) + HEARTBEAT.repeat(3)], last: 'end' },
      { pieces: [HEARTBEAT + frames(after)], last: 'hold' },
    ],
  },
  silent: {
    summary: 'Sends no heartbeat after two events, and never ends.',
    answers: [{ pieces: [frames(before)], last: 'hold' }],
  },
  unavailable: {
    summary: 'Cuts the connection, then answers 503 once.',
    answers: between('cut', { refusal: UNAVAILABLE }),
  },
  'retry-after': {
    summary: 'Cuts the connection, then answers 503 with Retry-After once.',
    answers: between('cut', { refusal: withRetryAfter(UNAVAILABLE, RETRY_AFTER_SECONDS) }),
  },
  dead: {
    summary: 'Cuts the connection, then cuts the next 20 requests without an answer.',
    answers: between('cut', ...Array.from({ length: 20 }, (): ScriptedAnswer => 'cut')),
  },
  expired: { summary: 'Cuts the connection, then answers 410 once.', answers: between('cut', ...refused(EXPIRED, 1)) },
  'expired-again': {
    summary: 'Cuts the connection, then answers 410 to the next 20 requests.',
    answers: between('cut', ...refused(EXPIRED, 20)),
  },
};
