/** Sections 6.2 and 7: streams, cursors and pauses in observed traffic. */
import type { ExchangeEnd, RequestSeen } from '../../../harness/client/happening.ts';
import { retryAfterMs } from '../../../harness/common/units.ts';
import type { Judge, Rule } from '../../../harness/runner/rules.ts';
import { cursorOf, isForEvents, PerClient, queryOf, shownRequest } from '../../watched.ts';
import { hammering as cutOff, refused, retryAfter as streamRetryAfter } from '../6.2-connections.ts';
import { cursor, torn } from '../6.2-delivery.ts';
import { hammering as busy, endless, goesOn as expired, loop, retryAfter } from '../7-errors.ts';
import { MOST_REFUSED, WATCHED_MS } from '../support/storm.ts';
import { afterEach, SOON_MS, watched } from './support.ts';

/** Shortest time from an answer to the next request that counts as a pause. */
const LEAST_PAUSE_MS = WATCHED_MS / MOST_REFUSED;

const isOther = (request: RequestSeen): boolean => !isForEvents(request);
/** False for masked or unknown texts, because they may differ. */
const isEqual = (one: string | undefined, other: string | undefined): boolean =>
  one !== undefined && one === other && !one.includes('***');
const isSame = (one: RequestSeen, other: RequestSeen): boolean =>
  (isForEvents(one) && isForEvents(other)) ||
  (one.method === other.method && isEqual(one.target, other.target) && isEqual(one.body, other.body));

const hammering = (
  isMeant: (request: RequestSeen) => boolean,
  isRefusal: (over: ExchangeEnd) => boolean,
  how: string,
): (() => Rule) =>
  afterEach(isMeant, () => {
    const rows = new PerClient(() => ({ length: 0, since: 0 }));
    return (request, { request: before, over }, judge: Judge) => {
      if (!isRefusal(over)) return rows.forget(request.client);
      judge.saw(() => shownRequest(request));
      const row = rows.of(request.client);
      // Divides `LEAST_PAUSE_MS` on separate connections, where several clients may take turns.
      const most = request.connection === before.connection ? LEAST_PAUSE_MS : LEAST_PAUSE_MS / 4;
      const isAtOnce = isSame(request, before) && request.at - over.at < most;
      if (!isAtOnce || row.length === 0) row.since = over.at;
      row.length = isAtOnce ? row.length + 1 : 0;
      judge.must(row.length < MOST_REFUSED, {
        expected: `a pause between requests ${how}`,
        actual: `${row.length} in a row within ${((request.at - row.since) / 1000).toFixed(1)} s`,
      });
    };
  });

/** Tolerance in milliseconds for an HTTP date, which has no fractions of a second. */
const DATE_TOLERANCE_MS = 1300;

const waiting = (isMeant: (request: RequestSeen) => boolean): (() => Rule) =>
  afterEach(isMeant, () => {
    const early = new PerClient(() => ({ times: 0 }));
    return (request, { request: before, over }, judge: Judge) => {
      const asked = over.headers?.['retry-after'];
      if ((over.status !== 429 && over.status !== 503) || asked === undefined || !isSame(request, before)) return;
      const ms = retryAfterMs(over.headers ?? {});
      if (ms === undefined || over.ended !== 'whole') return;
      const waited = request.at - over.at;
      // Tolerance in milliseconds for clock skew, timers and network delay.
      const tolerance = /^\s*[\d.]+\s*$/.test(asked) ? 300 : DATE_TOLERANCE_MS;
      const isEarly = waited < ms - tolerance;
      const state = early.of(request.client);
      const isSameOne = request.connection === before.connection;
      state.times = isSameOne && isEarly ? state.times + 1 : 0;
      // On another connection, the request may come from a client that was not refused.
      if (isEarly && !isSameOne) return;
      judge.saw(() => shownRequest(request));
      // Consecutive early requests that make a finding; a single one may come from another user.
      judge.must(state.times < 2, {
        expected: `no request within ${(ms / 1000).toFixed(1)} s after ${over.status} with Retry-After: ${asked}`,
        actual: `the next one after ${(waited / 1000).toFixed(2)} s, ${state.times} times in a row`,
      });
    };
  });

