/** Watching a stream on which nothing happens. Only windows without any event are judged, since others may be driving the device. */

import { StreamEnded, StreamTimeout } from '../../../harness/client/sse.ts';
import type { SseComment, SseFrame } from '../../../harness/client/sse-parser.ts';
import { CURRENT } from './ask.ts';
import type { Device } from './context.ts';
import { DECIMAL, parseObject, showFrame } from './events.ts';
import type { Subscription } from './streams.ts';

/** A comment this long after the last sign of life came by the clock, and not because the stream was opened. */
const BY_THE_CLOCK = 0.25;
const LATE = 1.5;
/** A stream on which events keep coming says nothing about heartbeats; then it is given up, undecided. Other checks take their time. */
const GIVE_UP_MS = 120_000;

const named = (comments: readonly SseComment[]): readonly SseComment[] => {
  const beats = comments.filter(({ text }) => text.trim() === 'heartbeat');
  return beats.length > 0 ? beats : comments;
};

/** The comments that read `heartbeat`, where there are any; all of them elsewhere. A stream may carry others. */
export const heartbeatsOf = ({ stream }: Subscription): readonly SseComment[] => named(stream.comments);

/**
 * Waits until `wanted` heartbeats have come, each at the end of an idle window, and gives them back; fewer when comments come so
 * often that there is no such window for as long as they might have taken. A window without a comment that is longer than 1.5
 * times the declared interval is a finding. `watch` sees every frame as it comes.
 */
export async function heartbeats(
  context: Device,
  subscription: Subscription,
  wanted: number,
  watch: (frame: SseFrame) => void = () => {},
): Promise<SseComment[]> {
  const { stream } = subscription;
  const interval = context.heartbeatSeconds * 1000;
  const slowness = watchSlowness(context, Math.max(100, interval / 10));
  const started = stream.openedAt;
  /** When the last event came, and when the last comment after it did. */
  let busy = started;
  let since = started;
  const busyBefore = new Map<SseComment, number>();
  let seen = { frames: 0, comments: 0 };
  try {
    for (;;) {
      const found = byTheClock(subscription, busyBefore, BY_THE_CLOCK * interval);
      if (found.length >= wanted || since - busy >= wanted * LATE * interval) return found;
      const slack = (): number => (slowness.worst() > interval / 10 ? context.patienceMs + 2 * slowness.worst() : 0);
      const bound = (): number => LATE * interval + slack();
      try {
        await stream.activity(seen, { within: since + bound() - performance.now(), for: 'a heartbeat' });
      } catch (error) {
        if (!(error instanceof StreamTimeout || error instanceof StreamEnded)) throw error;
        if (error instanceof StreamTimeout) {
          // A process that was held up has its timers run before it reads what came meanwhile.
          await slowness.measured();
          if (performance.now() - since < bound() || stream.comments.length > seen.comments) continue;
        }
        endedBusy(context, subscription);
        context.must(false, {
          expected: `a comment line within ${(LATE * interval) / 1000} s on an idle stream (an interval of ${context.heartbeatSeconds} s is declared)`,
          actual: error instanceof StreamEnded ? error.message : noneSince(subscription, since),
        });
      }
      const { comments, frames } = stream;
      const fresh = frames.slice(seen.frames);
      for (const frame of fresh) watch(frame);
      const traffic = fresh.filter(isTraffic);
      for (const comment of comments.slice(seen.comments))
        busyBefore.set(comment, traffic.findLast(({ at }) => at <= comment.at)?.at ?? busy);
      if (traffic.length > 0) {
        busy = performance.now();
        since = busy;
        if (since - started > GIVE_UP_MS)
          context.notApplicable('events kept coming: the stream was never idle for as long as a heartbeat may take');
      } else if (comments.length > seen.comments) {
        since = comments.at(-1)?.at ?? since;
      }
      seen = { frames: frames.length, comments: comments.length };
    }
  } finally {
    slowness.stop();
  }
}

/** The heartbeats before which nothing had come for so long. `busyBefore` says when the last event before each had come. */
function byTheClock(
  { stream }: Subscription,
  busyBefore: ReadonlyMap<SseComment, number>,
  idleMs: number,
): SseComment[] {
  let last = stream.openedAt;
  return named([...busyBefore.keys()]).filter((beat) => {
    const sign = Math.max(last, busyBefore.get(beat) ?? last);
    last = beat.at;
    return beat.at - sign >= idleMs;
  });
}

