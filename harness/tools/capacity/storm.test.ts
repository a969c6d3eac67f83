import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Advice, storm } from './storm.ts';

const advice = fc.constantFrom<Advice>('none', 1, 30, 'reserved');
const robots = fc.integer({ min: 1, max: 400 });
const capacity = fc.integer({ min: 1, max: 500 });

describe('a simulated reconnect storm', () => {
  it('brings every robot back, no faster than the platform admits them', () => {
    fc.assert(
      fc.property(robots, capacity, advice, fc.nat(), (robots, capacity, advice, seed) => {
        const { back, attempts } = storm({ robots, capacity, advice, seed });
        const burst = Math.max(1, capacity / 10);
        expect(back.all).toBeGreaterThanOrEqual(Math.max(750, (1000 * (robots - burst)) / capacity));
        expect(attempts).toBeGreaterThanOrEqual(robots);
        expect([back.p50, back.p90, back.p99, back.all]).toEqual(
          [back.p50, back.p90, back.p99, back.all].toSorted((a, b) => a - b),
        );
      }),
    );
  });

  it('is over after the first delay when there is room for all', () => {
    const { back, attempts, busiest } = storm({ robots: 1000, capacity: 100_000 });
    expect(back.all).toBeLessThanOrEqual(1_260);
    expect({ attempts, inTheBusiest: busiest <= 1000 }).toEqual({ attempts: 1000, inTheBusiest: true });
  });

  it('is the same for the same seed', () => {
    const one = { robots: 300, capacity: 20, seed: 7 };
    expect(storm(one)).toEqual(storm(one));
    expect(storm(one)).not.toEqual(storm({ ...one, seed: 8 }));
  });

  it('uses all the room when robots are told when there will be some', () => {
    const { back, attempts } = storm({ robots: 5000, capacity: 100, advice: 'reserved' });
    expect(back.all).toBeLessThan((5000 / 100) * 1000 * 1.05);
    expect(attempts).toBeLessThanOrEqual(2 * 5000);
  });
});
