/**
 * What rules of clients go by, where nobody knows which client asks. A client is told from another one by its
 * User-Agent and its credentials, so several may look like one, also where they take turns: then what they do one after
 * the other means nothing. A finding needs what no clients that behave would show together.
 */
import type { Happening, Over, RequestSeen } from '../../../harness/client/happening.ts';
import { TrafficRedactor } from '../../../harness/common/redact.ts';
import { rules } from '../../../harness/runner/define.ts';
import type { Judge, Rule } from '../../../harness/runner/rules.ts';
import type { Check, Requirement } from '../../../harness/runner/types.ts';

/** Clients that are remembered: a proxy in front of a platform may see thousands. */
const MOST_CLIENTS = 1000;

const declare = rules<unknown>();

/** A rule of a requirement of the client suite. Its check is called `<requirement>.watched`. */
export const watched = (
  requirement: Requirement,
  rule: () => Rule,
  premises: readonly Requirement[] = [],
): Check<unknown> =>
  declare(requirement, { aspect: 'watched', premises: premises.map(({ id }) => `${id}.watched`) }, rule);

/** Something about each of the newest clients. */
export class PerClient<T> {
  readonly #known = new Map<string, T>();
  readonly #make: () => T;

  constructor(make: () => T) {
    this.#make = make;
  }

  of(client: string): T {
    const known = this.#known.get(client) ?? this.#make();
    // The newest last.
    this.#known.delete(client);
    this.#known.set(client, known);
    const [oldest] = this.#known.size > MOST_CLIENTS ? this.#known.keys() : [];
    if (oldest !== undefined) this.#known.delete(oldest);
    return known;
  }

  forget(client: string): void {
    this.#known.delete(client);
  }
}

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

// What a request is about.

export const queryOf = ({ target }: RequestSeen): URLSearchParams =>
  new URLSearchParams(target.includes('?') ? target.slice(target.indexOf('?') + 1) : '');

export const isForEvents = (request: RequestSeen): boolean =>
  request.method === 'GET' && request.path.endsWith('/events');
export const isForCurrent = (request: RequestSeen): boolean =>
  request.method === 'GET' && request.path.endsWith('/deployments/current');
export const isPing = (request: RequestSeen): boolean =>
  request.method === 'POST' && /\/devices\/[^/]+\/ping$/.test(request.path);

/** The cursor that a request names; `after` wins (section 4.1). */
export const cursorOf = (request: RequestSeen): string | undefined =>
  queryOf(request).get('after') ?? request.headers['last-event-id'];

/** A request in words, for a finding: its fields without credentials. */
export const shownRequest = ({ method, target, headers, body = '' }: RequestSeen): string =>
  `${method} ${MASKING.url(target)}\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${SECRET.test(name) ? '***' : value}\n`)
    .join('')}\n${body.slice(0, 2000)}`;
const MASKING = new TrafficRedactor();
const SECRET = /key|token|secret|authorization|cookie/i;
