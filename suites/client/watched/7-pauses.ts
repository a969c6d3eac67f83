/** Sections 6.2 and 7: pauses after refusals in observed traffic of clients. */
import type { Over, RequestSeen } from '../../../harness/client/happening.ts';
import { retryAfterMs } from '../../../harness/common/durations.ts';
import type { Judge, Rule } from '../../../harness/runner/rules.ts';
import { isForEvents, PerClient, shownRequest } from '../../watched.ts';
import { hammering as cutOff, refused, retryAfter as streamRetryAfter } from '../6.2-back-off.ts';
import { hammering as busy, retryAfter } from '../7-busy.ts';
import { endless } from '../7-errors.ts';
import { loop } from '../7-expired.ts';
import { MOST_REFUSED, WATCHED_MS } from '../support/repeats.ts';
import { afterEach, watched } from './support.ts';

/** Minimum milliseconds between an answer and the next request that count as a pause. */
const AT_ONCE_MS = WATCHED_MS / MOST_REFUSED;
/** Divisor of `AT_ONCE_MS` for separate connections, on which several clients may ask one after another. */
const IN_TURNS = 4;

const isOther = (request: RequestSeen): boolean => !isForEvents(request);
/** True for equal texts, but not for masked or unknown texts, which may differ. */
const isEqual = (one: string | undefined, other: string | undefined): boolean =>
  one !== undefined && one === other && !one.includes('***');
const isSame = (one: RequestSeen, other: RequestSeen): boolean =>
  (isForEvents(one) && isForEvents(other)) ||
  (one.method === other.method && isEqual(one.target, other.target) && isEqual(one.body, other.body));

const hammering = (
  isMeant: (request: RequestSeen) => boolean,
  isRefusal: (over: Over) => boolean,
  how: string,
): (() => Rule) =>
  afterEach(isMeant, () => {
    const rows = new PerClient(() => ({ length: 0, since: 0 }));
    return (request, { request: before, over }, judge: Judge) => {
      if (!isRefusal(over)) return rows.forget(request.client);
      judge.saw(() => shownRequest(request));
      const row = rows.of(request.client);
      const most = request.connection === before.connection ? AT_ONCE_MS : AT_ONCE_MS / IN_TURNS;
      const isAtOnce = isSame(request, before) && request.at - over.at < most;
      if (!isAtOnce || row.length === 0) row.since = over.at;
      row.length = isAtOnce ? row.length + 1 : 0;
      judge.must(row.length < MOST_REFUSED, {
        expected: `a pause between requests ${how}`,
        actual: `${row.length} in a row within ${((request.at - row.since) / 1000).toFixed(1)} s`,
      });
    };
  });

/** Milliseconds of tolerance for clock skew, timers and network delay. */
const TOLERANCE_MS = 300;
/** Milliseconds of tolerance for a wait until an HTTP date, which has no fractions of a second. */
const DATE_TOLERANCE_MS = 1300;
/** Number of early requests in a row that make a finding; one early request may come from another user. */
const EARLY_IN_A_ROW = 2;

const waiting = (isMeant: (request: RequestSeen) => boolean): (() => Rule) =>
  afterEach(isMeant, () => {
    const early = new PerClient(() => ({ times: 0 }));
    return (request, { request: before, over }, judge: Judge) => {
      const asked = over.headers?.['retry-after'];
      if ((over.status !== 429 && over.status !== 503) || asked === undefined || !isSame(request, before)) return;
      const ms = retryAfterMs(over.headers ?? {});
      if (ms === undefined || over.ended !== 'whole') return;
      const waited = request.at - over.at;
      const tolerance = /^\s*[\d.]+\s*$/.test(asked) ? TOLERANCE_MS : DATE_TOLERANCE_MS;
      const isEarly = waited < ms - tolerance;
      const state = early.of(request.client);
      const isSameOne = request.connection === before.connection;
      state.times = isSameOne && isEarly ? state.times + 1 : 0;
      // Skips an early request on another connection, which may come from a client that was not refused.
      if (isEarly && !isSameOne) return;
      judge.saw(() => shownRequest(request));
      judge.must(state.times < EARLY_IN_A_ROW, {
        expected: `no request within ${(ms / 1000).toFixed(1)} s after ${over.status} with Retry-After: ${asked}`,
        actual: `the next one after ${(waited / 1000).toFixed(2)} s, ${state.times} times in a row`,
      });
    };
  });

const answered =
  (...statuses: readonly number[]) =>
  ({ status }: Over): boolean =>
    status !== undefined && statuses.includes(status);
const isCutOff = ({ status, ended }: Over): boolean => status === undefined && ended === 'server';

export const deviceRules = [
  watched(loop, hammering(isForEvents, answered(410), 'that are all answered 410')),
  watched(refused, hammering(isForEvents, answered(400, 401, 403, 404, 429), 'that are all refused')),
  watched(cutOff, hammering(isForEvents, isCutOff, 'to an agent that cuts them off')),
  watched(streamRetryAfter, waiting(isForEvents)),
];
export const platformRules = [
  watched(retryAfter, waiting(isOther)),
  watched(busy, hammering(isOther, answered(429), 'that are all answered 429')),
  watched(endless, hammering(isOther, answered(400, 401, 403, 404), 'that are all refused')),
];
