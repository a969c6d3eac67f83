import { describe, expect, it } from 'vitest';
import { Waits } from './waits.ts';

const PATIENCE = 10_000;

describe('a wait', () => {
  it('is as long as the patience asks, until the target has shown how quick it is', () => {
    const waits = new Waits();
    expect(waits.within('event', PATIENCE)).toBe(PATIENCE);
    for (let count = 0; count < 10; count += 1) waits.succeeded('event', 20);
    expect(waits.within('event', PATIENCE)).toBe(PATIENCE / 2);
    expect(waits.within('answer', PATIENCE)).toBe(PATIENCE);
  });

  it('is short once one of its kind was in vain', () => {
    const waits = new Waits();
    waits.succeeded('event', 20);
    waits.timedOut('event');
    expect(waits.within('event', PATIENCE)).toBe(1000);
    expect(waits.within('stream', PATIENCE)).toBe(PATIENCE);
    expect(waits.within('event', 300)).toBe(150);
  });

  it('is longer again where a success took longer, and never cuts off a slow target', () => {
    const waits = new Waits();
    waits.timedOut('event');
    waits.succeeded('event', 900);
    expect(waits.within('event', PATIENCE)).toBe(4500);
    waits.succeeded('event', 4000);
    expect(waits.within('event', PATIENCE)).toBe(12_000);
  });

  it('of a MUST is not shortened by a SHOULD', () => {
    const waits = new Waits();
    waits.timedOut('stream', true);
    expect(waits.within('stream', PATIENCE)).toBe(PATIENCE);
    expect(waits.within('stream', PATIENCE, true)).toBe(1000);
    waits.timedOut('stream');
    expect(waits.within('stream', PATIENCE)).toBe(1000);
  });
});
