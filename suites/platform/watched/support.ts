/** Reads answers, versions and lists from the watched traffic of a platform. */
import { createHash } from 'node:crypto';
import type { AnswerSeen, Happening, RequestSeen } from '../../../harness/client/happening.ts';
import { DIALECT_NAMES, SUPPORTED_VERSIONS } from '../../../harness/contract/versions.ts';
import { isPing, KEY, listOf, queryOf, VERSION_FORMAT, VERSION_HEADERS } from '../../watched.ts';
import { STATUSES_OF_OTHER_CAUSES } from '../9-versions.ts';
import { isCollection } from '../support/answers.ts';
import { refused } from '../support/requests.ts';

interface Answered {
  request: RequestSeen;
  answer: AnswerSeen;
}

/** Returns an answer to a request with a key; agents and users of a console may have other endpoints. */
export function answerIn(seen: Happening): Answered | undefined {
  if (seen.kind !== 'answer' || seen.request?.headers[KEY] === undefined) return undefined;
  return { request: seen.request, answer: seen.answer };
}

const versionHeaders = ({ headers }: RequestSeen): string[] =>
  VERSION_HEADERS.filter((name) => headers[name] !== undefined);

const SPECIFIED = DIALECT_NAMES.spec.versionHeader.toLowerCase();
const WRITTEN = new Map(VERSION_HEADERS.map((name) => [name, new RegExp(`(?<![\\w-])${name}(?![\\w-])`, 'i')]));

/** True if the answer contains the header, varies by the header, or names the header in a refusal. */
function shows({ status, headers, text }: AnswerSeen, name: string): boolean {
  // Requires a version as the value, because a server may send its build number in this header.
  if (VERSION_FORMAT.test(headers[name] ?? '')) return true;
  const refusal = refused({ status }) && !STATUSES_OF_OTHER_CAUSES.has(status) ? text : '';
  return [headers['vary'] ?? '', refusal].some((words) => WRITTEN.get(name)?.test(words));
}

/** Reads the version from a header that the platform has shown to know, else from the header of the specification. */
export function versions(): (seen: Happening) => string | undefined {
  const shown = new Set<string>();
  const used = new Set<string>();
  return (seen) => {
    if (seen.kind !== 'answer') return undefined;
    for (const each of VERSION_HEADERS) if (!shown.has(each) && shows(seen.answer, each)) shown.add(each);
    const { request } = answerIn(seen) ?? {};
    const names = request === undefined ? [] : versionHeaders(request);
    for (const each of names) used.add(each);
    const [name = ''] = names;
    const isAlone = name === SPECIFIED && new Set([...used, ...shown]).size === 1;
    return names.length === 1 && (isAlone || shown.has(name)) ? request?.headers[name] : undefined;
  };
}

export function answerShown(seen: Happening): Answered | undefined {
  const found = answerIn(seen);
  if (found === undefined) return undefined;
  const { request } = found;
  const isOfList = isCollection(request.path) && ['GET', 'POST'].includes(request.method);
  return isOfList || isPing(request) ? found : undefined;
}

interface ListAsked {
  query: URLSearchParams;
  /** Hash of a list in one version for one client; short, because rules remember many lists. */
  key: string;
}

const LISTS = new WeakMap<RequestSeen, ListAsked>();

function listAsked(request: RequestSeen): ListAsked {
  const known = LISTS.get(request);
  if (known !== undefined) return known;
  const text = `${VERSION_HEADERS.map((name) => request.headers[name])} ${listOf(request)}`;
  const asked = { query: queryOf(request), key: createHash('sha256').update(text).digest('base64url') };
  LISTS.set(request, asked);
  return asked;
}

/** Returns an answer to a list request; excludes unsupported versions, which may have other lists. */
export function listAnswerIn(seen: Happening): (Answered & ListAsked) | undefined {
  const found = answerIn(seen);
  if (found === undefined || found.request.method !== 'GET' || !isCollection(found.request.path)) return undefined;
  const { request } = found;
  const given = versionHeaders(request).map((name) => request.headers[name]);
  if (!given.every((version) => SUPPORTED_VERSIONS.some((each) => each === version))) return undefined;
  return { ...found, ...listAsked(request) };
}
