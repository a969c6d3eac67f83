/** The report of a fleet run: one HTML file with everything inside, no network needed to read it. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { decode } from '../measure/histograms.ts';
import { type FleetResult, measuredNothing } from '../result/result.ts';
import { parseThreshold } from '../result/thresholds.ts';
import { readableMs } from '../scenario/units.ts';
import { PAGE_SCRIPT, PAGE_STYLE } from './report-page.ts';

interface Plot {
  id: string;
  x: 'seconds' | 'ms' | 'percentile';
  y: 'ms' | '%' | 'number';
  log?: boolean;
  at: number[];
  series: { name: string; values: (number | null)[] }[];
}

/** Name of the report in the folder of a run. */
export const REPORT_FILE = 'report.html';

/** The legs of a roll-out in the order in which they happen. */
export const ROLLOUT_LEGS = ['command', 'sync', 'write', 'event', 'report'] as const;

/** Text of `report.html`. */
export function reportHtml(result: FleetResult): string {
  const plots = [...rolloutPlots(result), ...percentilePlots(result), ...timePlots(result)];
  const place = (id: string, caption: string): string =>
    plots.some((plot) => plot.id === id) ? `<h3>${caption}</h3><div class="plot" id="${id}"></div>` : '';
  const { script, style } = uPlot();
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>Muster fleet: ${text(result.scenario)}</title><style>${style}${PAGE_STYLE}</style></head><body><main>
<h1>${text(result.scenario)} ${badge(result)}</h1>
<ul class="facts">${facts(result)
    .map((fact) => `<li>${text(fact)}</li>`)
    .join('')}</ul>
${told('bad', result.incomplete_reasons)}${told(tone(result.verdict), result.verdict_reasons)}${told('', result.notes)}
<div class="tiles">${tiles(result)}</div>
${violations(result)}
${section('Thresholds', thresholds(result))}
${section(
  'Roll-out',
  place('reach', 'Robots whose on-device client had read the event, by time after the POST') +
    place('legs', 'Where the time goes: each leg by percentile') +
    place('rollout-time', 'Roll-out latency over the run'),
)}
${section('Latencies', place('percentiles', 'Latency by percentile') + metrics(result))}
${section(
  'Over time',
  place('rates', 'Events a second') +
    place('p99', '99th percentile of each second') +
    place('states', 'Robots by state') +
    place('load', 'The generator itself: cores used') +
    place('stalls', 'The generator itself: longest stall of an event loop in each second'),
)}
${section('Counters', counters(result))}
</main><script type="application/json" id="data">${JSON.stringify(plots).replaceAll('<', '\\u003c')}</script>
<script>${script}</script><script>${PAGE_SCRIPT}</script></body></html>
`;
}

/** Nothing at all, rather than a heading above nothing. */
const section = (title: string, body: string): string => (body === '' ? '' : `<h2>${title}</h2>${body}`);

/** The generator's verdict says nothing good of a run that is not complete. */
function badge({ complete, verdict }: FleetResult): string {
  const [className, words] = complete ? [tone(verdict), verdict] : ['bad', 'incomplete'];
  return `<span class="badge ${className}">${words}</span>`;
}

function facts(result: FleetResult): string[] {
  const { shard, workers } = result;
  return [
    ...(shard === null ? [] : [`shard ${shard.index} of ${shard.count}`]),
    workers === 1 ? '1 worker' : `${workers} workers`,
    `seed ${result.seed}`,
    `uplink ${result.uplink}`,
    ...(result.uplink === 'agent' ? [`${result.key_bits}-bit keys`] : []),
    `platform ${result.platform}`,
    ...(result.complete || measuredNothing(result) ? [] : [`generator ${result.verdict}`]),
    result.started_at.replace('T', ' ').replace(/\.\d+Z$/, ' UTC'),
    `Muster ${result.muster}`,
  ];
}

function uPlot(): { script: string; style: string } {
  const dist = dirname(createRequire(import.meta.url).resolve('uplot'));
  const read = (name: string): string => readFileSync(join(dist, name), 'utf8');
  return { script: read('uPlot.iife.min.js').replaceAll('</script', '<\\/script'), style: read('uPlot.min.css') };
}

/** Reach of a roll-out and its legs, from the histograms. */
function rolloutPlots({ histograms, metrics }: FleetResult): Plot[] {
  const whole = histograms['rollout.ms'];
  if (whole === undefined) return [];
  const from = decode(whole);
  const percents = [0, 1, ...Array.from({ length: 19 }, (_, step) => 5 + step * 5), 97, 99, 99.5, 99.9, 100];
  const at = percents.map((percent) => from.getValueAtPercentile(percent) / 1000);
  const points = percents.map((percent, index) => [at[index] ?? 0, percent] as const);
  // A plot needs ascending times: of equal ones the last, highest share stands.
  const distinct = points.filter(([ms], index) => ms !== points[index + 1]?.[0]);
  const plots: Plot[] = [
    {
      id: 'reach',
      x: 'ms',
      y: '%',
      at: distinct.map(([ms]) => ms),
      series: [{ name: 'robots reached', values: distinct.map(([, percent]) => percent) }],
    },
  ];
  const legs = ROLLOUT_LEGS.map((leg) => `rollout.${leg}.ms`).filter((name) => histograms[name] !== undefined);
  if (legs.length > 0 && metrics['rollout.ms'] !== undefined) plots.push(byPercentile('legs', legs, histograms));
  return plots;
}

const PERCENTILES = [0, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.99];

function byPercentile(id: string, names: string[], histograms: Record<string, string>): Plot {
  return {
    id,
    x: 'percentile',
    y: 'ms',
    log: true,
    at: PERCENTILES.map((percent) => -Math.log10(1 - percent / 100)),
    series: names.map((name) => {
      const from = decode(histograms[name] ?? '');
      return { name, values: PERCENTILES.map((percent) => Math.max(from.getValueAtPercentile(percent) / 1000, 0.001)) };
    }),
  };
}

function percentilePlots({ histograms }: FleetResult): Plot[] {
  const names = Object.keys(histograms).filter((name) => !/^rollout\..+\.ms$/.test(name));
  return names.length === 0 ? [] : [byPercentile('percentiles', names, histograms)];
}

function timePlots({ series }: FleetResult): Plot[] {
  if (series.length < 2) return [];
  const at = series.map((tick) => tick.at_ms / 1000);
  const over = (
    id: string,
    y: Plot['y'],
    of: (tick: FleetResult['series'][number]) => Record<string, number>,
  ): Plot => {
    const names = [...new Set(series.flatMap((tick) => Object.keys(of(tick))))].sort();
    return {
      id,
      x: 'seconds',
      y,
      at,
      series: names.map((name) => ({ name, values: series.map((tick) => of(tick)[name] ?? null) })),
    };
  };
  const plots = [
    over('rates', 'number', (tick) => withoutStill(tick.rates, series)),
    over('p99', 'ms', (tick) => tick.p99),
    over('states', 'number', (tick) => tick.robots),
    over('load', 'number', (tick) => ({ cores: tick.cpu })),
    over('stalls', 'ms', (tick) => ({ stall: tick.loop_max_ms })),
  ];
  const latency = over('rollout-time', 'ms', ({ p50, p99 }) => {
    const [middle, high] = [p50['rollout.ms'], p99['rollout.ms']];
    return { ...(middle === undefined ? {} : { p50: middle }), ...(high === undefined ? {} : { p99: high }) };
  });
  return [...plots, latency].filter((plot) => plot.series.length > 0);
}

/** Without what never happened, which would only hide what did. */
function withoutStill(rates: Record<string, number>, series: FleetResult['series']): Record<string, number> {
  return Object.fromEntries(
    Object.entries(rates).filter(([name]) => series.some((tick) => (tick.rates[name] ?? 0) > 0)),
  );
}

function tiles(result: FleetResult): string {
  const rollout = result.metrics['rollout.ms'];
  const shown: [string, string][] = [
    [count(result.robots), 'robots'],
    ...(rollout === undefined
      ? []
      : ([
          [readableMs(rollout.p50), 'roll-out p50'],
          [readableMs(rollout.p99), 'roll-out p99'],
          [count(rollout.count), 'roll-outs'],
        ] as [string, string][])),
    ...(result.start_ms === 0 ? [] : ([[readableMs(result.start_ms), 'until all served']] as [string, string][])),
    ...(result.rss_bytes_per_robot === 0
      ? []
      : ([[`${(result.rss_bytes_per_robot / 1024).toFixed(1)} KiB`, 'memory a robot']] as [string, string][])),
    [count(result.counters['subscriber.violations'] ?? 0), 'stream violations'],
    [readableMs(result.duration_ms), 'whole run'],
  ];
  return shown
    .map(([value, label]) => `<div class="tile"><b>${text(value)}</b><span>${text(label)}</span></div>`)
    .join('');
}

function violations({ violations: found, missed }: FleetResult): string {
  const rows = found.map(
    ({ name, kind, message }) =>
      `<tr><td>${text(name)}</td><td class="bad">${kind}</td><td class="wide">${text(message)}</td></tr>`,
  );
  const table = rows.length === 0 ? '' : `<h2 class="bad">Streams that were not whole</h2>${tableOf(rows)}`;
  return `${table}${missed.length === 0 ? '' : `<h2 class="bad">Robots that read no event of their roll-out</h2>${told('bad', [missed.join(', ')])}`}`;
}

function thresholds(result: FleetResult): string {
  const rows = result.thresholds.map(({ expr, value, ok, reason }) => {
    const [className, words] = !result.complete ? ['none', 'not judged'] : ok ? ['good', '✓ met'] : ['bad', '✗ missed'];
    return `<tr><td class="wide">${text(expr)}${reason === undefined ? '' : `<small>${text(reason)}</small>`}</td><td class="n">${text(thresholdValue(expr, value))}</td><td class="${className}">${words}</td></tr>`;
  });
  return tableOf(rows);
}

/** Wider than the page it scrolls by itself. */
const tableOf = (rows: readonly string[], head = ''): string =>
  rows.length === 0 ? '' : `<div class="scroll"><table class="data">${head}${rows.join('')}</table></div>`;

/** With the unit of the expression. */
export function thresholdValue(expr: string, value: number | null): string {
  if (value === null) return '–';
  const { statistic, per } = parseThreshold(expr);
  if (per !== undefined)
    return per === 'attempt' ? `${Number((value * 100).toPrecision(3))} %` : `${Number(value.toPrecision(4))}/s`;
  return statistic === 'count' ? count(value) : readableMs(value);
}

function metrics(result: FleetResult): string {
  const head = ['metric', 'count', 'p50', 'p90', 'p99', 'p99.9', 'max'];
  const rows = Object.entries(result.metrics).map(([name, of]) => {
    const times = [of.p50, of.p90, of.p99, of.p999, of.max].map((ms) => `<td class="n">${readableMs(ms)}</td>`);
    return `<tr><td>${text(name)}</td><td class="n">${count(of.count)}</td>${times.join('')}</tr>`;
  });
  const columns = head.map((name, index) => `<th${index === 0 ? '' : ' class="n"'}>${name}</th>`).join('');
  return tableOf(rows, `<tr>${columns}</tr>`);
}

function counters(result: FleetResult): string {
  const rows = Object.entries(result.counters).map(
    ([name, value]) => `<tr><td>${text(name)}</td><td class="n">${count(value)}</td></tr>`,
  );
  return tableOf(rows);
}

const told = (className: string, lines: readonly string[]): string =>
  lines.map((line) => `<p class="told ${className}">${text(line)}</p>`).join('');
const tone = (verdict: FleetResult['verdict']): string =>
  verdict === 'valid' ? 'good' : verdict === 'suspect' ? 'poor' : 'bad';
const count = (value: number): string => Math.round(value).toLocaleString('en');
const text = (raw: string): string => raw.replace(/[&<>"']/g, (mark) => `&#${mark.codePointAt(0)};`);
