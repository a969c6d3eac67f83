/** Draws charts as SVG, which fit any width and need no script. */

import { html, type Markup, NOTHING } from '../../../harness/common/html.ts';
import { readableDuration } from '../../../harness/common/units.ts';

/** Unit of an axis; `percentile` puts p90, p99 and p99.9 at equal distances. */
export type Unit = 'ms' | 's' | '%' | 'number' | 'percentile';

export interface Axis {
  unit: Unit;
  from: number;
  to: number;
  ticks: number[];
  log?: true;
}

export interface Band {
  name: string;
  from: number;
  to: number;
  measured: boolean;
  byHand?: boolean;
}

export interface Series {
  name: string;
  values: (number | null)[];
  tone?: 'late';
}

export interface Plot {
  id: string;
  title: string;
  about: string;
  x: Axis;
  y: Axis;
  bands: Band[];
  at: number[];
  series: Series[];
}

const SIZE = 1000;
const GAP_VALUES = 3;
const LINE_COLOURS = 10;

function positionOn({ from, to, log }: Axis, value: number): number {
  const scaled = log === true ? Math.log(value / from) / Math.log(to / from) : (value - from) / (to - from);
  return Math.min(Math.max(scaled, 0), 1);
}

function valueText(unit: Unit, value: number): string {
  switch (unit) {
    case 'ms':
      return readableDuration(value);
    case 's':
      return readableDuration(value * 1000);
    case '%':
      return `${Number(value.toFixed(value > 99 ? 2 : 1))} %`;
    case 'percentile':
      return `p${Number((100 - 100 / 10 ** value).toFixed(2))}`;
    case 'number':
      return Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)));
  }
}

export function chart(plot: Plot): Markup {
  const { id, title, about, x, y, at, series, bands } = plot;
  const lines = series.map(
    ({ values, tone }, index) => html`<path class="${colour(index, tone)}" d="${path(at, values, x, y)}"/>`,
  );
  const shapes = bands.map(({ from, to, byHand }, index) => {
    const [left, right] = [positionOn(x, from), positionOn(x, to)];
    const kind = byHand === true ? ' by-hand' : index % 2 === 1 ? ' even' : '';
    return html`<rect class="band${kind}" x="${units(left)}" width="${units(right - left)}" y="0" height="${SIZE}"/>`;
  });
  const across = y.ticks.map((tick) => `M0 ${units(1 - positionOn(y, tick))}H${SIZE}`);
  const down = x.ticks.map((tick) => `M${units(positionOn(x, tick))} 0V${SIZE}`);
  const grid = html`<path class="grid" d="${[...across, ...down].join('')}"/>`;
  const drawing = html`<svg viewBox="0 0 ${SIZE} ${SIZE}" preserveAspectRatio="none"
role="img" aria-label="${title}. ${about}">${shapes}${grid}${lines}</svg>`;
  const legend = series.map(({ name, tone }, index) => html`<li><i class="${colour(index, tone)}"></i>${name}</li>`);
  return html`<figure class="chart" data-chart="${id}"><figcaption><b>${title}</b> <span>${about}</span></figcaption>
<div class="frame">${bandLabels(x, bands)}<div class="area">${drawing}
${labels(x, y)}</div></div>
${series.length < 2 ? NOTHING : html`<ul class="legend">${legend}</ul>`}
${valuesTable(plot)}</figure>
`;
}

const colour = (index: number, tone?: string): string =>
  tone ?? `c${index % LINE_COLOURS}${index >= LINE_COLOURS ? ' dashed' : ''}`;

const units = (share: number): number => Math.round(share * SIZE * 10) / 10;

function path(at: readonly number[], values: readonly (number | null)[], x: Axis, y: Axis): string {
  let text = '';
  let missing = GAP_VALUES + 1;
  values.forEach((value, index) => {
    if (value === null) {
      missing += 1;
      return;
    }
    const point = `${units(positionOn(x, at[index] ?? 0))} ${units(1 - positionOn(y, value))}`;
    // Begins each line segment with a short dash, because a single point would be invisible.
    text += missing > GAP_VALUES ? `M${point}h1` : `L${point}`;
    missing = 0;
  });
  return text;
}