/**
 * No block but an event moves the cursor of a client that has been connected for a while: none without data carries another id
 * than the last event did. As a stream opens one may say where it begins.
 */
export function cursorStays(context: Device, { stream }: Subscription): void {
  const opening = stream.openedAt + BY_THE_CLOCK * context.heartbeatSeconds * 1000;
  let last: string | undefined;
  for (const frame of stream.frames) {
    if (frame.id === undefined) continue;
    if (frame.data !== undefined) last = frame.id;
    else
      context.must(frame.id === last || (last === undefined && frame.at < opening), {
        expected: `the cursor of a client stays at the last event${last === undefined ? '' : `, ${last}`}`,
        actual: `a block that is no event moves it: ${showFrame(frame)}`,
      });
  }
}

/** As much as no stream carries on which only a check or two is at work. */
const BUSY_BYTES = 16_384;

/** A stream that is ended in order on an event, after many others, was not idle: that is for the client to resume. */
function endedBusy(context: Device, { stream }: Subscription): void {
  const last = stream.frames.findLast(isTraffic)?.at;
  const { by, at = 0 } = stream.ended ?? {};
  if (by !== 'server' || last === undefined || stream.bytes < BUSY_BYTES) return;
  if (at - last < BY_THE_CLOCK * context.heartbeatSeconds * 1000)
    context.notApplicable(
      'the device ended the stream while events were coming, so that it was not idle for long enough',
    );
}

/** What came in place of a comment tells most. */
function noneSince({ stream }: Subscription, since: number): string {
  const none = `none for ${Math.round(performance.now() - since)} ms`;
  const instead = stream.frames.filter((frame) => frame.at > since && !isTraffic(frame)).at(-1);
  return instead === undefined ? none : `${none}; in its place came ${showFrame(instead)}`;
}

/** An event that has happened, rather than a heartbeat in the guise of one. */
const isTraffic = ({ id, event, data }: SseFrame): boolean =>
  DECIMAL.test(id ?? '') && parseObject(data ?? '') !== undefined && !/heart-?beat|keep-?alive/i.test(event ?? '');

/** Stays until the stream has been idle for `idleMs` on end, or events have kept it busy for three times that. */
export async function stayIdle(context: Device, subscription: Subscription, idleMs: number): Promise<void> {
  const { stream } = subscription;
  const last = stream.openedAt + 3 * idleMs;
  for (;;) {
    const quietSince = Math.max(stream.openedAt, stream.frames.at(-1)?.at ?? 0);
    const until = Math.min(quietSince + idleMs, last);
    if (performance.now() >= until) return;
    const within = Math.min(until - performance.now(), 1000);
    const seen = { frames: stream.frames.length, comments: stream.comments.length };
    await stream.activity(seen, { within, for: 'the stream to stay open' }).catch((error: unknown) => {
      if (error instanceof StreamTimeout) return;
      if (!(error instanceof StreamEnded)) throw error;
      endedBusy(context, subscription);
      context.must(false, {
        expected: `a stream that stays open while it is idle, for ${Math.round(idleMs / 1000)} s at least`,
        actual: `after ${Math.round((stream.ended?.at ?? 0) - stream.openedAt)} ms: ${stream.ended?.reason}`,
      });
    });
  }
}

interface Slowness {
  /** Milliseconds that the latest timer or answer was late. */
  worst(): number;
  /** Resolves when both have been measured once more. */
  measured(): Promise<void>;
  stop(): void;
}

/** How late timers and answers are on this machine, so that a loaded one is not taken for a slow target. */
function watchSlowness(context: Device, everyMs: number): Slowness {
  let worst = 0;
  let due = performance.now() + everyMs;
  let asking: { since: number; answered: Promise<void> } | undefined;
  const ask = async (since: number): Promise<void> => {
    await context.http.get(CURRENT, { timeoutMs: context.patienceMs }).catch(() => {});
    worst = Math.max(worst, performance.now() - since);
    asking = undefined;
  };
  const measure = (): void => {
    const now = performance.now();
    worst = Math.max(worst, now - due, asking === undefined ? 0 : now - asking.since);
    due = now + everyMs;
    asking ??= { since: now, answered: ask(now) };
  };
  const timer = setInterval(measure, everyMs);
  return {
    worst: () => worst,
    measured: async () => {
      measure();
      await asking?.answered;
    },
    stop: () => clearInterval(timer),
  };
}
