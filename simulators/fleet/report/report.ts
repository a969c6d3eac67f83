/** Report of a fleet run: one HTML file that loads nothing and is readable without its script. */
import { html, type Markup, NOTHING, reportPage, trusted } from '../../../harness/common/html.ts';
import { printableJson } from '../../../harness/common/terminal.ts';
import { memoryText, readableDuration } from '../../../harness/common/units.ts';
import { costParts, type RunCosts, thousands } from '../measure/costs.ts';
import { decode, type Labels, ofWhole, percentileMs, type Summary, unlabelled } from '../measure/metrics.ts';
import {
  type FleetOutcome,
  type FleetResult,
  figuresCount,
  isJudged,
  isMissed,
  judgedText,
  measuredNothing,
  outcomeOf,
  type Reach,
  reachOf,
  roundsOf,
  standingOf,
  timesOf,
} from '../result/result.ts';
import { parseThreshold } from '../result/thresholds.ts';
import { chart, chartData, tableOf } from './chart.ts';
import { metricName, percentilePlot, percentText, ROLLOUT_LEGS, reachPlot, timePlots } from './plots.ts';

const FAILURES: Readonly<Record<string, string>> = {
  'rollout.ms': 'rollout.missed',
  'ping.ms': 'ping.errors',
  'http.ms': 'http.errors',
  'connect.ms': 'connect.errors',
  'sync.ms': 'sync.errors',
  'reconnect.ms': 'uplink.lost',
};

function partsOf({ metrics, counters }: FleetResult): Markup {
  const durations = Object.keys(FAILURES);
  const failed = Object.keys(counters).flatMap((key) => {
    const { name } = unlabelled(key);
    const duration = durations.find((known) => FAILURES[known] === name);
    return duration === undefined || counters[key] === 0 ? [] : [key.replace(name, duration)];
  });
  const phaseNumber = ({ phase = '' }: Labels): number => Number.parseInt(phase, 10) || 0;
  const rows = [...new Set([...Object.keys(metrics), ...failed])]
    .flatMap((key) => {
      const { name, labels } = unlabelled(key);
      return labels !== undefined && name in FAILURES ? [{ name, key, ...labels }] : [];
    })
    .sort((a, b) => phaseNumber(a) - phaseNumber(b) || durations.indexOf(a.name) - durations.indexOf(b.name));
  const parts = new Set(rows.map(({ phase, class: name }) => `${phase} ${name}`));
  if (parts.size < 2) return NOTHING;
  const hasClasses = rows.some(({ class: name }) => name !== undefined);
  const body = rows.map(({ key, name, phase = '', class: own }) => {
    const { count = 0, p50, p99, max } = metrics[key] ?? {};
    return [
      html`<th scope="row">${phase.replace('-', ' ')}</th>`,
      ...(hasClasses ? [own ?? 'all'] : []),
      metricName(name),
      thousands(count),
      thousands(counters[key.replace(name, FAILURES[name] ?? '')] ?? 0),
      ...[p50, p99, max].map((ms) => (ms === undefined ? '–' : readableDuration(ms))),
    ];
  });
  const columns = ['phase', ...(hasClasses ? ['class'] : []), 'duration', 'count#', 'failed#'];
  const title = hasClasses ? 'By phase and class' : 'By phase';
  return html`<h2>${title}</h2>${tableOf(title, [...columns, 'p50#', 'p99#', 'max#'], body)}`;
}

function costPart(costs: RunCosts | undefined): Markup {
  if (costs === undefined) return NOTHING;
  const each = (bytes: number | null): string => (bytes === null ? '–' : memoryText(bytes));
  const columns = ['process', 'number#', 'memory, peak#', 'at the end#', 'processor#'];
  const rows = costParts(costs).map(([name, part]) => [
    name,
    thousands(part.processes),
    memoryText(part.peak_bytes),
    memoryText(part.end_bytes),
    `${part.cpu_seconds.toFixed(1)} s`,
    each(part.robot_whole_bytes),
    each(part.robot_marginal_bytes),
  ]);
  return html`${tableOf('Processes', [...columns, 'of one robot, whole#', 'one more#'], rows, 'sum')}
<p class="soft">Memory is ${costs.memory}: what processes share counts once. <i>Whole</i> is all memory at the
peak over ${thousands(costs.robots)} robots; <i>one more</i> is the growth per robot while they came up.</p>`;
}