const percent = (share: number): string => `${Number((share * 100).toFixed(2))}%`;

function labels(x: Axis, y: Axis): Markup {
  const up = y.ticks.map(
    (tick) => html`<span style="top:${percent(1 - positionOn(y, tick))}">${valueText(y.unit, tick)}</span>`,
  );
  const along = x.ticks.map((tick, index) => {
    const kind = index % 2 === 1 ? html`class="odd" ` : NOTHING;
    return html`<span ${kind}style="left:${percent(positionOn(x, tick))}">${valueText(x.unit, tick)}</span>`;
  });
  return html`<div class="y" aria-hidden="true">${up}</div>
<div class="x" aria-hidden="true">${along}</div>`;
}

/** One row for the phases, and one for each action of a user, because actions may overlap. */
function bandLabels(x: Axis, bands: readonly Band[]): Markup {
  if (bands.length === 0) return NOTHING;
  const label = ({ name, from, to, measured, byHand }: Band): Markup => {
    const [left, right] = [positionOn(x, from), positionOn(x, to)];
    const words = measured || byHand === true ? name : `${name} (warm-up)`;
    const at =
      byHand !== true
        ? `left:${percent(left)};width:${percent(right - left)}`
        : left > 0.6
          ? `right:${percent(1 - right)};max-width:${percent(right)}`
          : `left:${percent(left)};max-width:${percent(1 - left)}`;
    return html`<span title="${words}" style="${at}">${words}</span>`;
  };
  const row = (kind: string, inRow: readonly Band[]): Markup =>
    html`<div class="bands${kind}" aria-hidden="true">${inRow.map(label)}</div>`;
  const phases = bands.filter(({ byHand }) => byHand !== true);
  const hands = bands.filter(({ byHand }) => byHand === true);
  return html`${row('', phases)}${hands.map((band) => row(' by-hand', [band]))}`;
}

type Row = readonly (string | Markup)[];

/** A column name that ends with `#` marks numbers; `last` is the CSS class of the last row. */
export function tableOf(label: string, columns: readonly string[], rows: readonly Row[], last?: string): Markup {
  if (rows.length === 0) return NOTHING;
  const kinds = columns.map((name) => (name.endsWith('#') ? html` class="n"` : NOTHING));
  const head = columns.map((name, at) => html`<th scope="col"${kinds[at] ?? NOTHING}>${name.replace(/#$/, '')}</th>`);
  const cell = (value: string | Markup, at: number): Markup => {
    if (typeof value !== 'string') return value;
    return at === 0 ? html`<th scope="row">${value}</th>` : html`<td${kinds[at] ?? NOTHING}>${value}</td>`;
  };
  const body = rows.map(
    (row, at) => html`<tr${last && at === rows.length - 1 ? html` class="${last}"` : NOTHING}>${row.map(cell)}</tr>`,
  );
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${label}">
<table class="data"><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table></div>`;
}

function valuesTable({ title, x, y, at, series }: Plot): Markup {
  const step = Math.max(1, Math.ceil(at.length / 12));
  const text = (value: number | null | undefined): string => (value == null ? '–' : valueText(y.unit, value));
  const all = at.map((value, index) => [valueText(x.unit, value), ...series.map(({ values }) => text(values[index]))]);
  const rows = all.filter((_, index) => index % step === 0 || index === at.length - 1);
  const table = tableOf(`Values: ${title}`, ['at', ...series.map(({ name }) => `${name}#`)], rows);
  return html`<details class="values"><summary>Values</summary>${table}</details>`;
}

export function chartData({ id, x, y, at, series }: Plot): object {
  return {
    id,
    at: at.map((value) => Number(positionOn(x, value).toFixed(4))),
    labels: at.map((value) => valueText(x.unit, value)),
    unit: y.unit,
    lines: series.map(({ name, values, tone }, index) => ({
      name,
      colour: colour(index, tone),
      values: values.map((value) => (value === null ? null : Number(value.toPrecision(4)))),
    })),
  };
}
