/** Watches idle streams for heartbeats; ignores times with events, which other checks may cause. */
import { StreamEnded, StreamTimeout } from '../../../harness/client/sse.ts';
import type { SseComment, SseFrame } from '../../../harness/client/sse-parser.ts';
import { parseObject } from '../../../harness/common/lenient.ts';
import { Violation } from '../../../harness/runner/violation.ts';
import type { Device } from './check.ts';
import { DECIMAL, showFrame } from './events.ts';
import { CURRENT, OPEN_STREAMS } from './requests.ts';
import type { Subscription } from './subscription.ts';

/** Minimum silence before a comment that counts as a heartbeat, as a share of the interval. */
const BY_THE_CLOCK = 0.25;
/** Maximum silence on an idle stream, as a multiple of the interval. */
const LATE = 1.5;

const isNamed = ({ text }: SseComment): boolean => text.trim() === 'heartbeat';

export function heartbeatsOf({ stream }: Subscription): readonly SseComment[] {
  const comments = [...stream.comments];
  const beats = comments.filter(isNamed);
  return beats.length > 0 ? beats : comments;
}

interface Watching {
  onFrame?: (frame: SseFrame) => void;
  /** Opens a stream without events. `isOverdue`: on the watched stream, events came too often. */
  openIdle?: (isOverdue: boolean) => Promise<Subscription | undefined>;
}

export async function awaitHeartbeats(
  t: Device,
  subscription: Subscription,
  wanted: number,
  { onFrame = () => {}, openIdle }: Watching = {},
): Promise<readonly SseComment[]> {
  let watch = new HeartbeatWatch(t, subscription, onFrame);
  let isFiltered = false;
  try {
    for (;;) {
      const found = watch.heartbeatsByTheClock;
      if (found.length >= wanted || watch.idleMs >= wanted * LATE * watch.intervalMs) return found;
      if ((await watch.waitForActivity()) && watch.readActivity()) {
        const quiet = isFiltered ? undefined : await openIdle?.(watch.isOverdue);
        if (quiet === undefined) watch.askForQuiet();
        else {
          isFiltered = true;
          watch.stop();
          watch = new HeartbeatWatch(t, quiet, onFrame);
        }
      }
    }
  } finally {
    watch.stop();
  }
}

/**
 * Watches while other checks run, because a server with a write timeout silences a stream after a while. Stops at an
 * event, after half of the check's time, once a stream has been refused, or once the other checks have ended.
 */
export async function expectHeartbeatsBeside(t: Device, subscription: Subscription): Promise<void> {
  const { session } = t;
  const { stream } = subscription;
  const watch = new HeartbeatWatch(t, subscription, () => {});
  const openMs = (): number => performance.now() - stream.openedAt;
  const streams = session.get(OPEN_STREAMS);
  let areOver = false;
  void session.others.finally(() => (areOver = true));
  const isOver = (): boolean => streams.isScarce || (areOver && openMs() > session.silentAfterMs);
  try {
    watch.readActivity();
    while (openMs() < t.checkTimeLeftMs() && stream.frames.length === 0 && !isOver())
      if (await watch.waitForActivity(200)) watch.readActivity();
  } catch (error) {
    // Fails only an open stream that falls silent after a heartbeat, because other checks judge all else.
    if (!(error instanceof Violation) || (stream.ended === undefined && stream.comments.length > 0)) {
      session.silentAfterMs = openMs();
      throw error;
    }
  } finally {
    watch.stop();
  }
  if (stream.comments.length === 0 || openMs() < 2 * watch.intervalMs)
    t.notApplicable('it showed too few heartbeats while other checks ran');
}

/** True if the server ended the stream after over two heartbeat intervals, which is legal: a client resumes it. */
function hasEndedLate(t: Device, { ended, openedAt }: Subscription['stream'], since = openedAt): boolean {
  return ended?.by === 'server' && ended.at - since > 2 * t.heartbeatSeconds * 1000;
}

class HeartbeatWatch {
  readonly intervalMs: number;
  /** Comments after a silence; once a comment with the text heartbeat has come, only such comments. */
  heartbeatsByTheClock: SseComment[] = [];
  readonly #t: Device;
  readonly #subscription: Subscription;
  readonly #onFrame: (frame: SseFrame) => void;
  readonly #slowness: ReturnType<typeof watchSlowness>;
  readonly #startedAt: number;
  #lastEventAt: number;
  #lastSignAt: number;
  #hasNamed = false;
  #lastCommentAt: number;
  readonly #over = Promise.withResolvers<void>();
  #isQuiet = false;
  #seen = { frames: 0, comments: 0 };

