import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cellsOf, mapRollouts, mergeMaps } from './rollout-map.ts';

const rowOf = (robot: number, posted_ms: number, total_ms: number | null, late_ms: number | null = null) => ({
  robot,
  posted_ms,
  total_ms,
  late_ms,
});

describe('the map of roll-outs', () => {
  it('has the slowest arrival of each cell, and tells late ones from lost ones', () => {
    const rows = [rowOf(0, 0, 20), rowOf(1, 5, 90), rowOf(1, 1000, null, 700), rowOf(1, 1001, null), rowOf(199, 0, 1)];
    const map = mapRollouts(rows, 200);
    expect(map.bands).toBe(50);
    const [first, second, third] = cellsOf(map);
    expect(first).toEqual({ band: 0, column: 0, attempts: 2, slowestMs: 90, late: 0, lost: 0 });
    expect(second).toMatchObject({ band: 0, attempts: 2, slowestMs: 0, late: 1, lost: 1 });
    expect((second?.column ?? 0) * map.column_ms).toBeLessThanOrEqual(1000);
    expect(third).toMatchObject({ band: 49, column: 0 });
  });

  it('has a limit, however large the fleet and long the run', () => {
    const rows = Array.from({ length: 20_000 }, (_, robot) => rowOf(robot, robot * 997, 10 + (robot % 900)));
    const map = mapRollouts(rows, rows.length);
    expect(map.cells.length).toBeLessThanOrEqual(50 * 120);
    expect(cellsOf(map).reduce((sum, { attempts }) => sum + attempts, 0)).toBe(rows.length);
  });

  it('is the same whole or merged from shards', () => {
    const row = fc.record({
      robot: fc.integer({ min: 0, max: 99 }),
      posted_ms: fc.double({ min: 0, max: 1e6, noNaN: true }),
      total_ms: fc.option(fc.integer({ min: 1, max: 5000 })),
      late_ms: fc.option(fc.integer({ min: 1, max: 5000 })),
    });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 60 }), (rows) => {
        const shards = [0, 1, 2].map((shard) =>
          mapRollouts(
            rows.filter(({ robot }) => robot % 3 === shard),
            100,
          ),
        );
        expect(mergeMaps(shards)).toEqual(mapRollouts(rows, 100));
      }),
    );
  });
});
