/** Sections 4.1 and 4.2: form of requests in observed traffic of clients. */
import { PING_TIMEOUT_MAXIMUM_NANOS } from '../../../harness/contract/limits.ts';
import type { Judge, Rule } from '../../../harness/runner/rules.ts';
import { parseObject } from '../../json.ts';
import { isForEvents, isPing, queryOf, shownRequest } from '../../watched.ts';
import { accept, types } from '../4.1-request.ts';
import { body, timeout } from '../4.2-ping.ts';
import { watched } from './support.ts';

const acceptRule = (): Rule => (seen, judge: Judge) => {
  if (seen.kind !== 'asked' || !isForEvents(seen.request)) return;
  judge.saw(() => shownRequest(seen.request));
  const value = seen.request.headers['accept'];
  judge.must(value === undefined || /text\/event-stream|text\/\*|\*\/\*/i.test(value), {
    expected: 'Accept: text/event-stream, */* or none',
    actual: `Accept: ${value}`,
  });
};

const typesRule = (): Rule => (seen, judge: Judge) => {
  if (seen.kind !== 'asked' || !isForEvents(seen.request)) return;
  const lists = queryOf(seen.request).getAll('types');
  if (lists.length === 0) return;
  judge.saw(() => shownRequest(seen.request));
  judge.must(lists.length === 1, {
    expected: 'one parameter types, with commas between the types',
    actual: `types=${lists.join(' and types=')}`,
  });
};

const bodyRule = (): Rule => (seen, judge: Judge) => {
  if (seen.kind !== 'asked' || !isPing(seen.request) || seen.request.body === undefined) return;
  judge.saw(() => shownRequest(seen.request));
  const type = seen.request.headers['content-type'] ?? 'none';
  judge.must(parseObject(seen.request.body) !== undefined && /^application\/json *(;|$)/i.test(type), {
    expected: 'a JSON object, with Content-Type: application/json',
    actual: `Content-Type: ${type}, ${JSON.stringify(seen.request.body.slice(0, 200))}`,
  });
};

const timeoutRule = (): Rule => (seen, judge: Judge) => {
  if (seen.kind !== 'asked' || !isPing(seen.request)) return;
  const nanos = parseObject(seen.request.body)?.['timeout_nanos'];
  // Accepts a ping without `timeout_nanos`, which no section requires.
  if (nanos === undefined) return;
  judge.saw(() => shownRequest(seen.request));
  const fits = Number.isInteger(nanos) && Number(nanos) > 0 && Number(nanos) <= PING_TIMEOUT_MAXIMUM_NANOS;
  judge.must(fits, {
    expected: `timeout_nanos: an integer above 0, at most ${PING_TIMEOUT_MAXIMUM_NANOS}`,
    actual: JSON.stringify(nanos),
  });
};

export const deviceRules = [watched(accept, acceptRule), watched(types, typesRule)];
export const platformRules = [watched(body, bodyRule), watched(timeout, timeoutRule, [body])];
