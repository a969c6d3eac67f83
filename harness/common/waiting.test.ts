import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { served } from './testing/servers.ts';
import {
  backoffMs,
  Changes,
  lateBy,
  Patience,
  type PollTime,
  PollTimeout,
  poll,
  runningMs,
  socketsRead,
} from './waiting.ts';

function fakeTime(): PollTime & { pauses: number[] } {
  let now = 0;
  const pauses: number[] = [];
  return {
    pauses,
    now: () => now,
    sleep: (ms) => {
      pauses.push(ms);
      now += ms;
      return Promise.resolve();
    },
  };
}

it('poll pauses longer each time, up to the longest pause', async () => {
  const time = fakeTime();
  let looks = 0;
  const growing = { timeoutMs: 10_000, firstPauseMs: 10, growth: 2, longestPauseMs: 50, time };
  await poll('six looks', () => (++looks === 6 ? true : undefined), growing);
  expect(time.pauses).toEqual([10, 20, 40, 50, 50]);
});

it('poll looks once more at the deadline, then names the wait', async () => {
  const time = fakeTime();
  const look = vi.fn(async () => undefined);
  const waiting = poll('the agent to serve', look, { timeoutMs: 25, firstPauseMs: 10, time });
  await expect(waiting).rejects.toThrow(new PollTimeout('the agent to serve', 25));
  await expect(waiting).rejects.toThrow('timed out after 0.025 s waiting for the agent to serve');
  expect(time.pauses).toEqual([10, 10, 5]);
  expect(look).toHaveBeenCalledTimes(4);
});

it('poll ends with the reason of its signal, even during a pause', async () => {
  const stop = new AbortController();
  const reason = new Error('interrupted');
  const endless = { timeoutMs: Number.POSITIVE_INFINITY, firstPauseMs: 2 ** 30, signal: stop.signal };
  const waiting = poll('it', () => undefined, endless);
  stop.abort(reason);
  await expect(waiting).rejects.toBe(reason);
});

describe('changes', () => {
  // Fakes only timers; the clock of the process ticks in real time.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  it('wake everyone who waits, once', async () => {
    const changes = new Changes();
    const woken: string[] = [];
    const waits = ['a', 'b'].map((name) => changes.next(1000).then(() => woken.push(name)));
    changes.announce();
    await Promise.all(waits);
    changes.announce();
    expect(woken).toEqual(['a', 'b']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([1000, 0, -1])('end a wait of %d ms by timeout when nothing changes', async (withinMs) => {
    let over = false;
    const wait = new Changes().next(withinMs).then(() => (over = true));
    await vi.advanceTimersByTimeAsync(Math.max(0, withinMs - 1));
    expect(over).toBe(withinMs <= 0);
    await vi.advanceTimersByTimeAsync(1);
    await wait;
  });

  it('wait longer than a timer can', async () => {
    let over = false;
    void new Changes().next(Number.POSITIVE_INFINITY).then(() => (over = true));
    await vi.advanceTimersByTimeAsync(1000);
    expect(over).toBe(false);
  });
});

it('backoff doubles up to the longest delay', () => {
  const delays = [0, 1, 2, 3, 4, 1000].map((attempt) => backoffMs({ firstMs: 15, longestMs: 100 }, attempt));
  expect(delays).toEqual([15, 30, 60, 100, 100, 100]);
});

const HELD_UP_MS = 400;
const UNMEASURED_MS = 150;

function holdUp(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

it('the clock stops during a hold-up, and resumes before the next timer', async () => {
  const before = runningMs();
  const since = performance.now();
  holdUp(HELD_UP_MS);
  const during = runningMs() - before;
  await delay(1);
  const after = runningMs() - before;
  expect(performance.now() - since).toBeGreaterThanOrEqual(HELD_UP_MS);
  expect(during).toBeLessThan(HELD_UP_MS);
  expect(after).toBeGreaterThanOrEqual(during);
  expect(after).toBeLessThan(performance.now() - since - HELD_UP_MS + UNMEASURED_MS);
});

it('lateBy covers a hold-up for data read right after it, not later', async () => {
  lateBy();
  const seen = new Promise<number>((resolve) => setTimeout(() => setImmediate(() => resolve(lateBy())), 1));
  holdUp(HELD_UP_MS);
  expect(await seen).toBeGreaterThan(HELD_UP_MS / 2);
  await vi.waitFor(() => expect(lateBy()).toBe(0), { timeout: 60_000, interval: 1 });
});

it('the clock never goes back', async () => {
  let last = runningMs();
  for (const ms of [0, 60, 0, 30, 90]) {
    holdUp(ms);
    for (const pause of [0, 1, 30]) {
      await delay(pause);
      const now = runningMs();
      expect(now).toBeGreaterThanOrEqual(last);
      last = now;
    }
  }
});

const outOf = (patience: Patience): Promise<unknown> => new Promise((resolve) => patience.watch(resolve));

it('patience without progress ends as silent', async () => expect(await outOf(new Patience(1))).toBe('silent'));

it('patience continues with progress, up to the total limit', async () => {
  const patience = new Patience(60, 300);
  const since = runningMs();
  const renewing = setInterval(() => patience.renew(), 1);
  const why = await outOf(patience);
  clearInterval(renewing);
  expect(why).toBe('endless');
  expect(runningMs() - since).toBeGreaterThanOrEqual(300);
});

it('patience does not count the time in which it is held', async () => {
  const patience = new Patience(20);
  const ready = Promise.withResolvers<void>();
  const held = patience.hold(ready.promise);
  let gaveUp = false;
  const over = outOf(patience).then(() => (gaveUp = true));
  await outOf(new Patience(60));
  expect(gaveUp).toBe(false);
  ready.resolve();
  await held;
  await over;
});

it('a stopped watch of patience never gives up', async () => {
  const patience = new Patience(0);
  let gaveUp = false;
  patience.watch(() => (gaveUp = true))();
  await outOf(patience);
  expect(gaveUp).toBe(false);
});

it('patience waits longer than a timer can', () => {
  const stop = new Patience(Number.POSITIVE_INFINITY).watch(() => expect.unreachable());
  stop();
});

it('poll does not count the time in which the process is held up', async () => {
  let looks = 0;
  const look = (): true | undefined => {
    looks += 1;
    if (looks === 1) holdUp(HELD_UP_MS);
    return looks > 3 ? true : undefined;
  };
  await expect(poll('the fourth look', look, { timeoutMs: HELD_UP_MS / 2, firstPauseMs: 1 })).resolves.toBe(true);
  await expect(poll('nothing', () => undefined, { timeoutMs: 5 })).rejects.toBeInstanceOf(PollTimeout);
});

it('socketsRead reads received data before a wait ends', async () => {
  const server = createServer();
  const socket = connect((await served(server)).port, '127.0.0.1');
  const [accepted] = await once(server, 'connection');
  let read = false;
  socket.on('error', () => {}).once('data', () => (read = true));
  await delay(1);
  accepted.write('x');
  expect(read).toBe(false);
  await socketsRead();
  expect(read).toBe(true);
  socket.destroy();
});
