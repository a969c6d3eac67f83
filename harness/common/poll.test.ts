import { describe, expect, it } from 'vitest';
import { type PollTime, PollTimeout, poll } from './poll.ts';

/** Time that passes only in `sleep`. */
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

describe('poll', () => {
  it('yields what the first look finds without a pause', async () => {
    const time = fakeTime();
    await expect(poll('a value', () => 7, { timeoutMs: 0, time })).resolves.toBe(7);
    expect(time.pauses).toEqual([]);
  });

  it('takes null, false and 0 for found', async () => {
    for (const value of [null, false, 0]) {
      await expect(poll('a value', () => value, { timeoutMs: 0, time: fakeTime() })).resolves.toBe(value);
    }
  });

  it('pauses longer each time, up to the longest pause', async () => {
    const time = fakeTime();
    let looks = 0;
    await poll('six looks', () => (++looks === 6 ? true : undefined), {
      ...{ timeoutMs: 10_000, firstPauseMs: 10, growth: 2, longestPauseMs: 50 },
      time,
    });
    expect(time.pauses).toEqual([10, 20, 40, 50, 50]);
  });

  it('looks once more when the time is up, and then names the wait', async () => {
    const time = fakeTime();
    let looks = 0;
    const waiting = poll(
      'the agent to serve',
      () => {
        looks += 1;
        return Promise.resolve(undefined);
      },
      { timeoutMs: 25, firstPauseMs: 10, time },
    );
    await expect(waiting).rejects.toThrow(new PollTimeout('the agent to serve', 25));
    await expect(waiting).rejects.toThrow('timed out after 0.025 s waiting for the agent to serve');
    expect(time.pauses).toEqual([10, 10, 5]);
    expect(looks).toBe(4);
  });

  it('finds at the last look what came during the last pause', async () => {
    const time = fakeTime();
    const look = () => (time.now() >= 25 ? 'there' : undefined);
    await expect(poll('it', look, { timeoutMs: 25, firstPauseMs: 10, time })).resolves.toBe('there');
  });

  it('throws the error of its caller when the time is up', async () => {
    const timeoutError = () => new RangeError('too late');
    await expect(poll('it', () => undefined, { timeoutMs: 0, time: fakeTime(), timeoutError })).rejects.toThrow(
      new RangeError('too late'),
    );
  });

  it('passes on what a look throws', async () => {
    const look = () => Promise.reject(new Error('broken'));
    await expect(poll('it', look, { timeoutMs: 1000, time: fakeTime() })).rejects.toThrow('broken');
  });

  it('ends with the reason of its signal, also in the middle of a pause', async () => {
    const stop = new AbortController();
    const reason = new Error('interrupted');
    const waiting = poll('it', () => undefined, {
      ...{ timeoutMs: Number.POSITIVE_INFINITY, firstPauseMs: 2 ** 30 },
      signal: stop.signal,
    });
    stop.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });
});
