/** Whether a client asks without end for what it has been answered, so that no check has to wait for its end. */

import { runningMs } from '../../../harness/common/waiting.ts';
import type { ClientRequest } from './server.ts';

/** Nobody needs the same result so often. */
const MOST_SAME = 20;
/** So long a client is watched that may hammer. Asking every tenth of a second would still do. */
export const WATCHED_MS = 3000;
export const MOST_REFUSED = 30;

/** A request that came again and again. Moments are on the clock that stands still while this process does. */
interface Asked {
  readonly firstMs: number;
  /** Of the last ones. */
  readonly recentMs: number[];
  times: number;
  /** What the one before the last was answered. */
  answer: string | undefined;
  last: ClientRequest;
}

/** Of one run of a client. */
export class Repeats {
  readonly #asked = new Map<string, Asked>();
  readonly #nowMs: () => number;
  #words: string | undefined;

  constructor(nowMs = runningMs) {
    this.#nowMs = nowMs;
  }

  /** To be called with each request, before it is answered. */
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
    this.#words = isEndless(asked, isGiven) ? wordsOf(asked, now) : undefined;
  }

  /** What the client does, in words, where its last request shows that it goes on without end. */
  get words(): string | undefined {
    return this.#words;
  }
}

const isSuccess = (status = 0): boolean => status >= 200 && status < 300;

/** Undefined for a stream, and for what is not answered yet. */
const answerTo = ({ answered, status, sent }: ClientRequest): string | undefined =>
  answered === undefined ? undefined : `${answered} ${status} ${sent}`;

/** A refusal may be asked again, with a pause. `isGiven`: it had what it asked for. */
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
