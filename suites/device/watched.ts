/** Rules of a device that is watched at work. Each decides a requirement of this suite as far as traffic shows it. */
import type { RequestSeen } from '../../harness/client/happening.ts';
import type { Judge, Rule } from '../../harness/runner/rules.ts';
import type { Check } from '../../harness/runner/types.ts';
import { isForEvents, queryOf, watchedRule } from '../watched.ts';
import { exclusive } from './6.2-replay.ts';
import { carriesNoEvent, frameText, parseObject, Recollection } from './support/events.ts';

const DIGITS = /^\d{1,40}$/;

/** Whoever comes back sooner than this after an event may find it still on its way to all who listen. */
const SETTLED_MS = 1000;
/** So many replays in a row are no chance, however soon they were asked for. */
const TELLING = 2;

/** The one cursor of a request; `after` takes precedence (section 4.1). */
function cursorOf(request: RequestSeen): bigint | undefined {
  const [after, ...others] = queryOf(request).getAll('after');
  const cursor = after ?? request.headers['last-event-id'];
  return others.length === 0 && cursor !== undefined && DIGITS.test(cursor) ? BigInt(cursor) : undefined;
}

/** Type and time tell an event from one of another log, which counts from 1 again. */
function identityOf(type = '', data = ''): string | undefined {
  const when = parseObject(data)?.['occurred_at'];
  return typeof when === 'string' ? `${type} ${when}` : undefined;
}

/**
 * The event of the cursor is repeated where it was there, the same one, before the replay was asked for. Where it was
 * not, the cursor lay beyond the newest event, and nobody says what comes then. Only the first event of a stream is
 * looked at: delivery is at-least-once.
 */
const exclusiveRule = (): Rule => {
  const known = new Recollection<{ identity: string; at: number }>();
  const begun = new WeakSet<object>();
  let times = 0;
  return (seen, judge: Judge) => {
    if (seen.kind !== 'frame' || seen.request === undefined || carriesNoEvent(seen.frame)) return;
    const { request, frame, stream } = seen;
    if (!DIGITS.test(frame.id ?? '')) return;
    const [id, identity] = [BigInt(frame.id ?? ''), identityOf(frame.event, frame.data)];
    const before = known.get(`${id}`);
    const isFirst = !begun.has(stream);
    begun.add(stream);
    if (identity !== undefined && before?.identity !== identity) known.set(`${id}`, { identity, at: frame.at });
    const cursor = isForEvents(request) ? cursorOf(request) : undefined;
    if (!isFirst || cursor === undefined) return;
    judge.saw(() => frameText(frame));
    const isRepeated = id === cursor && before !== undefined && before.identity === identity && before.at < request.at;
    times = isRepeated ? times + 1 : 0;
    const isSettled = before !== undefined && request.at - before.at > SETTLED_MS;
    judge.must(!isRepeated || (times < TELLING && !isSettled), {
      expected: `an event after ${cursor}, the cursor: replay is exclusive of it`,
      actual: `event ${id} again, which came before that stream was asked for`,
    });
  };
};

export const watchedRules: readonly Check<unknown>[] = [watchedRule(exclusive, [exclusive.id], exclusiveRule)];
