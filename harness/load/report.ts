/** The report of a fleet run: one HTML file with everything inside, no network needed to read it. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { decode } from './histograms.ts';
import { PAGE_SCRIPT, PAGE_STYLE } from './report-page.ts';
import type { FleetResult } from './result.ts';
import { parseThreshold } from './thresholds.ts';
import { readableMs } from './units.ts';

interface Plot {
  id: string;
  x: 'seconds' | 'ms' | 'percentile';
  y: 'ms' | '%' | 'number';
  log?: boolean;
  at: number[];
  series: { name: string; values: (number | null)[] }[];
}

/** The legs of a roll-out in the order in which they happen. */
export const ROLLOUT_LEGS = ['command', 'sync', 'write', 'event', 'report'] as const;

/** Text of `report.html`. */
export function reportHtml(result: FleetResult): string {
  const plots = [...rolloutPlots(result), ...percentilePlots(result), ...timePlots(result)];
  const place = (id: string, caption: string): string =>
    plots.some((plot) => plot.id === id) ? `<p>${caption}</p><div class="plot" id="${id}"></div>` : '';
  const { script, style } = uPlot();
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>Muster fleet: ${text(result.scenario)}</title><style>${style}${PAGE_STYLE}</style></head><body><main>
<h1>${text(result.scenario)} <span class="badge ${tone(result.verdict)}">${result.verdict}</span>${result.complete ? '' : ' <span class="badge bad">incomplete</span>'}</h1>
<p>${count(result.robots)} robots${result.shard === null ? '' : ` (shard ${result.shard.index} of ${result.shard.count})`} · ${result.workers} workers · seed ${result.seed} · uplink ${text(result.uplink)} · ${result.key_bits}-bit keys · platform ${text(result.platform)} · ${text(result.started_at)} · Muster ${text(result.muster)}</p>
${list('bad', result.incomplete_reasons)}${list(tone(result.verdict), result.verdict_reasons)}${list('poor', result.notes)}
<div class="tiles">${tiles(result)}</div>
${violations(result)}
${result.thresholds.length === 0 ? '' : `<h2>Thresholds</h2>${thresholds(result)}`}
<h2>Roll-out</h2>${place('reach', 'Robots whose on-device client had read the event, by time after the POST')}
${place('legs', 'Where the time goes: each leg by percentile')}
${place('rollout-time', 'Roll-out latency over the run')}
<h2>Latencies</h2>${place('percentiles', 'Latency by percentile')}<div class="scroll">${metrics(result)}</div>
<h2>Over time</h2>${place('rates', 'Events a second')}${place('p99', '99th percentile of each second')}${place('states', 'Robots by state')}${place('load', 'The generator itself: cores used')}${place('stalls', 'The generator itself: longest stall of an event loop in each second')}
<h2>Counters</h2><div class="scroll">${counters(result)}</div>
</main><script type="application/json" id="data">${JSON.stringify(plots).replaceAll('<', '\\u003c')}</script>
<script>${script}</script><script>${PAGE_SCRIPT}</script></body></html>
`;
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
    over('rates', 'number', (tick) => tick.rates),
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
    [readableMs(result.start_ms), 'until all served'],
    [`${(result.rss_bytes_per_robot / 1024).toFixed(1)} KiB`, 'memory a robot'],
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
  const table =
    rows.length === 0 ? '' : `<h2 class="bad">Streams that were not whole</h2><table>${rows.join('')}</table>`;
  return `${table}${missed.length === 0 ? '' : `<h2 class="bad">Robots that read no event of their roll-out</h2><p>${missed.map(text).join(', ')}</p>`}`;
}

function thresholds(result: FleetResult): string {
  const rows = result.thresholds.map(
    ({ expr, value, ok, reason }) =>
      `<tr><td>${text(expr)}</td><td class="n">${text(thresholdValue(expr, value))}</td><td class="${ok ? 'good' : 'bad'}">${ok ? 'met' : 'missed'}</td><td class="wide">${text(reason ?? '')}</td></tr>`,
  );
  return `<table>${rows.join('')}</table>`;
}

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
  return `<table><tr>${columns}</tr>${rows.join('')}</table>`;
}

function counters(result: FleetResult): string {
  const rows = Object.entries(result.counters).map(
    ([name, value]) => `<tr><td>${text(name)}</td><td class="n">${count(value)}</td></tr>`,
  );
  return `<table>${rows.join('')}</table>`;
}

const list = (className: string, lines: string[]): string =>
  lines.map((line) => `<p class="${className}">${text(line)}</p>`).join('');
const tone = (verdict: FleetResult['verdict']): string =>
  verdict === 'valid' ? 'good' : verdict === 'suspect' ? 'poor' : 'bad';
const count = (value: number): string => Math.round(value).toLocaleString('en');
const text = (raw: string): string => raw.replace(/[&<>"']/g, (mark) => `&#${mark.codePointAt(0)};`);
