/** The heat map of a roll-out: robots from top to bottom, time from left to right; what was slow, late or lost stands out. */
import { ticks } from '../../../harness/common/axis.ts';
import { readableDuration } from '../../../harness/common/durations.ts';
import { html, type Markup, NOTHING } from '../../../harness/common/html.ts';
import type { FleetResult } from '../result/result.ts';
import { type Cell, cellsOf } from '../result/rollout-map.ts';
import { bandLabels, grid, labels } from './chart.ts';
import { type Axis, phaseBands } from './plots.ts';

/** Shades from fast to slow. */
const SHADES = 6;

interface Drawn {
  cells: Cell[];
  x: Axis;
  y: Axis;
  /** Upper ends of the shades, milliseconds, ascending. */
  ends: number[];
  /** Columns that are drawn, and the first of them. */
  columns: number;
  first: number;
  bands: number;
  columnMs: number;
}

function drawn({ rollouts, fleet_robots: robots }: FleetResult): Drawn | undefined {
  if (rollouts === undefined || rollouts.map.cells.length === 0) return undefined;
  const { map } = rollouts;
  const cells = cellsOf(map);
  const used = cells.map(({ column }) => column);
  const first = Math.min(...used);
  const columns = Math.max(...used) - first + 1;
  const from = (first * map.column_ms) / 1000;
  const to = ((first + columns) * map.column_ms) / 1000;
  return {
    cells,
    x: { unit: 's', from, to, ticks: ticks(from, to, 8) },
    y: { unit: 'number', from: robots, to: 0, ticks: ticks(0, robots, 4) },
    ends: shadeEnds(cells),
    columns,
    first,
    bands: map.bands,
    columnMs: map.column_ms,
  };
}

/** Ends of shades, evenly on a logarithmic scale, to two digits. */
function shadeEnds(cells: readonly Cell[]): number[] {
  const times = cells.flatMap(({ slowestMs }) => (slowestMs > 0 ? [slowestMs] : []));
  if (times.length === 0) return [];
  const [low, high] = [Math.min(...times), Math.max(...times)];
  const ends = Array.from({ length: SHADES }, (_, step) => low * (high / low) ** ((step + 1) / SHADES));
  return [...new Set(ends.map((end, step) => (step === SHADES - 1 ? high : Number(end.toPrecision(2)))))].sort(
    (a, b) => a - b,
  );
}

const classOf = ({ slowestMs, late, lost }: Cell, ends: readonly number[]): string => {
  if (lost > 0) return 'lost';
  if (late > 0) return 'late';
  const shade = ends.findIndex((end) => slowestMs <= end);
  return shade < 0 ? 'pending' : `h${shade}`;
};

/** The figure, or nothing when there was no roll-out. `split`: whether late roll-outs are told from lost ones. */
export function heatMap(result: FleetResult): Markup {
  const of = drawn(result);
  if (of === undefined) return NOTHING;
  const { cells, x, y, ends, columns, first, bands, columnMs } = of;
  const paths = new Map<string, string>();
  for (const cell of cells) {
    const name = classOf(cell, ends);
    paths.set(name, `${paths.get(name) ?? ''}M${cell.column - first} ${cell.band}h1v1h-1z`);
  }
  const wrong = cells.filter(({ late, lost }) => late + lost > 0).length;
  const perBand = Math.ceil(result.fleet_robots / bands);
  const about = `Each row is ${perBand === 1 ? 'a robot' : `${perBand} robots`}, each column ${readableDuration(columnMs)} in which POSTs were sent; the colour is the slowest arrival. ${wrong === 0 ? 'No cell has a robot that missed its roll-out.' : `${wrong} of ${cells.length} cells have a robot that missed its roll-out.`}`;
  const inView = phaseBands(result)
    .filter(({ from, to }) => to > x.from && from < x.to)
    .map((band) => ({ ...band, from: Math.max(band.from, x.from), to: Math.min(band.to, x.to) }));
  return html`<figure class="chart map" data-map><figcaption><b>Roll-outs by robot and time</b> <span>${about}</span></figcaption>
<div class="frame">${bandLabels(x, inView)}<div class="area"><svg viewBox="0 0 ${columns} ${bands}" preserveAspectRatio="none" role="img" aria-label="Roll-outs by robot and time. ${about}" shape-rendering="crispEdges">${[...paths].map(([name, d]) => html`<path class="cell ${name}" d="${d}"/>`)}</svg>
<svg class="lines" viewBox="0 0 1000 1000" preserveAspectRatio="none" aria-hidden="true">${grid(x, y)}</svg>
${labels(x, y)}</div></div>
<ul class="legend">${legend(ends, paths)}</ul></figure>
`;
}

function legend(ends: readonly number[], paths: ReadonlyMap<string, string>): Markup[] {
  const shades = ends.map((end, step) => html`<li><i class="cell h${step}"></i>up to ${readableDuration(end)}</li>`);
  const words = { late: 'arrived late', lost: 'never arrived', pending: 'not known' };
  const others = Object.entries(words).flatMap(([name, text]) =>
    paths.has(name) ? [html`<li><i class="cell ${name}"></i>${text}</li>`] : [],
  );
  return [...shades, ...others];
}

/** What the page's script needs to show the cell under the pointer. */
export function heatMapData(result: FleetResult): object | undefined {
  const of = drawn(result);
  if (of === undefined || result.rollouts === undefined) return undefined;
  const { columns, first, bands, columnMs } = of;
  return { columns, first, bands, columnMs, robots: result.fleet_robots, cells: result.rollouts.map.cells };
}
