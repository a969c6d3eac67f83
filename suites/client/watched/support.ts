/**
 * Support of rules on traffic that does not identify clients. User-Agent and credentials name a client, so several may
 * share a name, even in turns, and a sequence of their requests means nothing. A finding needs traffic that no correct
 * clients would make together.
 */
import type { Happening, Over, RequestSeen } from '../../../harness/client/happening.ts';
import type { Judge, Rule } from '../../../harness/runner/rules.ts';
import type { Check, Requirement } from '../../../harness/runner/types.ts';
import { PerClient, watchedRule } from '../../watched.ts';

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
 * Finds several clients of one name by simultaneous requests, or by a request on another connection while the last
 * connection, which one client would have reused, was open.
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
      // The client may go on unseen.
      if (seen.over.ended === 'unseen') crowd.several = true;
    }
  }

  isOne(who: string): boolean {
    return !this.#of.of(who).several;
  }
}

export interface Exchange {
  request: RequestSeen;
  over: Over;
}

/**
 * Rule about consecutive requests of one client: gets each request that `isMeant`, with the request before it, unless
 * traffic shows several clients of that name. `whoOf`: key of one client. Default: its name.
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
