import { describe, expect, it } from 'vitest';
import { durationMs, ratePerSecond, readableMs, shareOf } from './units.ts';

describe('units', () => {
  it('reads durations of every unit', () => {
    expect(['5ns', '5us', '5ms', '1.5s', '2m', '1h'].map(durationMs)).toEqual([
      5e-6, 5e-3, 5, 1500, 120_000, 3_600_000,
    ]);
  });

  it('reads rates as events a second', () => {
    expect(['50/s', '300/m', '3600/h'].map(ratePerSecond)).toEqual([50, 5, 1]);
  });

  it('reads shares', () => {
    expect(['0%', '12.5%', '100%'].map(shareOf)).toEqual([0, 0.125, 1]);
  });

  it.each(['5', '5 s', 's', '-5s', '1d'])('refuses the duration %j and says what is accepted', (text) => {
    expect(() => durationMs(text)).toThrow(/units ns, us, ms, s, m, h/);
  });

  it.each(['101%', '50', '-1%'])('refuses the share %j', (text) => {
    expect(() => shareOf(text)).toThrow(/0% to 100%/);
  });

  it('rounds to the next unit, never to sixty of one', () => {
    expect([999.7, 59_980, 119_999].map(readableMs)).toEqual(['1.00 s', '1 min 0 s', '2 min 0 s']);
  });

  it('writes times for people', () => {
    expect([0.5, 12.34, 450, 4500, 125_000].map(readableMs)).toEqual([
      '500 µs',
      '12.3 ms',
      '450 ms',
      '4.50 s',
      '2 min 5 s',
    ]);
  });
});
