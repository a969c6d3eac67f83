import { describe, expect, it } from 'vitest';
import { ratePerSecond, shareOf } from './units.ts';

describe('units', () => {
  it('reads rates as events per second', () => {
    expect(['50/s', '300/m', '3600/h'].map(ratePerSecond)).toEqual([50, 5, 1]);
  });

  it('reads shares', () => {
    expect(['0%', '12.5%', '100%'].map(shareOf)).toEqual([0, 0.125, 1]);
  });

  it.each(['50', '50/d', '-1/s'])('refuses the rate %j and says what is accepted', (text) => {
    expect(() => ratePerSecond(text)).toThrow(/a number per time unit/);
  });

  it.each(['101%', '50', '-1%'])('refuses the share %j and says what is accepted', (text) => {
    expect(() => shareOf(text)).toThrow(/0% to 100%/);
  });
});
