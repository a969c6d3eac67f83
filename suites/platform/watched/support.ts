/** What rules of a platform read from the traffic of others. */
import { createHash } from 'node:crypto';
import type { AnswerSeen, Happening, RequestSeen } from '../../../harness/client/happening.ts';
import { SUPPORTED_VERSIONS } from '../../../harness/contract/versions.ts';
import { isPing, KEY, listOf, queryOf, VERSION_HEADERS } from '../../watched.ts';
import { isCollection } from '../support/seen.ts';

interface Answered {
  request: RequestSeen;
  answer: AnswerSeen;
}

/** An answer to a client with a key: an agent, or a user of a console, may have other endpoints. */
export function answerIn(seen: Happening): Answered | undefined {
  if (seen.kind !== 'answer' || seen.request?.headers[KEY] === undefined) return undefined;
  return { request: seen.request, answer: seen.answer };
}

const versionHeaders = ({ headers }: RequestSeen): string[] =>
  VERSION_HEADERS.filter((name) => headers[name] !== undefined);

/**
 * Finds the version that clients with a key name. Nobody says by which header a platform goes: where a request has
 * those of both dialects, and once clients have used one each, it is left open. What stays: where all clients send
 * the header that the platform ignores, it is held to that.
 */
export function versions(): (seen: Happening) => string | undefined {
  const used = new Set<string>();
  return (seen) => {
    const { request } = answerIn(seen) ?? {};
    const names = request === undefined ? [] : versionHeaders(request);
    for (const each of names) used.add(each);
    const [name] = names;
    return name === undefined || used.size > 1 ? undefined : request?.headers[name];
  };
}

/** The answer to a request that the specification shows: for a list, for something new in one, for a ping. */
export function answerShown(seen: Happening): Answered | undefined {
  const found = answerIn(seen);
  if (found === undefined) return undefined;
  const { request } = found;
  const isOfList = isCollection(request.path) && ['GET', 'POST'].includes(request.method);
  return isOfList || isPing(request) ? found : undefined;
}

interface ListAsked {
  query: URLSearchParams;
  /** The same for each page of it that one client gets in one version. Short, since rules remember many. */
  key: string;
}

/** Several rules ask about the same request. */
const LISTS = new WeakMap<RequestSeen, ListAsked>();

function listAsked(request: RequestSeen): ListAsked {
  const known = LISTS.get(request);
  if (known !== undefined) return known;
  const text = `${VERSION_HEADERS.map((name) => request.headers[name])} ${listOf(request)}`;
  const asked = { query: queryOf(request), key: createHash('sha256').update(text).digest('base64url') };
  LISTS.set(request, asked);
  return asked;
}

const isSupported = (version = ''): boolean => SUPPORTED_VERSIONS.some((each) => each === version);

/** The answer to a request for a list, whatever it is. Another version may have other lists. */
export function listAnswerIn(seen: Happening): (Answered & ListAsked) | undefined {
  const found = answerIn(seen);
  if (found === undefined || found.request.method !== 'GET' || !isCollection(found.request.path)) return undefined;
  const { request } = found;
  if (!versionHeaders(request).every((name) => isSupported(request.headers[name]))) return undefined;
  return { ...found, ...listAsked(request) };
}