function shares({ attempts, inTime, late, lost, pending }: Reach): Markup {
  const parts = [
    { name: 'in-time', number: inTime, words: 'arrived in time' },
    { name: 'late', number: late, words: 'arrived late' },
    { name: 'lost', number: lost, words: 'never arrived' },
    { name: 'pending', number: pending, words: 'under way when the run ended' },
  ].filter(({ number, name }) => number > 0 || name === 'in-time');
  const words = parts.map(({ number, words: what }) => `${percentText(number, attempts)} ${what}`).join(', ');
  const all = thousands(attempts);
  const bar = parts.map(({ name, number }) => html`<i class="${name}" style="flex:${number}"></i>`);
  const list = parts.map(({ name, number, words: what }) => {
    const share = percentText(number, attempts);
    return html`<li><i class="${name}"></i><b>${share}</b> <span>${thousands(number)} of ${all} ${what}</span></li>`;
  });
  return html`<div class="shares"><div class="split" role="img" aria-label="Of ${all} roll-outs: ${words}">${bar}</div>
<ul>${list}</ul></div>`;
}

function missedTable({ rollouts: { missed: listed }, counters }: FleetResult): Markup {
  const all = counters['rollout.missed'] ?? listed.length;
  if (listed.length === 0) return NOTHING;
  const rows = listed.map(({ name, posted_ms, late_ms }) => [
    name,
    readableDuration(posted_ms),
    late_ms === null
      ? html`<td class="tone fail">never</td>`
      : html`<td class="tone warn">late, after ${readableDuration(late_ms)}</td>`,
  ]);
  const more = all > listed.length ? ` (the first ${listed.length} of ${thousands(all)})` : ` (${listed.length})`;
  const table = tableOf('Robots that missed their roll-out', ['robot', 'POST at#', 'its event was read'], rows);
  const open = rows.length <= 12 ? html`open` : NOTHING;
  return html`<details ${open}><summary><h3>Robots that missed their roll-out${more}</h3></summary>${table}</details>`;
}

function legs({ histograms }: FleetResult): Markup {
  const rows = ['rollout.ms', ...ROLLOUT_LEGS.map((leg) => `rollout.${leg}.ms`)].flatMap((name) => {
    const encoded = histograms[name];
    if (encoded === undefined) return [];
    const from = decode(encoded);
    return [{ name, at: [50, 95, 99].map((percent) => percentileMs(from, percent)) as [number, number, number] }];
  });
  if (rows.length < 2) return NOTHING;
  const longest = Math.max(...rows.map(({ at: [, , p99] }) => p99), Number.MIN_VALUE);
  const width = (ms: number): string => `${((100 * ms) / longest).toFixed(2)}%`;
  const columns = ['step', 'p50#', 'p95#', 'p99#', 'strong: up to p50, faint: up to p99'];
  const body = rows.map(({ name, at }) => [
    metricName(name),
    ...at.map(readableDuration),
    html`<td class="bars"><i style="width:${width(at[2])}"></i><i class="half" style="width:${width(at[0])}"></i></td>`,
  ]);
  return html`<h3>Where the time went</h3>${tableOf('Where the time went', columns, body)}`;
}

export const REPORT_FILE = 'report.html';

export function reportHtml(result: FleetResult): string {
  const outcome = outcomeOf(result);
  const reached = reachOf(result);
  const reach = reached && reachPlot(result, reached);
  const percentiles = percentilePlot(result);
  const times = timePlots(result);
  const plots = [reach, percentiles, ...times].filter((plot) => plot !== undefined);
  const data = printableJson({ charts: plots.map(chartData) }).replaceAll('<', '\\u003c');
  const rollout =
    reached &&
    html`<h2 id="rollout">Roll-out</h2>${shares(reached)}
${reach && chart(reach)}${missedTable(result)}${legs(result)}`;
  const decidesNothing = !figuresCount(result) && !measuredNothing(result);
  const counted = Object.entries(ofWhole(result.counters)).filter(([, value]) => value > 0);
  const counters = counted.map(([name, value]) => [html`<th scope="row"><code>${name}</code></th>`, thousands(value)]);
  const main = html`${banner(result, outcome)}
${result.incomplete_reasons.map((reason) => html`<p class="note fail">${reason}</p>`)}
${result.notes.map((note) => html`<p class="note">${note}</p>`)}
<div class="tiles">${tiles(result)}</div>
${violations(result)}
${answers(result)}
${titled('Thresholds', thresholds(result))}
${decidesNothing ? html`<p class="note fail">The figures below decide nothing: see above.</p>` : NOTHING}
${rollout}
${titled('Latencies', html`${percentiles && chart(percentiles)}${metrics(result)}`)}
${partsOf(result)}
${titled('Over time', html`${times.map(chart)}`)}
${titled('Processes', costPart(result.costs))}
${titled('Counters', tableOf('Counters', ['counter', 'count#'], counters))}
<footer>muster ${result.muster} · ${result.started_at}</footer>
<script type="application/json" id="data">${trusted(data)}</script>`;
  const title = `${outcome}: fleet ${result.scenario}, ${thousands(result.robots)} robots`;
  return reportPage(title, main, {
    style: new URL('./report-page.css', import.meta.url),
    script: new URL('./report-page.js', import.meta.url),
  });
}