const answered =
  (...statuses: readonly number[]) =>
  ({ status }: ExchangeEnd): boolean =>
    status !== undefined && statuses.includes(status);
const isCutOff = ({ status, ended }: ExchangeEnd): boolean => status === undefined && ended === 'server';

const pauseRules = [
  watched(
    loop,
    'a client whose cursor is answered 410 twice or more',
    hammering(isForEvents, answered(410), 'that are all answered 410'),
  ),
  watched(
    refused,
    'a stream that is refused, and the request after it',
    hammering(isForEvents, answered(400, 401, 403, 404, 429), 'that are all refused'),
  ),
  watched(
    cutOff,
    'a stream that the agent cuts off before it answers, and the request after it',
    hammering(isForEvents, isCutOff, 'to an agent that cuts them off'),
  ),
  watched(
    streamRetryAfter,
    'a stream that is refused with Retry-After, and the request after it',
    waiting(isForEvents),
  ),
];
export const platformRules = [
  watched(retryAfter, 'a request that is refused with Retry-After, and the same once more', waiting(isOther)),
  watched(
    busy,
    'a request that is answered 429, and the same once more',
    hammering(isOther, answered(429), 'that are all answered 429'),
  ),
  watched(
    endless,
    'a request that is refused, and the same once more',
    hammering(isOther, answered(400, 401, 403, 404), 'that are all refused'),
  ),
];

/** Maximum milliseconds until an immediate reconnection; a later request may be another client's. */
const AT_ONCE_MS = 3_500;
/** Immediate reconnections in a row, without a newer cursor, that make a finding; several clients cause fewer. */
const IN_A_ROW = 12;
/** Consecutive cursors beyond all seen events that make a finding; Muster may miss a single event. */
const BEYOND_IN_A_ROW = 3;
const DECIMAL = /^\d{1,40}$/;

/** Client, path and types, because a client keeps its filter of types. */
const followerOf = (request: RequestSeen): string =>
  `${request.client} ${request.path} ${queryOf(request).getAll('types')}`;

interface Follower {
  /** Last complete event of the latest stream; undefined after a refusal, or if Muster may have missed events. */
  last?: { id: string; at: number };
  /**
   * Reconnections in a row: `without` a cursor, `beyond` all events, or `stuck` at an old cursor despite newer events.
   */
  without: number;
  beyond: number;
  stuck: number;
  /** True once a cursor has shown that several clients share the name. */
  several: boolean;
}

class Events {
  readonly #ids = new WeakMap<RequestSeen, { first: string; last: string }>();
  #newest = 0n;

