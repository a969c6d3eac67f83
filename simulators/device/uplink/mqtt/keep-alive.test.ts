import { describe, expect, it } from 'vitest';
import { ManualTime } from '../testing/manual-time.ts';
import { KEEP_ALIVE_SECONDS, KeepAlive } from './keep-alive.ts';

function member() {
  const beats = { count: 0, beat: () => void beats.count++ };
  return beats;
}

describe('the keep-alive wheel', () => {
  it('calls each member once within the keep-alive time, with one timer for all', () => {
    const time = new ManualTime();
    const wheel = new KeepAlive(time);
    const members = Array.from({ length: 500 }, () => {
      time.advance(37);
      const each = member();
      wheel.add(each);
      return each;
    });
    expect(time.waiting).toHaveLength(1);
    const before = members.map(({ count }) => count);
    const most = { atOnce: 0 };
    for (let second = 0; second < KEEP_ALIVE_SECONDS; second++) {
      const sum = members.reduce((total, { count }) => total + count, 0);
      time.advance(1_000);
      most.atOnce = Math.max(most.atOnce, members.reduce((total, { count }) => total + count, 0) - sum);
    }
    const gained = members.map(({ count }, index) => count - (before[index] ?? 0));
    expect(Math.min(...gained)).toBeGreaterThanOrEqual(1);
    expect(Math.max(...gained)).toBeLessThanOrEqual(2);
    expect(most.atOnce).toBeLessThan(members.length / 5);
  });

  it('stops with its last member, and starts again with the next', () => {
    const time = new ManualTime();
    const wheel = new KeepAlive(time);
    const one = member();
    const slot = wheel.add(one);
    wheel.delete(one, slot);
    wheel.delete(one, slot);
    expect(time.waiting).toEqual([]);
    wheel.add(one);
    time.advance(KEEP_ALIVE_SECONDS * 1_000);
    expect(one.count).toBe(1);
  });

  it('lets a member leave while it is called', () => {
    const time = new ManualTime();
    const wheel = new KeepAlive(time);
    const leaver = { beat: () => wheel.delete(leaver, slot) };
    const slot = wheel.add(leaver);
    time.advance(KEEP_ALIVE_SECONDS * 1_000);
    expect(time.waiting).toEqual([]);
  });
});
