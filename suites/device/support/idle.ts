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

/**
 * Waits until `wanted` heartbeats have come, each at the end of an idle window, and gives them back. A window without one that is
 * longer than 1.5 times the declared interval is a finding. `watch` sees every frame as it comes.
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
  const found: SseComment[] = [];
  const started = stream.openedAt;
  let since = started;
  let seen = { frames: 0, comments: 0 };
  try {
    while (found.length < wanted) {
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
        context.must(false, {
          expected: `a comment line within ${(LATE * interval) / 1000} s on an idle stream (an interval of ${context.heartbeatSeconds} s is declared)`,
          actual: error instanceof StreamEnded ? error.message : noneSince(subscription, since),
        });
      }
      const { comments, frames } = stream;
      const comment = comments.at(-1);
      const fresh = frames.slice(seen.frames);
      for (const frame of fresh) watch(frame);
      if (fresh.some(isTraffic)) {
        since = performance.now();
        if (since - started > GIVE_UP_MS)
          context.notApplicable('events kept coming: the stream was never idle for as long as a heartbeat may take');
      } else if (comment !== undefined && comments.length > seen.comments) {
        if (comment.at - since >= BY_THE_CLOCK * interval) found.push(comment);
        since = comment.at;
      }
      seen = { frames: frames.length, comments: comments.length };
    }
    return found;
  } finally {
    slowness.stop();
  }
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
