/** The report of a fleet run: one HTML file that loads nothing, and can be read without its script. */
import { readableDuration } from '../../../harness/common/durations.ts';
import { html, type Markup, NOTHING, PALETTE, trusted } from '../../../harness/common/html.ts';
import { printableJson } from '../../../harness/common/terminal.ts';
import { decode, percentileMs } from '../measure/metrics.ts';
import { kibibytes } from '../result/costs.ts';
import { type FleetOutcome, type FleetResult, isJudged, measuredNothing, outcomeOf } from '../result/result.ts';
import { parseThreshold, percentileName } from '../result/thresholds.ts';
import { chart, chartData } from './chart.ts';
import { costPart } from './cost-part.ts';
import { heatMapData } from './heat-map.ts';
import { metricName } from './names.ts';
import { type Plot, percentilePlot, timePlots } from './plots.ts';
import { reachOf, reachPlot } from './reach.ts';
import { PAGE_SCRIPT } from './report-script.ts';
import { PAGE_STYLE } from './report-style.ts';
import { rolloutPart } from './rollout-part.ts';
import { tableOf } from './table.ts';

/** Name of the report in the folder of a run. */
export const REPORT_FILE = 'report.html';

const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** Text of `report.html`. */
export function reportHtml(result: FleetResult): string {
  const outcome = outcomeOf(result);
  const reached = reachOf(result);
  const reach = reached && reachPlot(result, reached);
  const percentiles = percentilePlot(result);
  const times = timePlots(result);
  const plots = [reach, percentiles, ...times].filter((plot) => plot !== undefined);
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<title>${outcome}: fleet ${result.scenario}, ${count(result.robots)} robots</title><style>${trusted(PALETTE + PAGE_STYLE)}</style></head><body><main>
${banner(result, outcome)}
${noteList('fail', result.incomplete_reasons)}${noteList('', result.notes)}
<div class="tiles">${tiles(result)}</div>
${violations(result)}
${titled('Thresholds', thresholds(result))}
${rolloutPart(result, reach)}
${titled('Latencies', html`${charts(percentiles === undefined ? [] : [percentiles])}${metrics(result)}`)}
${titled('Over time', charts(times))}
${titled('Processes', costPart(result.costs))}
${titled('Counters', counters(result))}
<footer>muster ${result.muster} · ${result.started_at}</footer>
</main><script type="application/json" id="data">${data(result, plots)}</script>
<script>${trusted(PAGE_SCRIPT)}</script></body></html>
`.markup;
}

const count = (value: number): string => value.toLocaleString('en');

const charts = (plots: readonly Plot[]): Markup => html`${plots.map(chart)}`;

function data(result: FleetResult, plots: readonly Plot[]): Markup {
  const shown = { charts: plots.map(chartData), map: heatMapData(result) };
  return trusted(printableJson(shown).replaceAll('<', '\\u003c'));
}

/** No heading above nothing. */
const titled = (title: string, body: Markup): Markup =>
  body.markup.trim() === '' ? NOTHING : html`<h2>${title}</h2>${body}`;

const TONES: Record<FleetOutcome, string> = { PASSED: 'pass', FAILED: 'fail', INCOMPLETE: 'fail' };

/** The outcome of the run, then what the generator was like. */
function banner(result: FleetResult, outcome: FleetOutcome): Markup {
  return html`<div class="banner ${TONES[outcome]}"><h1>${outcome}</h1><p>${meaning(result, outcome)}.</p>
<p class="soft">${facts(result).join(' · ')}</p>${generator(result)}</div>`;
}

function meaning(result: FleetResult, outcome: FleetOutcome): string {
  const { violations: found, thresholds: wanted, complete } = result;
  if (found.length > 0)
    return `${found.length === 1 ? 'An event stream' : `${found.length} times, an event stream`} lost, repeated or reordered events`;
  if (!complete) return 'The run did not do all that it should, so nothing is decided';
  if (outcome === 'INCOMPLETE') return 'The load generator could not keep up, so its figures decide nothing';
  if (!isJudged(result))
    return 'This shard did all that it should; muster merge judges the thresholds of the whole fleet';
  const missed = wanted.filter(({ ok }) => !ok);
  if (missed.length > 0)
    return `${missed.length} of ${wanted.length} thresholds missed: ${missed.map(({ expr }) => expr).join(', ')}`;
  return wanted.length === 0
    ? 'Nothing went wrong; no thresholds were given'
    : `${wanted.length === 1 ? 'The threshold was met' : `All ${wanted.length} thresholds met`}, and every event stream was whole`;
}

const GENERATOR = {
  valid: { tone: 'pass', words: 'it kept up, so the figures are those of the platform' },
  suspect: { tone: 'warn', words: 'read the figures with care' },
  invalid: { tone: 'fail', words: 'it saturated: the figures are its own' },
} as const;

function generator(result: FleetResult): Markup {
  if (measuredNothing(result)) return html`<p class="generator">Nothing was measured.</p>`;
  const { tone, words } = GENERATOR[result.verdict];
  // A run that is not complete gets no good mark.
  return html`<div class="generator ${result.complete ? tone : ''}"><p>Load generator: <b>${result.verdict}</b> – ${words}.</p>${result.verdict_reasons.length === 0 ? NOTHING : html`<ul>${result.verdict_reasons.map((reason) => html`<li>${reason}</li>`)}</ul>`}</div>`;
}

function facts(result: FleetResult): string[] {
  const { shard, workers } = result;
  return [
    result.scenario,
    `${count(result.robots)} robots`,
    ...(shard === null ? [] : [`shard ${shard.index} of ${shard.count}`]),
    workers === 1 ? '1 worker' : `${workers} workers`,
    `seed ${result.seed}`,
    `uplink ${result.uplink}`,
    ...(result.uplink === 'agent' ? [`${result.key_bits}-bit keys`] : []),
    `platform ${result.platform}`,
    result.started_at.replace('T', ' ').replace(/\.\d+Z$/, ' UTC'),
  ];
}

const noteList = (tone: string, notes: readonly string[]): Markup[] =>
  notes.map((note) => html`<p class="note ${tone}">${note}</p>`);

function tiles({
  robots,
  metrics: measured,
  start_ms,
  rss_bytes_per_robot,
  costs,
  counters: counted,
  duration_ms,
}: FleetResult): Markup[] {
  const rollout = measured['rollout.ms'];
  const bytesEach = costs === undefined ? rss_bytes_per_robot : (costs.parts.whole.robot_whole_bytes ?? 0);
  const ofThose = (counted['rollout.missed'] ?? 0) > 0 ? ' of those in time' : '';
  const shown: Record<string, string | undefined> = {
    robots: count(robots),
    [`roll-out p50${ofThose}`]: rollout && readableDuration(rollout.p50),
    [`roll-out p99${ofThose}`]: rollout && readableDuration(rollout.p99),
    'missed roll-outs': counted['rollout.missed'] === undefined ? undefined : count(counted['rollout.missed']),
    'until all served': start_ms === 0 ? undefined : readableDuration(start_ms),
    'memory per robot': bytesEach === 0 ? undefined : kibibytes(bytesEach),
    'stream violations': count(counted['subscriber.violations'] ?? 0),
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
      html`<tr><th scope="row">${name}</th><td class="lost">${kind}</td><td class="wide">${message}</td></tr>`,
  );
  return html`<h2>Event streams that lost, repeated or reordered events</h2>${tableOf('Event streams', ['robot', 'kind', 'what happened'], rows)}`;
}

function thresholds(result: FleetResult): Markup {
  const rows = result.thresholds.map(({ expr, value, ok, reason }) => {
    const [tone, outcome] = !isJudged(result)
      ? ['soft', '· of this shard; muster merge decides']
      : !result.complete
        ? ['soft', '· not evaluated']
        : ok
          ? ['pass', '✓ met']
          : ['fail', '✗ missed'];
    const why = reason === undefined ? NOTHING : html`<small>${reason}</small>`;
    return html`<tr><th scope="row" class="wide"><code>${expr}</code>${why}</th><td class="n">${thresholdValue(expr, value)}</td><td class="tone ${tone}">${outcome}</td></tr>`;
  });
  return tableOf('Thresholds', ['wanted', 'measured#', 'outcome'], rows);
}

/** The measured value of a threshold with its unit. */
export function thresholdValue(expr: string, value: number | null): string {
  if (value === null) return '–';
  const { statistic, per } = parseThreshold(expr);
  if (per === 'attempt') return `${Number((value * 100).toPrecision(3))} %`;
  if (per === 'second') return `${Number(value.toPrecision(4))}/s`;
  return statistic === 'count' ? count(value) : readableDuration(value);
}

const COLUMNS = [50, 90, 95, 99, 99.9];

/** Percentiles that people usually ask for, and those that this run's thresholds ask for. */
const percentsOf = (result: FleetResult): number[] =>
  [...new Set([...COLUMNS, ...result.thresholds.flatMap(({ expr }) => parseThreshold(expr).percent ?? [])])].sort(
    (a, b) => a - b,
  );

function metrics(result: FleetResult): Markup {
  const percents = percentsOf(result);
  const rows = Object.entries(result.metrics).map(([name, { count: times, max }]) => {
    const encoded = result.histograms[name];
    const from = encoded === undefined ? undefined : decode(encoded);
    const cells = percents.map(
      (percent) => html`<td class="n">${from === undefined ? '–' : readableDuration(percentileMs(from, percent))}</td>`,
    );
    return html`<tr><th scope="row">${metricName(name)}<small><code>${name}</code></small></th><td class="n">${count(times)}</td>${cells}<td class="n">${readableDuration(max)}</td></tr>`;
  });
  return tableOf(
    'Latencies',
    ['duration', 'count#', ...percents.map((percent) => `${percentileName(percent)}#`), 'max#'],
    rows,
  );
}

function counters(result: FleetResult): Markup {
  const rows = Object.entries(result.counters).map(
    ([name, value]) => html`<tr><th scope="row"><code>${name}</code></th><td class="n">${count(value)}</td></tr>`,
  );
  return tableOf('Counters', ['counter', 'count#'], rows);
}
