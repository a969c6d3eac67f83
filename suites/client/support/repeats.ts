/** Finds clients that repeat answered requests without end, so that no check waits for their end. */

import { runningMs } from '../../../harness/common/waiting.ts';
import type { ClientRequest } from './server.ts';

/** Number of equal requests with equal answers at which a client counts as endless. */
const MOST_SAME = 20;
/** Milliseconds in which a client may send no more than `MOST_REFUSED` refused requests. */
export const WATCHED_MS = 3000;
export const MOST_REFUSED = 30;

/** Equal requests of a client, timed by a clock that stops while this process is held up. */
interface Asked {
  readonly firstMs: number;
  readonly recentMs: number[];
  times: number;
  /** Answer to the last but one request. */
  answer: string | undefined;
  last: ClientRequest;
}

export class Repeats {
  readonly #asked = new Map<string, Asked>();
  readonly #nowMs: () => number;
  words: string | undefined;

  constructor(nowMs = runningMs) {
    this.#nowMs = nowMs;
  }

  take(request: ClientRequest): void {
    const { method, path, query, cursor, body } = request;
    const key = JSON.stringify([method, path, query.toString(), cursor, body]);
    const now = this.#nowMs();
    const before = this.#asked.get(key);
    const answer = before === undefined ? undefined : answerTo(before.last);
    const isSame = before !== undefined && answer !== undefined && (before.answer ?? answer) === answer;
    const asked = isSame ? before : { firstMs: now, recentMs: [], times: 0, answer, last: request };
    this.#asked.set(key, asked);
    asked.times += 1;
    asked.recentMs.push(now);
    if (asked.recentMs.length > MOST_REFUSED + 1) asked.recentMs.shift();
    if (isSame) asked.answer = answer;
    const isGiven = before?.last.answered === 'whole' && isSuccess(before.last.status);
    asked.last = request;
    this.words = isEndless(asked, isGiven) ? wordsOf(asked, now) : undefined;
  }
}

const isSuccess = (status = 0): boolean => status >= 200 && status < 300;

const answerTo = ({ answered, status, sent }: ClientRequest): string | undefined =>
  answered === undefined ? undefined : `${answered} ${status} ${sent}`;

/** True if a client repeats itself without end; refused requests with pauses are allowed. */
function isEndless({ times, recentMs }: Asked, isGiven: boolean): boolean {
  if (isGiven) return times >= MOST_SAME;
  const [first = 0] = recentMs;
  return recentMs.length > MOST_REFUSED && (recentMs.at(-1) ?? 0) - first <= WATCHED_MS;
}

function wordsOf({ last, answer = '', times, firstMs }: Asked, now: number): string {
  const { method, path, query, headers } = last;
  const cursor = headers['last-event-id'];
  const asked = `${method} ${path}${query.size === 0 ? '' : `?${query}`}`;
  const [, status = ''] = answer.split(' ');
  return (
    `asked for ${asked}${cursor === undefined ? '' : ` with Last-Event-ID: ${cursor}`} again and again, ` +
    `${times} times in ${((now - firstMs) / 1000).toFixed(1)} s, ` +
    `each time ${status === 'undefined' ? 'cut off' : `answered ${status}`}`
  );
}