  take(request: RequestSeen, id: string | undefined): void {
    if (id === undefined || !DECIMAL.test(id)) return;
    const known = this.#ids.get(request);
    if (known === undefined) this.#ids.set(request, { first: id, last: id });
    else known.last = id;
    if (BigInt(id) > this.#newest) this.#newest = BigInt(id);
  }

  of(request: RequestSeen): { first: string; last: string } | undefined {
    return this.#ids.get(request);
  }

  isBeyond(id: string): boolean {
    return BigInt(id) > this.#newest;
  }
}

/** False if the request drops the cursor of the previous one, or names an older one: it is of another client. */
function mayBeSameClient(named: string | undefined, before: RequestSeen, events: Events): boolean {
  const given = cursorOf(before);
  if (named === undefined) return given === undefined;
  const { first } = events.of(before) ?? {};
  const least = given ?? (first === undefined ? undefined : String(BigInt(first) - 1n));
  return least === undefined || ![named, least].every((id) => DECIMAL.test(id)) || BigInt(named) >= BigInt(least);
}

type Returning = ReturnType<Parameters<typeof afterEach>[1]>;

/** Passes each stream with the follower's previous stream, and adds all frames to `events`. */
function afterStreams(events: Events, look: Returning): Rule {
  const comesBack = afterEach(isForEvents, () => look, followerOf)();
  return (seen, judge) => {
    if (seen.kind === 'frame' && seen.request !== undefined) events.take(seen.request, seen.frame.id);
    comesBack(seen, judge);
  };
}

/** Allows a cursor older than the last event, because a client may process events late. */
const cursorRule = (): Rule => {
  const events = new Events();
  const followers = new PerClient<Follower>(() => ({ without: 0, beyond: 0, stuck: 0, several: false }));
  const comesBack = afterStreams(events, (request, before, judge: Judge) => {
    const state = followers.of(followerOf(request));
    const { last } = state;
    const { ended } = before.over;
    if (last === undefined || ended === 'client' || ended === 'unseen' || request.at - last.at > SOON_MS) return;
    const named = cursorOf(request);
    state.several ||= !mayBeSameClient(named, before.request, events);
    if (state.several) return;
    judge.saw(() => shownRequest(request));
    const isBeyond = named !== undefined && DECIMAL.test(named) && events.isBeyond(named);
    const isStuck = named !== undefined && named === cursorOf(before.request) && named !== last.id;
    const isAtOnce = request.at - last.at < AT_ONCE_MS;
    state.without = isAtOnce && named === undefined ? state.without + 1 : 0;
    state.beyond = isBeyond ? state.beyond + 1 : 0;
    state.stuck = isAtOnce && isStuck ? state.stuck + 1 : 0;
    const times = Math.max(state.without, state.beyond, state.stuck);
    judge.must(Math.max(state.without, state.stuck) < IN_A_ROW && state.beyond < BEYOND_IN_A_ROW, {
      expected: `the cursor ${last.id}, as after=${last.id} or Last-Event-ID: ${last.id}`,
      actual: `${named === undefined ? 'no cursor' : `the cursor ${named}`}, ${times} times in a row`,
    });
  });
  return (seen, judge) => {
    comesBack(seen, judge);
    if (seen.kind !== 'over' || !isForEvents(seen.request)) return;
    const { request, over } = seen;
    const state = followers.of(followerOf(request));
    const id = events.of(request)?.last;
    const isKnown = over.status === 200 && over.ended !== 'client' && over.ended !== 'unseen' && id !== undefined;
    // Forgets the last event after a refusal, or if the client may have received more events than Muster saw.
    if (isKnown) state.last = { id, at: over.at };
    else delete state.last;
  };
};

const tornRule = (): Rule => {
  const events = new Events();
  return afterStreams(events, (request, before, judge: Judge) => {
    // A client that left by itself may have received events that Muster did not see.
    if (before.over.ended !== 'server') return;
    const last = events.of(before.request)?.last;
    const [, id] = /^id: ?(\d{1,40})\r?$/m.exec(before.over.torn ?? '') ?? [];
    const named = cursorOf(request);
    if (id === undefined || last === undefined || named === undefined) return;
    if (request.at - before.over.at > SOON_MS) return;
    // Skips an event that has come whole on any stream, because the request may be of a client that received it.
    if (!events.isBeyond(id)) return;
    judge.saw(() => shownRequest(request));
    const expected = `the cursor ${last}, that of the last event which came whole`;
    judge.must(named !== id, { expected, actual: `the cursor ${id}, that of an event of which only a part came` });
  });
};

const expiredRule = afterEach(isForEvents, () => {
  const again = new PerClient(() => ({ here: 0, inARow: 0 }));
  return (request, { request: before, over }, judge: Judge) => {
    const dead = cursorOf(before);
    if (over.status !== 410 || dead === undefined) return again.forget(request.client);
    judge.saw(() => shownRequest(request));
    const state = again.of(request.client);
    const isAgain = cursorOf(request) === dead;
    const isHere = request.connection === before.connection;
    state.here = isAgain && isHere ? state.here + 1 : 0;
    state.inARow = isAgain && (isHere || request.at - over.at < AT_ONCE_MS) ? state.inARow + 1 : 0;
    judge.must(state.here < 5 && state.inARow < IN_A_ROW, {
      expected: 'a request without the cursor that has expired',
      actual: `${Math.max(state.here, state.inARow)} more with the cursor ${dead}`,
    });
  };
});

export const deviceRules = [
  watched(cursor, 'a stream that ends after events, and the next one of the same client', cursorRule),
  watched(torn, 'a stream that is cut within an event, and the next one of the same client', tornRule, [cursor]),
  watched(expired, 'a cursor that is answered 410, and the next stream of the same client', expiredRule),
  ...pauseRules,
];
