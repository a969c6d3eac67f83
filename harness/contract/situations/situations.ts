/** Situations of the client suite that follow a script, one answer a request, so that they can be played by hand as well. */
import { EXPIRED, type Refusal, UNAVAILABLE, UNAVAILABLE_FOR } from './answers.ts';
import { event, eventsFrom, frames, HEARTBEAT } from './events.ts';
import { STREAMS } from './streams.ts';
import { TORN, type TornFrame } from './torn.ts';

/** A stream: its pieces, each sent by itself, and what comes after the last one. `hold`: nothing, while the connection stays. */
export interface ScriptedStream {
  pieces: readonly (string | Buffer)[];
  last: 'cut' | 'end' | 'hold';
}

/** `cut`: the connection is broken off without an answer. */
export type Answer = ScriptedStream | { refusal: Refusal } | 'cut';

export interface Situation {
  summary: string;
  /** One after the other. The last one is also the answer to every later request. */
  answers: readonly Answer[];
}

const before = eventsFrom(1001, 2);
const after = eventsFrom(1003, 2);

/** Two events, then an answer to each of the next requests, then what was missing. */
const between = (last: ScriptedStream['last'], ...answers: readonly Answer[]): readonly Answer[] => [
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
const bytesOf = (text: string): Buffer[] => [...Buffer.from(text)].map((byte) => Buffer.of(byte));
const refused = (refusal: Refusal, times: number): Answer[] => Array.from({ length: times }, () => ({ refusal }));

/** By the names that `muster simulate device --scenario` takes. */
export const SITUATIONS: Readonly<Record<string, Situation>> = {
  ...Object.fromEntries(
    Object.entries(STREAMS).map(([name, { summary, bytes }]): [string, Situation] => [
      name,
      { summary, answers: [{ pieces: [bytes], last: 'hold' }] },
    ]),
  ),
  'byte-by-byte': {
    summary: 'Sends three events, each byte by itself.',
    answers: [{ pieces: bytesOf(frames(eventsFrom(1, 3))), last: 'hold' }],
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
    answers: between('cut', { refusal: UNAVAILABLE_FOR }),
  },
  dead: {
    summary: 'Cuts the connection, then cuts the next 20 requests without an answer.',
    answers: between('cut', ...Array.from({ length: 20 }, (): Answer => 'cut')),
  },
  expired: { summary: 'Cuts the connection, then answers 410 once.', answers: between('cut', ...refused(EXPIRED, 1)) },
  'expired-again': {
    summary: 'Cuts the connection, then answers 410 to the next 20 requests.',
    answers: between('cut', ...refused(EXPIRED, 20)),
  },
};