const titled = (title: string, body: Markup): Markup =>
  body.markup.trim() === '' ? NOTHING : html`<h2>${title}</h2>${body}`;

function banner(result: FleetResult, outcome: FleetOutcome): Markup {
  const { shard, workers, uplink } = result;
  const facts = [
    result.scenario,
    `${thousands(result.robots)} robots`,
    ...roundsOf(result),
    ...(shard === null ? [] : [`shard ${shard.index} of ${shard.count}`]),
    workers === 1 ? '1 worker' : `${workers} workers`,
    `seed ${result.seed}`,
    `uplink ${uplink}`,
    ...(uplink.split(' and ').includes('agent') ? [`${result.key_bits}-bit keys`] : []),
    `platform ${result.platform}`,
    result.started_at.replace('T', ' ').replace(/\.\d+Z$/, ' UTC'),
  ];
  const tone = outcome === 'PASSED' ? 'pass' : 'fail';
  return html`<div class="banner ${tone}"><h1>${outcome}</h1><p>${meaning(result, outcome)}.</p>
<p class="soft">${facts.join(' · ')}</p>${generator(result)}</div>`;
}

function meaning(result: FleetResult, outcome: FleetOutcome): string {
  const { violations: found, thresholds: wanted, complete } = result;
  const times = found.length === 1 ? 'An event stream' : `${found.length} times, an event stream`;
  if (found.length > 0) return `${times} lost, repeated or reordered events`;
  const wrong = (result.answers?.findings ?? []).filter(({ level }) => level === 'MUST');
  if (wrong.length > 0)
    return `Answers of the platform broke ${wrong.length === 1 ? 'a MUST' : `${wrong.length} MUSTs`} under load`;
  if (outcome === 'FAILED' && result.ended_by !== undefined) return `It ended early by ${result.ended_by}`;
  if (!complete) return 'The run did not do all that it should, so nothing is decided';
  if (result.verdict === 'invalid') return 'The load generator could not keep up, so its figures decide nothing';
  if (!isJudged(result))
    return 'This shard did all that it should; muster merge judges the thresholds of the whole fleet';
  const missed = wanted.filter(isMissed);
  if (missed.length > 0)
    return `${missed.length} of ${wanted.length} thresholds missed: ${missed.map(({ expr }) => expr).join(', ')}`;
  const unmeasured = wanted.filter(({ ok }) => !ok);
  if (unmeasured.length > 0) return `Not measured: ${unmeasured.map(({ expr }) => expr).join(', ')}`;
  if (outcome === 'INCOMPLETE') return 'Nothing was measured';
  if (wanted.length === 0) return 'No thresholds were given';
  const met = wanted.length === 1 ? 'The threshold was met' : `All ${wanted.length} thresholds met`;
  return `${met}, and every event stream was whole`;
}

const GENERATOR = {
  valid: { tone: 'pass', words: 'it kept up, so the figures are those of the platform' },
  suspect: { tone: 'warn', words: 'read the figures with care' },
  invalid: { tone: 'fail', words: 'it saturated: the figures are its own' },
} as const;

function generator(result: FleetResult): Markup {
  if (measuredNothing(result)) return html`<p class="generator">Nothing was measured.</p>`;
  const { tone, words } = GENERATOR[result.verdict];
  const reasons = result.verdict_reasons.map((reason) => html`<li>${reason}</li>`);
  const list = reasons.length > 0 ? html`<ul>${reasons}</ul>` : NOTHING;
  return html`<div class="generator ${result.complete ? tone : ''}">
<p>Load generator: <b>${result.verdict}</b> – ${words}.</p>${list}</div>`;
}

function tiles(result: FleetResult): Markup[] {
  const { runMs, preparingMs } = timesOf(result);
  const shown: Record<string, string | undefined> = {
    robots: thousands(result.robots),
    ...(figuresCount(result) ? measuredTiles(result) : {}),
    'whole run': readableDuration(runMs),
    'keys and processes, before it': preparingMs < 1000 ? undefined : readableDuration(preparingMs),
  };
  return Object.entries(shown).flatMap(([label, value]) =>
    value === undefined ? [] : [html`<div class="tile"><b>${value}</b><span>${label}</span></div>`],
  );
}

