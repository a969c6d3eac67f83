/**
 * What rules of clients go by, where nobody knows which client asks. A client is told from another one by its
 * User-Agent and its credentials, so several may look like one, also where they take turns: then what they do one after
 * the other means nothing. A finding needs what no clients that behave would show together.
 */
import type { Happening, Over, RequestSeen } from '../../../harness/client/happening.ts';
import type { Judge, Rule } from '../../../harness/runner/rules.ts';
import type { Check, Requirement } from '../../../harness/runner/types.ts';
import { PerClient, watchedRule } from '../../watched.ts';

/** A rule of a requirement of the client suite, and those that it rests on. */
export const watched = (
  requirement: Requirement,
  rule: () => Rule,
  premises: readonly Requirement[] = [],
): Check<unknown> =>
  watchedRule(
    requirement,
    premises.map(({ id }) => `${id}.watched`),
    rule,
  );

interface Crowd {
  open: Set<RequestSeen>;
  several: boolean;
  last?: RequestSeen['connection'];
}

/**
 * Whether several ask in one name: requests were under way together, or one came on another connection while that of
 * the one before was still open. One client would have used that again.
 */
class Crowds {
  readonly #of = new PerClient<Crowd>(() => ({ open: new Set(), several: false }));

  take(seen: Happening, who: string): void {
    if (seen.kind === 'asked') {
      const crowd = this.#of.of(who);
      crowd.open.add(seen.request);
      const { connection } = seen.request;
      const isOther = crowd.last !== undefined && crowd.last !== connection && crowd.last.open;
      crowd.last = connection;
      if (crowd.open.size > 1 || isOther) {
        crowd.several = true;
        crowd.open.clear();
      }
    } else if (seen.kind === 'over') {
      const crowd = this.#of.of(who);
      crowd.open.delete(seen.request);
      // That client may still be there, and do more that nobody sees.
      if (seen.over.ended === 'unseen') crowd.several = true;
    }
  }

  /** Nothing shows that more than one asks in this name. */
  isOne(who: string): boolean {
    return !this.#of.of(who).several;
  }
}

/** A request, and what came of it. */
export interface Exchange {
  request: RequestSeen;
  over: Over;
}

/**
 * A rule that goes by what one client does after the other. It gets each request as it is made, with the one before it
 * of the same client that `isMeant`, as long as nothing shows that several ask in that name. `whoOf`: what one client
 * keeps, where that is more than its name.
 */
export const afterEach =
  (
    isMeant: (request: RequestSeen) => boolean,
    look: () => (request: RequestSeen, before: Exchange, judge: Judge) => void,
    whoOf = ({ client }: RequestSeen) => client,
  ) =>
  (): Rule => {
    const crowds = new Crowds();
    const last = new PerClient<{ exchange?: Exchange }>(() => ({}));
    const each = look();
    return (seen, judge) => {
      if (seen.kind !== 'asked' && seen.kind !== 'over') return;
      const { request } = seen;
      if (!isMeant(request)) return;
      const who = whoOf(request);
      crowds.take(seen, who);
      const state = last.of(who);
      if (seen.kind === 'over') state.exchange = { request, over: seen.over };
      else if (state.exchange !== undefined && crowds.isOne(who)) each(request, state.exchange, judge);
    };
  };
