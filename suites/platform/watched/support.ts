/** What rules of a platform read from the traffic of others. */
import type { AnswerSeen, Happening, RequestSeen } from '../../../harness/client/happening.ts';
import { isPing, KEY, queryOf } from '../../watched.ts';
import { COLLECTIONS } from '../support/lists.ts';

interface Answered {
  request: RequestSeen;
  answer: AnswerSeen;
}

/** An answer to a client with a key: an agent, or a user of a console, may have other endpoints. */
export function answerIn(seen: Happening): Answered | undefined {
  if (seen.kind !== 'answer' || seen.request?.headers[KEY] === undefined) return undefined;
  return { request: seen.request, answer: seen.answer };
}

const isOfCollection = ({ path }: RequestSeen): boolean => COLLECTIONS.some((name) => path.endsWith(`/${name}`));

/** The answer to a request that the specification shows: for a list, for something new in one, for a ping. */
export function answerShown(seen: Happening): Answered | undefined {
  const found = answerIn(seen);
  if (found === undefined) return undefined;
  const { request } = found;
  const isOfList = isOfCollection(request) && ['GET', 'POST'].includes(request.method);
  return isOfList || isPing(request) ? found : undefined;
}

/** The answer to a request for a list, whatever it is. */
export function listAnswerIn(seen: Happening): (Answered & { query: URLSearchParams }) | undefined {
  const found = answerIn(seen);
  if (found === undefined || found.request.method !== 'GET' || !isOfCollection(found.request)) return undefined;
  return { ...found, query: queryOf(found.request) };
}
