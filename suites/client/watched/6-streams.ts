/** Sections 6.2 and 7: how a client comes back to the event stream. */
import type { RequestSeen } from '../../../harness/client/happening.ts';
import type { Judge, Rule } from '../../../harness/runner/rules.ts';
import { cursor, torn } from '../6.2-delivery.ts';
import { goesOn } from '../7-expired.ts';
import { afterEach, cursorOf, isForEvents, PerClient, shownRequest, watched } from './support.ts';

/** A client that comes back later may be another one, or the same one that was started anew. */
const SOON_MS = 60_000;
/** Once may be chance: a user who asks twice by hand, or an agent that was started anew. */
const TELLING = 3;
const DECIMAL = /^\d{1,40}$/;

interface Follower {
  /** Id of the last event that was whole on a stream that its server has ended. */
  last?: { id: string; at: number };
  /** Times in a row that it came back without a cursor, or with one beyond its last event. */
  without: number;
  beyond: number;
  /** The cursor with which it came back, and how often in a row although events have come since. */
  stuck: { cursor: string; times: number };
}

const follower = (): Follower => ({ without: 0, beyond: 0, stuck: { cursor: '', times: 0 } });

/** The last event of each stream that is open. */
class LastEvents {
  readonly #ids = new WeakMap<RequestSeen, string>();

  take(request: RequestSeen, id: string | undefined): void {
    if (id !== undefined && DECIMAL.test(id)) this.#ids.set(request, id);
  }

  of(request: RequestSeen): string | undefined {
    return this.#ids.get(request);
  }
}

/**
 * Only what loses events counts: no cursor, one beyond the last event, or the same one again and again. An older one
 * may be that of the last event that was dealt with.
 */
const cursorRule = (): Rule => {
  const events = new LastEvents();
  const followers = new PerClient(follower);
  const comesBack = afterEach(isForEvents, () => (request, before, judge: Judge) => {
    const state = followers.of(request.client);
    const { last } = state;
    if (
      last === undefined ||
      before.over.ended === 'client' ||
      before.over.ended === 'unseen' ||
      request.at - last.at > SOON_MS
    )
      return;
    judge.saw(() => shownRequest(request));
    const named = cursorOf(request);
    const isBeyond = named !== undefined && DECIMAL.test(named) && BigInt(named) > BigInt(last.id);
    const isStuck = named !== undefined && named === state.stuck.cursor && named !== last.id;
    state.without = named === undefined ? state.without + 1 : 0;
    state.beyond = isBeyond ? state.beyond + 1 : 0;
    state.stuck = { cursor: named ?? '', times: isStuck ? state.stuck.times + 1 : 0 };
    const times = Math.max(state.without, state.beyond, state.stuck.times);
    judge.must(times < TELLING, {
      expected: `the cursor ${last.id}, as after=${last.id} or Last-Event-ID: ${last.id}`,
      actual: `${named === undefined ? 'no cursor' : `the cursor ${named}`}, ${times} times in a row`,
    });
  })();
  return (seen, judge: Judge) => {
    if (seen.kind === 'frame' && seen.request !== undefined) events.take(seen.request, seen.frame.id);
    comesBack(seen, judge);
    if (seen.kind !== 'over' || !isForEvents(seen.request)) return;
    const { request, over } = seen;
    const state = followers.of(request.client);
    const id = events.of(request);
    const isKnown = over.status === 200 && over.ended !== 'client' && over.ended !== 'unseen' && id !== undefined;
    // After 410 it begins anew; after any other end nobody knows how far it came.
    if (isKnown) state.last = { id, at: over.at };
    else delete state.last;
  };
};

/** The id that stands in a block which never became whole, and is beyond the last event. */
function tornId(text: string | undefined, last: string | undefined): string | undefined {
  const [, id] = /^id: ?(\d{1,40})\r?$/m.exec(text ?? '') ?? [];
  return id !== undefined && last !== undefined && BigInt(id) > BigInt(last) ? id : undefined;
}

const tornRule = (): Rule => {
  const events = new LastEvents();
  const comesBack = afterEach(isForEvents, () => (request, before, judge: Judge) => {
    // Whoever has left a stream, or was not seen to its end, may have got more of it than was seen.
    if (before.over.ended !== 'server') return;
    const id = tornId(before.over.torn, events.of(before.request));
    const named = cursorOf(request);
    if (id === undefined || named === undefined || request.at - before.over.at > SOON_MS) return;
    judge.saw(() => shownRequest(request));
    judge.must(named !== id, {
      expected: `the cursor ${events.of(before.request)}, that of the last event which came whole`,
      actual: `the cursor ${id}, that of an event of which only a part came`,
    });
  })();
  return (seen, judge: Judge) => {
    if (seen.kind === 'frame' && seen.request !== undefined) events.take(seen.request, seen.frame.id);
    comesBack(seen, judge);
  };
};

/** Requests with the cursor that has expired, after the first one. */
const PATIENT = 5;

const expiredRule = afterEach(isForEvents, () => {
  const again = new PerClient(() => ({ times: 0 }));
  return (request, { request: before, over }, judge: Judge) => {
    const dead = cursorOf(before);
    if (over.status !== 410 || dead === undefined) return again.forget(request.client);
    judge.saw(() => shownRequest(request));
    const state = again.of(request.client);
    state.times = cursorOf(request) === dead ? state.times + 1 : 0;
    judge.must(state.times < PATIENT, {
      expected: 'a request without the cursor that has expired',
      actual: `${PATIENT} more with the cursor ${dead}`,
    });
  };
});

export const deviceRules = [
  watched(cursor, cursorRule),
  watched(torn, tornRule, [cursor]),
  watched(goesOn, expiredRule),
];
