import type { Happening } from '../../harness/client/happening.ts';
import { SseParser } from '../../harness/client/sse-parser.ts';
import { DEVICE_API_PREFIX } from '../../harness/contract/versions.ts';
import type { Judge, Rule } from '../../harness/runner/rules.ts';
import type { Check } from '../../harness/runner/types.ts';
import { isForEvents, queryOf, watchedRule } from '../watched.ts';
import { contentType } from './6.1-frames.ts';
import { exclusive } from './6.2-replay.ts';
import { carriesNoEvent, frameText, LONGEST_REMEMBERED, Recollection } from './support/events.ts';
import { describeResponse } from './support/requests.ts';

const DIGITS = /^\d{1,40}$/;

/** Milliseconds within which an event reaches every open stream. */
const SETTLED_MS = 1000;

const exclusiveRule = (): Rule => {
  const known = new Recollection<{ type: string | undefined; data: string; at: number }>();
  const begun = new WeakSet<object>();
  let repeated: bigint | undefined;
  return (seen, judge: Judge) => {
    if (seen.kind !== 'frame' || seen.request === undefined || carriesNoEvent(seen.frame)) return;
    const { request, frame, stream } = seen;
    if (!DIGITS.test(frame.id ?? '')) return;
    const { event: type, data = '', at } = frame;
    const id = BigInt(frame.id ?? '');
    const before = known.get(`${id}`);
    const isSame = before?.type === type && before?.data === data;
    const isFirst = !begun.has(stream);
    begun.add(stream);
    if (!isSame && data.length <= LONGEST_REMEMBERED) known.set(`${id}`, { type, data, at });
    if (!isFirst || !isForEvents(request)) return;
    // Skips a request with several `after`; a single one takes precedence over the header (section 4.1).
    const [after, ...others] = queryOf(request).getAll('after');
    const written = after ?? request.headers['last-event-id'] ?? '';
    if (others.length > 0 || !DIGITS.test(written)) return;
    const cursor = BigInt(written);
    judge.saw(() => frameText(frame));
    const agoMs = before === undefined || !isSame ? 0 : request.at - before.at;
    const isRepeated = id === cursor && agoMs > 0 && at - request.at <= SETTLED_MS;
    const isOther = repeated !== undefined && repeated !== id;
    repeated = isRepeated ? id : undefined;
    judge.must(!isRepeated || (agoMs <= SETTLED_MS && !isOther), {
      expected: `an event after ${cursor}, the cursor: replay is exclusive of it`,
      actual: `event ${id} again, which came before that stream was asked for`,
    });
  };
};

function eventsAnswer(seen: Happening): Parameters<typeof describeResponse>[0] | undefined {
  if (seen.kind !== 'answer' && seen.kind !== 'over') return undefined;
  const { request } = seen;
  if (request?.method !== 'GET' || !request.path.endsWith(`${DEVICE_API_PREFIX}/events`)) return undefined;
  if (seen.kind === 'answer') return seen.answer;
  const { status = 0, headers = {}, began: text = '' } = seen.over;
  return { status, headers, text };
}

function holdsEvents(text: string): boolean {
  let isFound = false;
  const parser = new SseParser({
    frame: ({ id, event, data }) => {
      isFound ||= ![id, event, data].includes(undefined);
    },
    comment: (comment) => {
      isFound ||= comment.text === 'heartbeat';
    },
  });
  parser.push(Buffer.from(text.slice(0, 4000)), 0);
  return isFound;
}

/** Fails an answer of another type only if it holds events, because a login page may answer 200 too. */
const contentTypeRule = (): Rule => (seen, judge: Judge) => {
  const answer = eventsAnswer(seen);
  if (answer?.status !== 200) return;
  // Accepts a repeated content type, because proxies may send one.
  const isTyped = /(?:^|,)\s*text\/event-stream\b/i.test(answer.headers['content-type'] ?? '');
  if (!isTyped && !holdsEvents(answer.text)) return;
  judge.saw(() => describeResponse(answer));
  judge.must(isTyped, {
    expected: 'content-type text/event-stream: events come in it',
    actual: answer.headers['content-type'] ?? 'no content-type',
  });
};

export const watchedRules: readonly Check<unknown>[] = [
  watchedRule(contentType, [contentType.id], 'a stream with events', contentTypeRule),
  watchedRule(exclusive, [exclusive.id], 'a stream that is resumed with a cursor', exclusiveRule),
];
