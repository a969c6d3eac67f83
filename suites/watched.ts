/** Rules for HTTP traffic that Muster watches without taking part. */
import type { RequestSeen } from '../harness/client/happening.ts';
import { TrafficRedactor } from '../harness/common/traffic-redactor.ts';
import { DIALECTS, NAMES_BY_DIALECT } from '../harness/contract/versions.ts';
import { rules } from '../harness/runner/define.ts';
import type { Rule } from '../harness/runner/rules.ts';
import type { Check, Requirement } from '../harness/runner/types.ts';

export const watchedRule = (
  requirement: Requirement,
  premises: readonly string[],
  traffic: string,
  rule: () => Rule,
  about: Pick<Check<unknown>, 'bySecrets'> = {},
): Check<unknown> => rules<unknown>()(requirement, { aspect: 'watched', premises, traffic, ...about }, rule);

export class PerClient<T> {
  readonly #known = new Map<string, T>();
  readonly #make: () => T;

  constructor(make: () => T) {
    this.#make = make;
  }

  of(client: string): T {
    const known = this.#known.get(client) ?? this.#make();
    // Moves the client to the end, because a full map drops its first client, which was silent for longest.
    this.#known.delete(client);
    this.#known.set(client, known);
    // Maximum number of remembered clients; a proxy in front of a platform may see thousands.
    const [oldest] = this.#known.size > 1000 ? this.#known.keys() : [];
    if (oldest !== undefined) this.#known.delete(oldest);
    return known;
  }

  forget(client: string): void {
    this.#known.delete(client);
  }
}

export const queryOf = ({ target }: Pick<RequestSeen, 'target'>): URLSearchParams =>
  new URLSearchParams(target.includes('?') ? target.slice(target.indexOf('?') + 1) : '');

export const isForEvents = (request: RequestSeen): boolean =>
  request.method === 'GET' && request.path.endsWith('/events');
export const isForCurrent = (request: RequestSeen): boolean =>
  request.method === 'GET' && request.path.endsWith('/deployments/current');
export const isPing = (request: RequestSeen): boolean =>
  request.method === 'POST' && /\/devices\/[^/]+\/ping$/.test(request.path);

export function listOf(request: RequestSeen): string {
  const query = queryOf(request);
  for (const name of ['limit', 'offset']) query.delete(name);
  return `${request.client} ${request.path}?${query}`;
}

/** `after` takes precedence over `Last-Event-ID` (section 4.1 of the specification). */
export const cursorOf = (request: RequestSeen): string | undefined =>
  queryOf(request).get('after') ?? request.headers['last-event-id'];

export const KEY = 'x-api-key';
export const VERSION_HEADERS = DIALECTS.map((name) => NAMES_BY_DIALECT[name].versionHeader.toLowerCase());
export const versionOf = ({ headers }: RequestSeen) =>
  DIALECTS.map((dialect) => NAMES_BY_DIALECT[dialect].versionHeader)
    .map((name) => ({ name, value: headers[name.toLowerCase()] }))
    .find(({ value }) => value !== undefined);
export const VERSION_FORMAT = /^\d{4}-\d{2}-\d{2}\.[^\s.]+$/;

export const shownRequest = ({ method, target, headers, body = '' }: RequestSeen): string =>
  `${method} ${MASKING.url(target)}\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${SECRET.test(name) ? '***' : value}\n`)
    .join('')}\n${body.slice(0, 2000)}`;
const MASKING = new TrafficRedactor();
const SECRET = /key|token|secret|authorization|cookie/i;