function measuredTiles(result: FleetResult): Record<string, string | undefined> {
  const { metrics: measured, start_ms, costs, uplink, measured_seconds: seconds } = result;
  const { 'http.attempts': attempts = 0, 'http.errors': failed = 0, 'rollout.missed': missed } = result.counters;
  const pings = result.counters['ping.attempts'] ?? 0;
  const rollout = measured['rollout.ms'];
  const bytesOfOneMore = costs?.parts.whole.robot_marginal_bytes ?? 0;
  const ofThose = (missed ?? 0) > 0 ? ' of those in time' : '';
  const times = (of: Summary | undefined) => of && `${readableDuration(of.p50)} · ${readableDuration(of.p99)}`;
  return {
    [`roll-out p50${ofThose}`]: rollout && readableDuration(rollout.p50),
    [`roll-out p99${ofThose}`]: rollout && readableDuration(rollout.p99),
    'missed roll-outs': missed === undefined ? undefined : thousands(missed),
    'until all served': start_ms === 0 ? undefined : readableDuration(start_ms),
    ...(attempts > 0 &&
      seconds !== 0 && {
        'requests a second': thousands(Number((attempts / seconds).toPrecision(3))),
        'requests failed': `${Number(((100 * failed) / attempts).toPrecision(3))} %`,
        'pings p50 · p99': times(measured['ping.ms']),
        [pings > 0 ? 'other requests p50 · p99' : 'requests p50 · p99']: times(measured['http.ms']),
      }),
    // Omits the uplink `calls`, where only the load generator uses memory.
    'memory of one more robot': bytesOfOneMore <= 0 || uplink === 'calls' ? undefined : memoryText(bytesOfOneMore),
    'stream violations': thousands(result.counters['subscriber.violations'] ?? 0),
  };
}

function violations({ violations: found }: FleetResult): Markup {
  if (found.length === 0) return NOTHING;
  const rows = found.map(({ name, kind, message }) => [
    name,
    html`<td class="tone fail">${kind}</td>`,
    html`<td class="wide">${message}</td>`,
  ]);
  const table = tableOf('Event streams', ['robot', 'kind', 'what happened'], rows);
  return html`<h2>Event streams that lost, repeated or reordered events</h2>${table}`;
}

function answers({ answers: judged }: FleetResult): Markup {
  if (judged === undefined) return NOTHING;
  const rows = judged.findings.map(({ level, id, requirement, count, phase, expected, actual, request, curl }) => [
    html`<th scope="row" class="wide"><code>${id}</code><small>${requirement}</small></th>`,
    html`<td class="tone ${level === 'MUST' ? 'fail' : 'warn'}">${level}</td>`,
    thousands(count),
    phase,
    html`<td class="wide">expected ${expected}<br>got ${actual}<small>${request}<br><code>${curl}</code></small></td>`,
  ]);
  const columns = ['rule', 'level', 'answers#', 'first in', 'the first one'];
  const table = tableOf('Answers that broke a rule', columns, rows);
  const right = rows.length === 0 && judged.judged > 0 ? ' None broke a rule.' : '';
  return html`<h2 id="answers">Answers under load</h2><p class="soft">Judged: ${judgedText(judged)}.${right}</p>
${table}`;
}

const STANDING_TONES = { good: 'pass', bad: 'fail', open: 'soft' } as const;

function thresholds(result: FleetResult): Markup {
  const rows = result.thresholds.map(({ expr, value, ok, reason }) => {
    const { tone, words } = standingOf(result, { ok, value });
    const why = reason === undefined ? NOTHING : html`<small>${reason}</small>`;
    return [
      html`<th scope="row" class="wide"><code>${expr}</code>${why}</th>`,
      thresholdValue(expr, value),
      html`<td class="tone ${STANDING_TONES[tone]}">${words}</td>`,
    ];
  });
  return tableOf('Thresholds', ['wanted', 'measured#', 'outcome'], rows);
}

export function thresholdValue(expr: string, value: number | null): string {
  if (value === null) return '–';
  const { statistic, per } = parseThreshold(expr);
  if (per === 'attempt') return `${Number((value * 100).toPrecision(3))} %`;
  if (per === 'second') return `${Number(value.toPrecision(4))}/s`;
  return statistic === 'count' ? thousands(value) : readableDuration(value);
}

function metrics(result: FleetResult): Markup {
  const wanted = result.thresholds.flatMap(({ expr }) => parseThreshold(expr).percent ?? []);
  const percents = [...new Set([50, 90, 95, 99, 99.9, ...wanted])].sort((a, b) => a - b);
  const rows = Object.entries(ofWhole(result.metrics)).map(([name, { count: times, max }]) => {
    const encoded = result.histograms[name];
    const from = encoded === undefined ? undefined : decode(encoded);
    return [
      html`<th scope="row">${metricName(name)}<small><code>${name}</code></small></th>`,
      thousands(times),
      ...percents.map((percent) => (from === undefined ? '–' : readableDuration(percentileMs(from, percent)))),
      readableDuration(max),
    ];
  });
  const columns = ['duration', 'count#', ...percents.map((percent) => `p${percent}#`), 'max#'];
  return tableOf('Latencies', columns, rows);
}
