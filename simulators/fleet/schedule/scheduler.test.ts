import { describe, expect, it } from 'vitest';
import type { Moments } from './scheduler.ts';
import { Deadlines, monotonicMs, runSchedule } from './scheduler.ts';

const moments = (at: number[]): Moments => {
  const left = [...at];
  return { next: () => left.shift() };
};

describe('open-loop schedule', () => {
  it('starts actions in the order of their times, and of streams at equal times', async () => {
    const seen: [number, number][] = [];
    await runSchedule({
      epoch: 1000,
      now: () => 1_000_000,
      streams: [moments([5, 9]), moments([]), moments([1, 5, 12])],
      fire: (stream, intended) => seen.push([stream, intended]),
    });
    expect(seen).toEqual([
      [2, 1001],
      [0, 1005],
      [2, 1005],
      [0, 1009],
      [2, 1012],
    ]);
  });

  it('reports how late each action started, on the injected clock', async () => {
    let clock = 0;
    const late: number[] = [];
    await runSchedule({
      epoch: 0,
      now: () => clock,
      streams: [moments([0, 10, 20])],
      fire: (_stream, intended, lateMs) => {
        expect(lateMs).toBe(clock - intended);
        late.push(lateMs);
        clock += 25; // An action that blocks makes the following ones late, and that must show.
      },
    });
    expect(late).toEqual([0, 15, 30]);
  });

  it('never starts an action early', async () => {
    const epoch = monotonicMs() + 5;
    const late: number[] = [];
    await runSchedule({
      epoch,
      streams: [moments([0, 3, 7.5]), moments([4, 11])],
      fire: (_stream, _intended, lateMs) => late.push(lateMs),
    });
    expect(late).toHaveLength(5);
    expect(Math.min(...late)).toBeGreaterThanOrEqual(0);
  });

  it('lets the event loop turn while it is behind', async () => {
    let turned = false;
    setImmediate(() => {
      turned = true;
    });
    const turnedAt: boolean[] = [];
    await runSchedule({
      epoch: 0,
      now: () => 1e9,
      streams: [moments(Array.from({ length: 1000 }, (_, index) => index))],
      fire: () => turnedAt.push(turned),
    });
    expect(turnedAt[0]).toBe(false);
    expect(turnedAt.at(-1)).toBe(true);
  });

  it('ends at once when aborted', async () => {
    const stop = new AbortController();
    const fired: number[] = [];
    const running = runSchedule({
      epoch: monotonicMs(),
      streams: [moments([0, 3_600_000])],
      fire: (_stream, intended) => {
        fired.push(intended);
        stop.abort();
      },
      signal: stop.signal,
    });
    await running;
    expect(fired).toHaveLength(1);
  });
});

const never = new Promise<void>(() => {});
const farOff = (): number => monotonicMs() + 3_600_000;

describe('waits of a run', () => {
  it('all end with the run, also those that begin after it', async () => {
    const deadlines = new Deadlines();
    const waiting = [deadlines.until(farOff()), deadlines.at(farOff()).promise, deadlines.reached(farOff(), never)];
    deadlines.end();
    expect(await Promise.all(waiting)).toEqual([undefined, undefined, true]);
    expect(await deadlines.until(farOff())).toBeUndefined();
  });

  it('report whether work was done in time', async () => {
    const deadlines = new Deadlines();
    expect(await deadlines.reached(farOff(), Promise.resolve())).toBe(true);
    expect(await deadlines.reached(monotonicMs(), never)).toBe(false);
    await expect(deadlines.reached(farOff(), Promise.reject(new Error('refused')))).rejects.toThrow('refused');
  });
});