  constructor(t: Device, subscription: Subscription, onFrame: (frame: SseFrame) => void) {
    this.#t = t;
    this.#subscription = subscription;
    this.#onFrame = onFrame;
    this.intervalMs = t.heartbeatSeconds * 1000;
    this.#slowness = watchSlowness(t, Math.max(100, this.intervalMs / 10));
    this.#startedAt = subscription.stream.openedAt;
    this.#lastEventAt = this.#startedAt;
    this.#lastSignAt = this.#startedAt;
    this.#lastCommentAt = this.#startedAt;
  }

  stop(): void {
    this.#slowness.stop();
    this.#over.resolve();
  }

  get idleMs(): number {
    return this.#lastSignAt - this.#lastEventAt;
  }

  /** True if events, e.g. of the robot's own, came too often for a heartbeat to count. */
  get isOverdue(): boolean {
    const isLate = this.#lastSignAt - this.#startedAt > 2 * LATE * this.intervalMs;
    return isLate && this.heartbeatsByTheClock.length === 0;
  }

  async waitForActivity(mostMs = Number.POSITIVE_INFINITY): Promise<boolean> {
    const { stream } = this.#subscription;
    const due = this.#lastSignAt + this.#allowedMs() - performance.now();
    try {
      const within = Math.min(due, mostMs);
      return await stream.activity(this.#seen, { within, atMost: within, for: 'a heartbeat' });
    } catch (error) {
      if (!(error instanceof StreamTimeout || error instanceof StreamEnded)) throw error;
      if (error instanceof StreamTimeout) {
        if (mostMs < due) return false;
        // Reads sockets first, because a delayed process runs its timers before it reads them.
        await this.#slowness.measured();
        const early = performance.now() - this.#lastSignAt < this.#allowedMs();
        if (early || stream.comments.length > this.#seen.comments) return false;
      } else await this.#subscription.expectCursor();
      undecidedIfEndedBusy(this.#t, this.#subscription);
      const none = `none for ${Math.round(performance.now() - this.#lastSignAt)} ms`;
      const instead = stream.frames.findLast((frame) => frame.at > this.#lastSignAt && !isEvent(frame));
      const silence = instead === undefined ? none : `${none}; in its place came ${showFrame(instead)}`;
      this.#t.must(false, {
        expected:
          `a comment line within ${(LATE * this.intervalMs) / 1000} s on an idle stream (an interval of ` +
          `${this.#t.heartbeatSeconds} s is declared)`,
        actual: error instanceof StreamEnded ? error.message : silence,
      });
      throw error;
    }
  }

  readActivity(): boolean {
    let isDisturbed = false;
    const { comments, frames } = this.#subscription.stream;
    const fresh = frames.slice(this.#seen.frames);
    for (const frame of fresh) this.#onFrame(frame);
    const events = fresh.filter(isEvent);
    for (const comment of comments.slice(this.#seen.comments)) {
      if (this.#hasNamed && !isNamed(comment)) continue;
      if (!this.#hasNamed && isNamed(comment)) {
        this.#hasNamed = true;
        this.heartbeatsByTheClock = [];
        this.#lastCommentAt = this.#startedAt;
      }
      const eventAt = events.findLast(({ at }) => at <= comment.at)?.at ?? this.#lastEventAt;
      const silenceMs = comment.at - Math.max(this.#lastCommentAt, eventAt);
      if (silenceMs >= BY_THE_CLOCK * this.intervalMs) this.heartbeatsByTheClock.push(comment);
      this.#lastCommentAt = comment.at;
    }
    if (events.length > 0) {
      this.#lastEventAt = performance.now();
      this.#lastSignAt = this.#lastEventAt;
      isDisturbed = !this.#isQuiet && (this.isOverdue || this.#t.session.isSlow('publish', 'deployment'));
      // Milliseconds to wait for an idle stream before other checks pause; the watch ends after three times as long.
      const isOver = this.#lastSignAt - this.#startedAt > 120_000 * (this.#isQuiet ? 3 : 1);
      if ((isOver && this.#isQuiet) || this.#t.checkTimeLeftMs() < 2 * BY_THE_CLOCK * this.intervalMs)
        this.#t.undecided('events kept coming: the stream was never idle for as long as a heartbeat may take');
      if (isOver) this.askForQuiet();
    } else if (comments.length > this.#seen.comments) {
      this.#lastSignAt = comments.at(-1)?.at ?? this.#lastSignAt;
    }
    this.#seen = { frames: frames.length, comments: comments.length };
    return isDisturbed;
  }

  /** Pauses checks that drive the device, because on a slow device they leave no stream idle for minutes. */
  askForQuiet(): void {
    this.#isQuiet = true;
    this.#t.session.askForQuiet(this.#over.promise);
  }

  /** Maximum milliseconds without a heartbeat; more on a slow machine or target. */
  #allowedMs(): number {
    const worst = this.#slowness.worst();
    return LATE * this.intervalMs + (worst > this.intervalMs / 10 ? this.#t.patienceMs + 2 * worst : 0);
  }
}

const isEvent = ({ id, event, data }: SseFrame): boolean =>
  DECIMAL.test(id ?? '') && parseObject(data ?? '') !== undefined && !/heart-?beat|keep-?alive/i.test(event ?? '');

/** Expects only events to move a cursor; a first block without data may move it too. */
export function expectCursorKept(t: Device, { stream }: Subscription): void {
  const opening = stream.openedAt + BY_THE_CLOCK * t.heartbeatSeconds * 1000;
  let last: string | undefined;
  // The cursor is unknown until the next event if a long stream has dropped its oldest frames.
  let known = stream.frames.dropped === 0;
  for (const frame of stream.frames) {
    known ||= frame.data !== undefined;
    if (frame.id === undefined || !known) continue;
    if (frame.data !== undefined) last = frame.id;
    else
      t.must(frame.id === last || (last === undefined && frame.at < opening), {
        expected: `the cursor of a client stays at the last event${last === undefined ? '' : `, ${last}`}`,
        actual: `a block without an event moves it: ${showFrame(frame)}`,
      });
  }
}

export async function expectOpenWhileIdle(t: Device, subscription: Subscription, idleMs: number): Promise<void> {
  const { stream } = subscription;
  const last = stream.openedAt + 3 * idleMs;
  for (;;) {
    const quietSince = Math.max(stream.openedAt, stream.frames.at(-1)?.at ?? 0);
    const until = Math.min(quietSince + idleMs, last);
    if (performance.now() >= until || hasEndedLate(t, stream, quietSince)) return;
    const within = Math.min(until - performance.now(), 1000);
    const seen = { frames: stream.frames.length, comments: stream.comments.length };
    await stream.activity(seen, { within, atMost: within, for: 'the stream to stay open' }).catch((error: unknown) => {
      if (error instanceof StreamTimeout) return;
      if (!(error instanceof StreamEnded)) throw error;
      if (hasEndedLate(t, stream, quietSince)) return;
      undecidedIfEndedBusy(t, subscription);
      t.must(false, {
        expected: `a stream that stays open while it is idle, for ${Math.round(idleMs / 1000)} s at least`,
        actual: `after ${Math.round((stream.ended?.at ?? 0) - stream.openedAt)} ms: ${stream.ended?.reason}`,
      });
    });
  }
}

function undecidedIfEndedBusy(t: Device, { stream }: Subscription): void {
  const last = stream.frames.findLast(isEvent)?.at;
  const { by, at = 0 } = stream.ended ?? {};
  // Minimum bytes of a busy stream; one or two checks publish less.
  if ((by !== 'server' && by !== 'error') || last === undefined || stream.bytes < 16_384) return;
  if (at - last < BY_THE_CLOCK * t.heartbeatSeconds * 1000)
    t.undecided('the device ended the stream while events were coming, so that it was not idle for long enough');
}

function watchSlowness(t: Device, everyMs: number) {
  let worst = 0;
  let due = performance.now() + everyMs;
  let asking: { since: number; answered: Promise<void> } | undefined;
  const ask = async (since: number): Promise<void> => {
    await t.http.get(CURRENT, { timeoutMs: t.patienceMs }).catch(() => {});
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
    /** Longest delay of this process or of the target in milliseconds. */
    worst: () => worst,
    measured: async () => {
      measure();
      await asking?.answered;
    },
    stop: () => clearInterval(timer),
  };
}
