/** The series of a soak as a page without any other file, and as a table for the terminal. */
import { escapeAttribute } from '../../common/html.ts';
import type { Series } from './samples.ts';
import { type Slope, slopeOf } from './slope.ts';

/** A series with what became of it. */
export interface Judged extends Series {
  /** Undefined after too short a time. */
  slope: Slope | undefined;
}

/** Every series with its slope. */
export const judge = (all: Iterable<Series>): Judged[] =>
  [...all].map((series) => ({ ...series, slope: slopeOf(series.samples, series.noise) }));

const WIDTH = 360;
const HEIGHT = 90;
const SPARKS = '▁▂▃▄▅▆▇█';
const SPARK_COUNT = 24;

const shown = (value: number): string => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(2));

/** `flat 85.10 MiB, 0.01 MiB/min (-0.02 to 0.04)`. */
export function verdictOf({ unit, slope }: Judged): string {
  if (slope === undefined) return 'too short to say';
  const { perMinute, low, high, median, grows } = slope;
  const of = unit === '' ? '' : ` ${unit}`;
  return `${grows ? 'grows' : 'flat '} ${shown(median).padStart(7)}${of}, ${shown(perMinute)}${of}/min (${shown(low)} to ${shown(high)})`;
}

/** One line a series: name, course, verdict. */
export function table(all: readonly Judged[]): string {
  const width = Math.max(...all.map(({ subject, what }) => subject.length + what.length + 1));
  return all
    .map(
      (one) =>
        `${one.slope?.grows ? '✗' : ' '} ${`${one.subject} ${one.what}`.padEnd(width)} ${spark(one)} ${verdictOf(one)}\n`,
    )
    .join('');
}

function spark({ samples }: Series): string {
  const values = samples.map(([, value]) => value);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return Array.from({ length: SPARK_COUNT }, (_, index) => {
    const value = values[Math.floor((index * values.length) / SPARK_COUNT)] ?? low;
    return SPARKS[high === low ? 0 : Math.round(((value - low) / (high - low)) * (SPARKS.length - 1))];
  }).join('');
}

/** The page: a small chart for each series, those that grow first. */
export function page(title: string, all: readonly Judged[]): string {
  const charts = all.toSorted((a, b) => Number(b.slope?.grows ?? false) - Number(a.slope?.grows ?? false)).map(chart);
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${escapeAttribute(title)}</title>
<style>body{font:14px system-ui;margin:2em}figure{display:inline-block;margin:.5em}svg{border:1px solid #ccc}.grows{color:#b00}</style>
<h1>${escapeAttribute(title)}</h1>
${charts.join('\n')}
</html>
`;
}

function chart(one: Judged): string {
  const { samples, subject, what } = one;
  const end = samples.at(-1)?.[0] ?? 1;
  const high = Math.max(...samples.map(([, value]) => value), 1e-9) * 1.05;
  const points = samples
    .map(
      ([seconds, value]) => `${((seconds / end) * WIDTH).toFixed(1)},${(HEIGHT - (value / high) * HEIGHT).toFixed(1)}`,
    )
    .join(' ');
  const name = escapeAttribute(`${subject}: ${what}`);
  return `<figure class="${one.slope?.grows ? 'grows' : 'flat'}"><figcaption><b>${name}</b><br>${escapeAttribute(verdictOf(one))}</figcaption>
<svg role="img" aria-label="${name}" width="${WIDTH}" height="${HEIGHT}"><polyline fill="none" stroke="currentColor" points="${points}"/></svg></figure>`;
}
