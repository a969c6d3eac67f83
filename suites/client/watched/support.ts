import type { ExchangeEnd, Happening, RequestSeen } from '../../../harness/client/happening.ts';
import type { Judge, Rule } from '../../../harness/runner/rules.ts';
import type { Check, Requirement } from '../../../harness/runner/types.ts';
import { PerClient, watchedRule } from '../../watched.ts';

/** Milliseconds in which a name stands for one client; later, it may belong to another or to a restarted client. */
export const SOON_MS = 60_000;

export const watched = (
  requirement: Requirement,
  traffic: string,
  rule: () => Rule,
  premises: readonly Requirement[] = [],
): Check<unknown> =>
  watchedRule(
    requirement,
    premises.map(({ id }) => `${id}.watched`),
    traffic,
    rule,
  );

interface Crowd {
  open: Set<RequestSeen>;
  several: boolean;
  last?: RequestSeen['connection'];
}

/** Finds names that several clients share: their requests overlap, or leave the previous connection open and unused. */
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
      // After an unknown end, the request may still be open.
      if (seen.over.ended === 'unseen') crowd.several = true;
    }
  }

  isOne(who: string): boolean {
    return !this.#of.of(who).several;
  }
}

interface Exchange {
  request: RequestSeen;
  over: ExchangeEnd;
}

/** Passes each request with the client's previous exchange, unless several clients share the name from `whoOf`. */
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
