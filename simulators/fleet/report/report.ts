/** The report of a fleet run: one HTML file that loads nothing. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { readableDuration } from '../../../harness/common/durations.ts';
import { html, type Markup, NOTHING, trusted } from '../../../harness/common/html.ts';
import { printableJson } from '../../../harness/common/terminal.ts';
import { type FleetResult, measuredNothing, outcomeOf } from '../result/result.ts';
import { parseThreshold } from '../result/thresholds.ts';
import { type Plot, plotsOf } from './plots.ts';
import { PAGE_SCRIPT, PAGE_STYLE } from './report-page.ts';

/** Name of the report in the folder of a run. */
export const REPORT_FILE = 'report.html';

/** Text of `report.html`. */
export function reportHtml(result: FleetResult): string {
  const plots = plotsOf(result);
  const { script, style } = uPlot();
  const data = trusted(printableJson(plots).replaceAll('<', '\\u003c'));
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>Muster fleet: ${result.scenario}</title><style>${trusted(style + PAGE_STYLE)}</style></head><body><main>
<h1>${result.scenario} ${badge(result)}</h1>
<ul class="facts">${facts(result).map((fact) => html`<li>${fact}</li>`)}</ul>
${paragraphs('bad', result.incomplete_reasons)}${paragraphs(tone(result.verdict), result.verdict_reasons)}${paragraphs('', result.notes)}
<div class="tiles">${tiles(result)}</div>
${violations(result)}${missed(result)}
${section('Thresholds', [thresholds(result)])}
${plotted(result, plots)}
${section('Counters', [counters(result)])}
</main><script type="application/json" id="data">${data}</script>
<script>${trusted(script)}</script><script>${trusted(PAGE_SCRIPT)}</script></body></html>
`.markup;
}

function plotted(result: FleetResult, plots: readonly Plot[]): Markup[] {
  const place = (id: string, caption: string): Markup =>
    plots.some((plot) => plot.id === id) ? html`<h3>${caption}</h3><div class="plot" id="${id}"></div>` : NOTHING;
  return [
    section('Roll-out', [
      place('reach', 'Share of robots whose client had read the event, by time after the POST'),
      place('legs', 'Duration of each leg, by percentile'),
      place('rollout-time', 'Roll-out latency over the run'),
    ]),
    section('Latencies', [place('percentiles', 'Latency by percentile'), metrics(result)]),
    section('Over time', [
      place('rates', 'Events per second'),
      place('p99', '99th percentile of each second'),
      place('states', 'Robots by state'),
      place('load', 'Load generator: cores used'),
      place('stalls', 'Load generator: longest stall of an event loop in each second'),
    ]),
  ];
}

/** No heading above an empty section. */
const section = (title: string, body: readonly Markup[]): Markup =>
  body.every(({ markup }) => markup === '') ? NOTHING : html`<h2>${title}</h2>${body}`;

/** The outcome; what the generator was like is a fact among others. */
function badge(result: FleetResult): Markup {
  const outcome = outcomeOf(result);
  return html`<span class="badge ${outcome === 'PASSED' ? 'good' : 'bad'}">${outcome.toLowerCase()}</span>`;
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
    ...(measuredNothing(result) ? [] : [`generator ${result.verdict}`]),
    result.started_at.replace('T', ' ').replace(/\.\d+Z$/, ' UTC'),
    `Muster ${result.muster}`,
  ];
}

function uPlot(): { script: string; style: string } {
  const dist = dirname(createRequire(import.meta.url).resolve('uplot'));
  const read = (name: string): string => readFileSync(join(dist, name), 'utf8');
  return { script: read('uPlot.iife.min.js').replaceAll('</script', '<\\/script'), style: read('uPlot.min.css') };
}

function tiles({ robots, metrics, start_ms, rss_bytes_per_robot, counters, duration_ms }: FleetResult): Markup[] {
  const rollout = metrics['rollout.ms'];
  const shown: Record<string, string | undefined> = {
    robots: count(robots),
    'roll-out p50': rollout && readableDuration(rollout.p50),
    'roll-out p99': rollout && readableDuration(rollout.p99),
    'roll-outs': rollout && count(rollout.count),
    'until all served': start_ms === 0 ? undefined : readableDuration(start_ms),
    'memory per robot': rss_bytes_per_robot === 0 ? undefined : `${(rss_bytes_per_robot / 1024).toFixed(1)} KiB`,
    'stream violations': count(counters['subscriber.violations'] ?? 0),
    'whole run': readableDuration(duration_ms),
  };
  return Object.entries(shown).flatMap(([label, value]) =>
    value === undefined ? [] : [html`<div class="tile"><b>${value}</b><span>${label}</span></div>`],
  );
}

function violations({ violations: found }: FleetResult): Markup {
  if (found.length === 0) return NOTHING;
  const rows = found.map(
    ({ name, kind, message }) =>
      html`<tr><td>${name}</td><td class="bad">${kind}</td><td class="wide">${message}</td></tr>`,
  );
  return html`<h2 class="bad">Event streams that lost, repeated or reordered events</h2>${tableOf(rows)}`;
}

function missed({ missed: names }: FleetResult): Markup {
  if (names.length === 0) return NOTHING;
  return html`<h2 class="bad">Robots that missed their roll-out</h2>${paragraphs('bad', [names.join(', ')])}`;
}

function thresholds(result: FleetResult): Markup {
  const rows = result.thresholds.map(({ expr, value, ok, reason }) => {
    const [className, outcome] = !result.complete
      ? ['none', 'not evaluated']
      : ok
        ? ['good', '✓ met']
        : ['bad', '✗ missed'];
    const why = reason === undefined ? NOTHING : html`<small>${reason}</small>`;
    return html`<tr><td class="wide">${expr}${why}</td><td class="n">${thresholdValue(expr, value)}</td><td class="${className}">${outcome}</td></tr>`;
  });
  return tableOf(rows);
}

/** A table wider than the page scrolls by itself. */
const tableOf = (rows: readonly Markup[], head = NOTHING): Markup =>
  rows.length === 0 ? NOTHING : html`<div class="scroll"><table class="data">${head}${rows}</table></div>`;

/** The measured value of a threshold with its unit. */
export function thresholdValue(expr: string, value: number | null): string {
  if (value === null) return '–';
  const { statistic, per } = parseThreshold(expr);
  if (per === 'attempt') return `${Number((value * 100).toPrecision(3))} %`;
  if (per === 'second') return `${Number(value.toPrecision(4))}/s`;
  return statistic === 'count' ? count(value) : readableDuration(value);
}

function metrics(result: FleetResult): Markup {
  const rows = Object.entries(result.metrics).map(([name, of]) => {
    const durations = [of.p50, of.p90, of.p99, of.p999, of.max].map(
      (ms) => html`<td class="n">${readableDuration(ms)}</td>`,
    );
    return html`<tr><td>${name}</td><td class="n">${count(of.count)}</td>${durations}</tr>`;
  });
  const columns = ['count', 'p50', 'p90', 'p99', 'p99.9', 'max'].map((name) => html`<th class="n">${name}</th>`);
  return tableOf(rows, html`<tr><th>metric</th>${columns}</tr>`);
}

const counters = (result: FleetResult): Markup =>
  tableOf(
    Object.entries(result.counters).map(
      ([name, value]) => html`<tr><td>${name}</td><td class="n">${count(value)}</td></tr>`,
    ),
  );

const paragraphs = (className: string, lines: readonly string[]): Markup[] =>
  lines.map((line) => html`<p class="note ${className}">${line}</p>`);
const tone = (verdict: FleetResult['verdict']): string =>
  verdict === 'valid' ? 'good' : verdict === 'suspect' ? 'poor' : 'bad';
const count = (value: number): string => Math.round(value).toLocaleString('en');
