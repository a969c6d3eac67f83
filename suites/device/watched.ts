/** Rules of a device that is watched at work. Each decides a requirement of this suite as far as traffic shows it. */
import type { RequestSeen } from '../../harness/client/happening.ts';
import type { Judge, Rule } from '../../harness/runner/rules.ts';
import type { Check } from '../../harness/runner/types.ts';
import { isForEvents, queryOf, watchedRule } from '../watched.ts';
import { exclusive } from './6.2-replay.ts';
import { carriesNoEvent, frameText, LONGEST_REMEMBERED, Recollection } from './support/events.ts';

const DIGITS = /^\d{1,40}$/;

/**
 * Whoever comes back sooner than this after an event may find it still on its way to all who listen. What comes later
 * than this on a stream may be live.
 */
const SETTLED_MS = 1000;

/** The one cursor of a request; `after` takes precedence (section 4.1). */
function cursorOf(request: RequestSeen): bigint | undefined {
  const [after, ...others] = queryOf(request).getAll('after');
  const cursor = after ?? request.headers['last-event-id'];
  return others.length === 0 && cursor !== undefined && DIGITS.test(cursor) ? BigInt(cursor) : undefined;
}

/**
 * The event of the cursor is repeated where it was there, the same one, before the replay was asked for. Where it was
 * not, the cursor lay beyond the newest event, and nobody says what comes then. An event of another log, which counts
 * from 1 again, is told by its type and data. Only the first event of a stream is looked at: delivery is at-least-once.
 * Two replays in a row that repeat are no chance, however soon they were asked for, unless they repeat the same event:
 * several clients may have been cut off at once.
 */
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
    const cursor = isForEvents(request) ? cursorOf(request) : undefined;
    if (!isFirst || cursor === undefined) return;
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

export const watchedRules: readonly Check<unknown>[] = [watchedRule(exclusive, [exclusive.id], exclusiveRule)];
