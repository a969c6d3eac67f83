/**
 * Map of slow, late and lost roll-outs: bands of robots over the time of a run. The number of cells is limited for any
 * size of fleet and length of run.
 */
import type { Static } from 'typebox';
import { Type } from '../../../harness/contract/type.ts';

/** Bands of a map; a small fleet has one for each robot. */
const MOST_BANDS = 50;
const MOST_COLUMNS = 120;
/** Column width, or a power of two times it, so that columns of different shards align. */
const NARROWEST_MS = 10;

export const rolloutMap = Type.Object({
  bands: Type.Integer({ description: 'Bands of robots, by their index in the fleet' }),
  column_ms: Type.Number({ description: 'Width of a column; the first begins with the first phase' }),
  cells: Type.Array(Type.Array(Type.Number()), {
    description: 'Of each: band, column, POSTs sent, slowest that arrived in time (ms; 0: none), late, lost',
  }),
});
type RolloutMap = Static<typeof rolloutMap>;

export interface Cell {
  band: number;
  column: number;
  attempts: number;
  /** Slowest arrival in time, milliseconds; 0 for none. */
  slowestMs: number;
  late: number;
  lost: number;
}

/** One roll-out to one robot, in milliseconds; `posted_ms` since the start of the first phase. */
interface Row {
  robot: number;
  posted_ms: number;
  total_ms: number | null;
  late_ms: number | null;
  open?: boolean;
}

export const cellsOf = ({ cells }: RolloutMap): Cell[] =>
  cells.map(([band = 0, column = 0, attempts = 0, slowestMs = 0, late = 0, lost = 0]) => ({
    band,
    column,
    attempts,
    slowestMs,
    late,
    lost,
  }));

export function mapRollouts(rows: readonly Row[], robots: number): RolloutMap {
  const bands = Math.max(1, Math.min(robots, MOST_BANDS));
  const last = rows.reduce((latest, { posted_ms }) => Math.max(latest, posted_ms), 0);
  let columnMs = NARROWEST_MS;
  while (last / columnMs >= MOST_COLUMNS) columnMs *= 2;
  const cells = rows.map(
    ({ robot, posted_ms, total_ms, late_ms, open = false }): Cell => ({
      band: Math.min(Math.floor((robot * bands) / Math.max(robots, 1)), bands - 1),
      column: Math.max(0, Math.floor(posted_ms / columnMs)),
      attempts: 1,
      slowestMs: total_ms ?? 0,
      late: total_ms === null && late_ms !== null ? 1 : 0,
      lost: total_ms === null && late_ms === null && !open ? 1 : 0,
    }),
  );
  return { bands, column_ms: columnMs, cells: added(cells) };
}

/** Merges maps of a fleet's shards or a run's passes; ignores empty ones. */
export function mergeMaps(all: readonly RolloutMap[]): RolloutMap {
  const maps = all.filter(({ cells }) => cells.length > 0);
  const columnMs = Math.max(NARROWEST_MS, ...maps.map(({ column_ms }) => column_ms));
  const cells = maps.flatMap((map) => {
    const wider = columnMs / map.column_ms;
    return cellsOf(map).map((cell) => ({ ...cell, column: Math.floor(cell.column / wider) }));
  });
  return { bands: (maps[0] ?? all.at(-1))?.bands ?? 1, column_ms: columnMs, cells: added(cells) };
}

function added(cells: readonly Cell[]): number[][] {
  const byPlace = new Map<string, Cell>();
  for (const cell of cells) {
    const place = `${cell.band} ${cell.column}`;
    const held = byPlace.get(place) ?? { ...cell, attempts: 0, late: 0, lost: 0 };
    held.attempts += cell.attempts;
    held.slowestMs = Math.max(held.slowestMs, cell.slowestMs);
    held.late += cell.late;
    held.lost += cell.lost;
    byPlace.set(place, held);
  }
  return [...byPlace.values()]
    .sort((a, b) => a.band - b.band || a.column - b.column)
    .map(({ band, column, attempts, slowestMs, late, lost }) => [
      band,
      column,
      attempts,
      Number(slowestMs.toPrecision(4)),
      late,
      lost,
    ]);
}
